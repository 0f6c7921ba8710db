"""Anthropic's memory tool (`memory_20250818`) over the notes of one person or channel.

A model is bound here as everywhere: it edits the lines that it wrote, each edit is recorded and can
be undone, a note that it deletes goes to the trash, and what a person saves meanwhile stays.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from vault_memory.edits import edit_errors
from vault_memory.errors import BadPath, NoteUnreadable
from vault_memory.memory_tool.memory_folder import CommandRefused, MemoryFolder, MemoryPath
from vault_memory.rules import memory_tool
from vault_memory.rules.context.quoting import FLAG
from vault_memory.rules.edits.text_edits import Edited, Unfit, edit_text, line_before, text_of
from vault_memory.rules.memory_tool import shown_name
from vault_memory.rules.paths.scopes import Caller

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit

TOOL = {"type": "memory_20250818", "name": "memory"}
"""How a request to the model names the tool"""
LARGEST_NOTE = 1 << 20
"""Bytes. Search reads no larger note."""

_WHY_NOT = {
    "a_person_wrote_it": "a person wrote some of the lines that this would change or remove,"
    " and only they may do that. Add lines of your own instead, or ask the person",
    "looks_like_instruction": "some of it reads like an instruction to the assistant, and such"
    " text is not kept without a person's approval. Leave that part out, or write it as a plain"
    " statement",
    "standing_rule": "some of it is a standing rule for the assistant, and only what the person"
    " said in this session becomes a rule without their approval. Leave that part out, or write"
    " it as a plain statement",
    "deleted_by_person": "a person deleted what this would bring back. Leave it out",
    "rejected_by_person": "a person has turned this very change down. Leave it out",
    "secret": "some of it is a password, a key or a number that is kept nowhere. Leave it out",
    "crisis": "some of it is nothing that a memory keeps. Leave it out",
    "safety_bypass": "it would keep you from asking whether the person is safe. Leave it out",
    "would_change_structure": "lines that a person wrote would mean something else after it."
    " Insert it elsewhere",
}
_FIELDS: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""The fields that each command must have"""
_TEXTS = ("file_text", "old_str", "new_str", "insert_text")

_EDIT_OF_CREATE = {"op": "create", "file_text": ""}


class ToolAnswer(str):
    """The content of the tool result for the model; `is_error` goes beside it."""

    is_error: bool

    def __new__(cls, text: str, *, is_error: bool = False) -> "ToolAnswer":
        answer = super().__new__(cls, text)
        answer.is_error = is_error
        return answer


class MemoryTool:
    """The tool of one person, or of a channel where they talk.

    Several threads may use it, as they may use its vault.
    """

    def __init__(self, edits: "EditCalls", caller: Caller) -> None:
        """Raises UsageError for a name that no person or channel of this vault can have."""
        self._edits = edits
        self._folder = MemoryFolder(edits, caller)

    def execute(self, command: Mapping[str, object], *, now: datetime | None = None) -> ToolAnswer:
        """Carry out one command, the `input` of a model. What is wrong with it is the answer.

        Raises VaultUnreachable, JournalUnavailable, NotRecorded: nothing was done, and the model
        can do nothing about it.
        """
        try:
            return ToolAnswer(self._carry_out(_checked(command), now))
        except CommandRefused as refusal:
            return ToolAnswer(str(refusal), is_error=True)
        except (NoteUnreadable, BadPath) as error:
            text = f"Error: The file cannot be read: {error.reason}"
            return ToolAnswer(text, is_error=True)

    def _carry_out(self, command: Mapping[str, Any], now: datetime | None) -> str:
        name = command["command"]
        if name == "rename":
            old = self._folder.path(command["old_path"])
            return self._rename(old, self._folder.path(command["new_path"]), now)
        path = self._folder.path(command["path"])
        match name:
            case "view":
                return self._view(path, _line_range(command.get("view_range")))
            case "create":
                return self._create(path, command["file_text"], now)
            case "str_replace":
                old_text, new_text = command["old_str"], command.get("new_str")
                return self._replace(path, old_text, new_text, now)
            case "insert":
                line, text = command["insert_line"], command["insert_text"]
                return self._insert(path, line, text, now)
            case _:
                return self._delete(path, now)

    # --- Commands ---

    def _view(self, path: MemoryPath, line_range: Sequence[int] | None) -> str:
        sizes = self._folder.sizes_below(path)
        if sizes or path.is_root:
            shown_sizes = {shown_name(name): size for name, size in sizes.items()}
            return memory_tool.listing(path.path, shown_sizes)
        note = self._folder.require(path, memory_tool.NOT_SEEN)
        lines = text_of(note.raw).split("\n")
        if len(lines) > memory_tool.MOST_LINES:
            raise CommandRefused(memory_tool.TOO_MANY_LINES.format(path=path.path))
        return memory_tool.content(path.path, lines, line_range)

    def _create(self, path: MemoryPath, text: str, now: datetime | None) -> str:
        self._folder.check_free(path, memory_tool.EXISTS)
        request = {"op": "create", "file_text": _storable(text)}
        edit = self._edit(path, request, now)
        success = memory_tool.CREATED.format(path=path.path)
        return self._report(path, edit, success)

    def _replace(self, path: MemoryPath, old: str, new: object, now: datetime | None) -> str:
        if new is not None and not isinstance(new, str):
            raise CommandRefused("Error: `new_str` of str_replace is no text")
        note = self._folder.require(path, memory_tool.INVALID)
        new_text = _storable(new or "")
        request = {"op": "str_replace", "old_str": old, "new_str": new_text}
        planned = _plan(path, request, note.raw)
        edit = self._edit(path, request, now)
        text = text_of(planned.after or b"")
        line = planned.line
        # A person saved the note after the plan: the edit was made on the newer text.
        if edit.changed and edit.before != note.revision:
            newer = self._folder.require(path, memory_tool.INVALID)
            text = text_of(newer.raw)
            position = max(text.find(text_of(new_text.encode())), 0)
            line = text.count("\n", 0, position)
        snippet = memory_tool.snippet(text, line)
        success = memory_tool.EDITED.format(snippet=snippet)
        return self._report(path, edit, success, request)

    def _insert(self, path: MemoryPath, line: int, text: str, now: datetime | None) -> str:
        note = self._folder.require(path, memory_tool.MISSING)
        request = {"op": "insert", "insert_line": line, "insert_text": _storable(text)}
        _plan(path, request, note.raw)
        # A line number means another place after a save; the line before it is still the same.
        follows = line_before(text_of(note.raw), line)
        edit = self._edit(path, {**request, "follows": follows}, now)
        success = memory_tool.INSERTED.format(path=path.path)
        return self._report(path, edit, success, request)

    def _delete(self, path: MemoryPath, now: datetime | None) -> str:
        if path.is_root:
            raise CommandRefused("Error: Cannot delete the /memories directory itself")
        files = self._folder.files(path)
        request = {"op": "delete"}
        self._check_all(files, request, now)
        reports = []
        for file in files:
            edit = self._edit(file, request, now)
            reports.append(self._report(file, edit, "", request))
        pending = "\n".join(filter(None, reports))
        return pending or memory_tool.DELETED.format(path=path.path)

    def _rename(self, old: MemoryPath, new: MemoryPath, now: datetime | None) -> str:
        if old.is_root:
            raise CommandRefused("Error: Cannot rename the /memories directory itself")
        files = self._folder.files(old)
        is_same = new.relative == old.relative
        if not is_same and f"{new.relative}/".startswith(f"{old.relative}/"):
            raise CommandRefused(f"Error: {old.path} cannot be moved into itself")
        if new.is_root:
            raise CommandRefused(memory_tool.TAKEN.format(path=new.path))
        moves = [(file, self._folder.moved(file, old, new)) for file in files]
        # All files are checked first: a refused file would leave half a renamed folder.
        self._folder.check_free(new, memory_tool.TAKEN)
        for _file, target in moves:
            self._folder.check_free(target, memory_tool.TAKEN)
        self._check_all(files, {"op": "rename", "to": new.note}, now)
        reports = [self._move(file, target, now) for file, target in moves]
        pending = "\n".join(filter(None, reports))
        return pending or memory_tool.RENAMED.format(old=old.path, new=new.path)

    def _move(self, old: MemoryPath, new: MemoryPath, now: datetime | None) -> str:
        """Give one note another name; return why that waits, or ""."""
        # A person may save the note meanwhile. So the new note is written before the old one goes,
        # and the old one stays if it has changed.
        note = self._folder.require(old, memory_tool.MISSING)
        try:
            text = note.raw.decode()
        except UnicodeDecodeError:
            raise CommandRefused(
                f"Error: The file {old.path} is no text in UTF-8, and stays where it is"
            ) from None
        request = {"op": "rename", "from": old.note, "file_text": text}
        arrival = self._edit(new, request, now)
        if pending := self._report(new, arrival, ""):
            return pending
        departure = self._leave(old, new, note.revision, now)
        if departure is None:
            if arrival.audit_id:
                self._edits.undo(arrival.audit_id, now=now)
            raise CommandRefused(
                f"Error: {old.path} was changed while it was renamed, and keeps its name."
                " View it again"
            )
        return self._report(old, departure, "")

    def _leave(
        self, old: MemoryPath, new: MemoryPath, revision: str, now: datetime | None
    ) -> "Edit | None":
        """Remove the note with the old name; None when a person saved it meanwhile."""
        request = {"op": "rename", "to": new.note}
        try:
            edit = self._edit(old, request, now, expected=revision)
        except edit_errors.NoteChanged:
            # A person saved the note between the two halves of the rename.
            return None
        is_gone = edit.after is None
        return edit if is_gone or edit.pending else None

    # --- Edits ---

    def _check_all(
        self, files: Sequence[MemoryPath], request: Mapping[str, object], now: datetime | None
    ) -> None:
        """Raise CommandRefused, before anything is done, if one of several edits would fail."""
        for file in files:
            edit = self._edit(file, request, now, dry_run=True)
            self._report(file, edit, "", request)

    def _edit(
        self,
        path: MemoryPath,
        request: Mapping[str, object],
        now: datetime | None,
        *,
        expected: str | None = None,
        dry_run: bool = False,
    ) -> "Edit":
        """Carry out an edit on the note as it is at this moment."""
        return self._edits.edit_text(
            path.note, request, expected=expected, dry_run=dry_run, now=now
        )

    def _report(
        self,
        path: MemoryPath,
        edit: "Edit",
        success: str,
        request: Mapping[str, object] = _EDIT_OF_CREATE,
    ) -> str:
        """Return `success`, or why the edit waits. Raises CommandRefused for a refused edit."""
        if edit.pending:
            reason = edit.pending[0].explanation
            return (
                f"{path.path} cannot be written now: {reason}."
                " The change is kept, and made as soon as that is over."
            )
        not_changed = f"Error: {path.path} was not changed"
        if edit.rejected:
            reason = edit.rejected[0].reason
            raise CommandRefused(f"{not_changed}: {_WHY_NOT.get(reason, reason)}.")
        if edit.proposed:
            raise CommandRefused(
                f"{not_changed}: this waits for a person's approval,"
                f" as {edit.proposed[0].why}. Go on without it; do not try again."
            )
        if any(applied.outcome == "noop_no_match" for applied in edit.applied):
            self._refuse_unfit(path, request)
        # The trash got the note as it was, and the text that a person saved meanwhile stays.
        is_changed = edit.before is not None and edit.after is not None
        if request["op"] == "delete" and is_changed:
            raise CommandRefused(
                f"Error: {path.path} was changed meanwhile, and is kept. View it again"
            )
        return success

    def _refuse_unfit(self, path: MemoryPath, request: Mapping[str, object]) -> None:
        """Raise CommandRefused for an edit that does not fit the text that a person just saved."""
        note = self._folder.read(path)
        _plan(path, request, note.raw if note else None)
        raise CommandRefused(f"Error: {path.path} was changed meanwhile. View it again")


def _checked(command: Mapping[str, object]) -> dict[str, Any]:
    """Return a command that has its required fields. Raises CommandRefused."""
    name = command.get("command")
    if not isinstance(name, str) or name not in _FIELDS:
        raise CommandRefused(f"Error: Unknown command: {name}")
    for field, kind in _FIELDS[name].items():
        value = command.get(field)
        # To Python, true and false are numbers.
        if not isinstance(value, kind) or isinstance(value, bool):
            noun = "number" if kind is int else "text"
            raise CommandRefused(f"Error: `{field}` of {name} is missing, or no {noun}")
    checked = dict(command)
    for field in _TEXTS:
        text = checked.get(field)
        # A model repeats the flags that it was shown, and no note has them.
        if isinstance(text, str):
            checked[field] = text.replace(FLAG, "")
    return checked


def _line_range(value: object) -> Sequence[int] | None:
    """Return the first and the last line to view; None for all lines."""
    if value is None:
        return None
    if isinstance(value, list | tuple) and [type(line) for line in value] == [int, int]:
        return value
    raise CommandRefused(
        "Error: `view_range` of view is not two numbers,"
        " the first line and the last (-1 for the end)"
    )


def _storable(text: str) -> str:
    """Return the text if a note can hold it. Raises CommandRefused."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise CommandRefused("Error: the text cannot be written in UTF-8") from None
    if len(raw) > LARGEST_NOTE:
        raise CommandRefused(
            f"Error: the text is larger than {LARGEST_NOTE:,} bytes. Keep several smaller files"
        )
    if "\0" in text:
        raise CommandRefused("Error: the text holds a NUL")
    return text


def _plan(path: MemoryPath, request: Mapping[str, object], raw: bytes | None) -> Edited:
    """Return what an edit makes of a text. Raises CommandRefused when it does not fit."""
    planned = edit_text(request, raw)
    if isinstance(planned, Unfit):
        raise CommandRefused(_explain(path, request, planned))
    if len(planned.after or b"") > LARGEST_NOTE:
        raise CommandRefused(
            f"Error: {path.path} would be larger than {LARGEST_NOTE:,} bytes."
            " Keep several smaller files"
        )
    return planned


def _explain(path: MemoryPath, request: Mapping[str, object], unfit: Unfit) -> str:
    """Return why an edit cannot be made, in the words of the tool's reference."""
    match unfit.reason:
        case "exists":
            return memory_tool.EXISTS.format(path=path.path)
        case "absent" if request["op"] == "str_replace":
            return memory_tool.INVALID.format(path=path.path)
        case "absent":
            return memory_tool.MISSING.format(path=path.path)
        case "no_match":
            return memory_tool.NO_MATCH.format(old=request["old_str"], path=path.path)
        case "several":
            lines = ", ".join(map(str, unfit.lines))
            return memory_tool.SEVERAL.format(old=request["old_str"], lines=lines)
        case "line_range":
            line, count = request["insert_line"], unfit.lines[0]
            return memory_tool.LINE_RANGE.format(line=line, count=count)
        case "not_text":
            return f"Error: The file {path.path} is no text in UTF-8"
        case "moved":
            return f"Error: {path.path} was changed meanwhile. View it again"
