"""Anthropic's memory tool (`memory_20250818`) over the notes of one person: `/memories` is their `memories/` folder.

What a model asks for here is bound as everything is that a bot does: it edits the lines that it wrote, each edit is
recorded and can be undone, what it deletes lies in the trash, and what a person saves meanwhile stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from vault_memory.errors import BadPath, NoteNotFound, NoteUnreadable, UsageError
from vault_memory.lazy import lazy_module
from vault_memory.rules.context.quoting import FLAG
from vault_memory.rules.edits.text_edits import (
    Edited,
    Unfit,
    edit_text,
    line_before,
    text_of,
)
from vault_memory.rules.memory_tool import tool_texts as answers
from vault_memory.rules.memory_tool.tool_paths import (
    ROOT,
    check_new,
    note_name,
    relative,
    shown_name,
)
from vault_memory.rules.paths.caller import Caller
from vault_memory.rules.paths.filenames import clash_key

if TYPE_CHECKING:
    from vault_memory.edits import edit_errors, people
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.paths import scope_notes
    from vault_memory.vault.reader import Note
else:
    edit_errors = lazy_module("vault_memory.edits.edit_errors")
    people = lazy_module("vault_memory.edits.people")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")

TOOL = {"type": "memory_20250818", "name": "memory"}
"""How a request to the model names the tool"""
EXAMPLE_DAY = "2026-01-31"
NAMED_BY_DAY = f"the notes of a channel are named by a day, such as /memories/{EXAMPLE_DAY}-topic.md"
KINDS = frozenset({"note", "dated", "reflection"})
"""Kinds of notes that lie in the folder"""
WORKSPACE = "group:main"
LARGEST = 1 << 20
"""In bytes: of a note that search reads"""

_WHY_NOT = {
    "a_person_wrote_it": "a person wrote some of the lines that this would change or remove, and only they may do that."
    " Add lines of your own instead, or ask the person",
    "looks_like_instruction": "some of it reads like an instruction to the assistant, and such text is not kept without"
    " a person's approval. Leave that part out, or write it as a plain statement",
    "standing_rule": "some of it is a standing rule for the assistant, and only what the person said in this session"
    " becomes a rule without their approval. Leave that part out, or write it as a plain statement",
    "deleted_by_person": "a person deleted what this would bring back. Leave it out",
    "rejected_by_person": "a person has turned this very change down. Leave it out",
    "would_change_structure": "lines that a person wrote would mean something else after it. Insert it elsewhere",
}
_FIELDS: dict[str, tuple[str, ...]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_TEXTS = ("file_text", "old_str", "new_str", "insert_text")


class ToolAnswer(str):
    """What goes back to the model as the content of its tool result; `is_error` goes beside it."""

    is_error: bool

    def __new__(cls, text: str, *, is_error: bool = False) -> "ToolAnswer":
        answer = super().__new__(cls, text)
        answer.is_error = is_error
        return answer


class _Refused(Exception):
    """A command that is not carried out; the answer says why."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A path below `/memories`."""

    path: str
    """as the model wrote it"""
    rest: str
    """below `/memories`; empty for that itself"""
    note: str
    """the note it stands for, should it be a file"""


class MemoryTool:
    """The tool of one person, or of a channel where they talk. Usable from several threads, as its vault is."""

    def __init__(self, edits: "EditCalls", caller: Caller) -> None:
        """Raises UsageError for a name that no person or channel of this vault can have."""
        layout = edits.vault.layout
        people.refuse_twin(caller.user, edits.vault.root, layout)
        self._edits, self._scope = edits, caller.scopes(layout)[0]
        self._is_shared = caller.is_in_shared_room
        paths = list(edits.vault.folder.listing(suffixes=(".md",)).entries)
        self._folder = scope_notes.places_of(self._scope, paths, layout).notes
        if not self._is_ours(f"{self._folder}{EXAMPLE_DAY}.md"):
            name = caller.channel if self._is_shared else caller.user
            raise UsageError(
                f"{name!r} has no folder of notes in this vault",
                hint="name a person or a channel as the layout does",
            )

    def execute(
        self, command: Mapping[str, object], *, now: datetime | None = None
    ) -> ToolAnswer:
        """Carry out one command of the model, as its `input` says it; what is wrong with it is the answer.

        Raises VaultUnreachable, JournalUnavailable, NotRecorded: nothing was done, and the model can do nothing.
        """
        try:
            return ToolAnswer(self._answer(dict(command), now))
        except _Refused as refused:
            return ToolAnswer(str(refused), is_error=True)
        except (NoteUnreadable, BadPath) as error:
            return ToolAnswer(
                f"Error: The file cannot be read: {error.reason}", is_error=True
            )

    def _answer(self, said: dict[str, Any], now: datetime | None) -> str:
        name = said.get("command")
        if not isinstance(name, str) or name not in _FIELDS:
            raise _Refused(f"Error: Unknown command: {name}")
        for key in _FIELDS[name]:
            wanted = int if key == "insert_line" else str
            if not isinstance(said.get(key), wanted) or isinstance(said.get(key), bool):
                raise _Refused(
                    f"Error: `{key}` of {name} is missing, or no {'number' if wanted is int else 'text'}"
                )
        # A model repeats the flags that it was shown; they stand in no note.
        said |= {
            key: said[key].replace(FLAG, "")
            for key in _TEXTS
            if isinstance(said.get(key), str)
        }
        match name:
            case "view":
                return self._view(
                    self._named(said["path"]), _range(said.get("view_range"))
                )
            case "create":
                return self._create(self._named(said["path"]), said["file_text"], now)
            case "str_replace":
                return self._replace(
                    self._named(said["path"]), said["old_str"], said.get("new_str"), now
                )
            case "insert":
                return self._insert(
                    self._named(said["path"]),
                    said["insert_line"],
                    said["insert_text"],
                    now,
                )
            case "delete":
                return self._delete(self._named(said["path"]), now)
        return self._rename(
            self._named(said["old_path"]), self._named(said["new_path"]), now
        )

    # ---- the commands -----------------------------------------------------------------------------------------------

    def _view(self, named: _Named, view_range: Sequence[int] | None) -> str:
        below = self._below(named)
        if below or not named.rest:
            return answers.listing(
                named.path, {shown_name(name): size for name, size in below.items()}
            )
        note = self._read(named)
        if note is None:
            raise _Refused(answers.NOT_SEEN.format(path=named.path))
        lines = text_of(note.raw).split("\n")
        if len(lines) > answers.MOST_LINES:
            raise _Refused(answers.TOO_MANY_LINES.format(path=named.path))
        return answers.content(named.path, lines, view_range)

    def _create(self, named: _Named, text: str, now: datetime | None) -> str:
        self._check_free(named, answers.EXISTS)
        edit = self._edit(named, {"op": "create", "file_text": _whole(text)}, now)
        return self._told(named, edit, answers.CREATED.format(path=named.path))

    def _replace(
        self, named: _Named, old: str, new: object, now: datetime | None
    ) -> str:
        if new is not None and not isinstance(new, str):
            raise _Refused("Error: `new_str` of str_replace is no text")
        note = self._file(named, answers.INVALID)
        asked = {"op": "str_replace", "old_str": old, "new_str": _whole(new or "")}
        made = self._made(named, asked, note.raw)
        edit = self._edit(named, asked, now)
        if edit.changed and edit.before != note.revision:
            note = self._file(named, answers.INVALID)
            text, line = text_of(note.raw), 0
            line = text[: max(text.find(text_of((new or "").encode())), 0)].count("\n")
        else:
            text, line = text_of(made.after or b""), made.line
        return self._told(
            named,
            edit,
            answers.EDITED.format(snippet=answers.snippet(text, line)),
            asked,
        )

    def _insert(self, named: _Named, line: int, text: str, now: datetime | None) -> str:
        note = self._file(named, answers.MISSING)
        asked = {"op": "insert", "insert_line": line, "insert_text": _whole(text)}
        self._made(named, asked, note.raw)
        edit = self._edit(
            named, asked | {"follows": line_before(text_of(note.raw), line)}, now
        )
        return self._told(named, edit, answers.INSERTED.format(path=named.path), asked)

    def _delete(self, named: _Named, now: datetime | None) -> str:
        if not named.rest:
            raise _Refused("Error: Cannot delete the /memories directory itself")
        files = self._files(named)
        self._check_all(files, {"op": "delete"}, now)
        told = [
            self._told(
                one, self._edit(one, {"op": "delete"}, now), "", {"op": "delete"}
            )
            for one in files
        ]
        return "\n".join(filter(None, told)) or answers.DELETED.format(path=named.path)

    def _rename(self, old: _Named, new: _Named, now: datetime | None) -> str:
        if not old.rest:
            raise _Refused("Error: Cannot rename the /memories directory itself")
        files = self._files(old)
        if f"{new.rest}/".startswith(f"{old.rest}/") and new.rest != old.rest:
            raise _Refused(f"Error: {old.path} cannot be moved into itself")
        if not new.rest:
            raise _Refused(answers.TAKEN.format(path=new.path))
        moves = [(one, self._moved(one, old, new)) for one in files]
        self._check_free(new, answers.TAKEN)
        for _, target in moves:
            self._check_free(target, answers.TAKEN)
        self._check_all(files, {"op": "rename", "to": new.note}, now)
        waiting = [self._move(one, target, now) for one, target in moves]
        return "\n".join(filter(None, waiting)) or answers.RENAMED.format(
            old=old.path, new=new.path
        )

    def _move(self, old: _Named, new: _Named, now: datetime | None) -> str:
        """One note to another name: it stands there before it goes here, and what changes meanwhile stays here.

        Gives back what is still to be waited for.
        """
        note = self._file(old, answers.MISSING)
        try:
            text = note.raw.decode()
        except UnicodeDecodeError:
            raise _Refused(
                f"Error: The file {old.path} is no text in UTF-8, and stays where it is"
            ) from None
        came = self._edit(
            new, {"op": "rename", "from": old.note, "file_text": text}, now
        )
        if waits := self._told(new, came, ""):
            return waits
        went = self._leaves(old, new, note.revision, now)
        if went is None or not (went.after is None or went.pending):
            if came.audit_id:
                self._edits.undo(came.audit_id, now=now)
            raise _Refused(
                f"Error: {old.path} was changed while it was renamed, and keeps its name. View it again"
            )
        return self._told(old, went, "")

    def _leaves(
        self, old: _Named, new: _Named, revision: str, now: datetime | None
    ) -> "Edit | None":
        """A note goes from its old name; None when somebody saved it meanwhile."""
        try:
            return self._edit(
                old, {"op": "rename", "to": new.note}, now, expected=revision
            )
        except edit_errors.NoteChanged:
            return None

    # ---- what they are made of --------------------------------------------------------------------------------------

    def _named(self, path: str) -> _Named:
        try:
            rest = relative(path)
        except BadPath as error:
            raise _Refused(
                f"Error: {path!r} is no path below {ROOT}: {error.reason}"
            ) from None
        return _Named(path.rstrip("/"), rest, self._folder + note_name(rest))

    def _moved(self, one: _Named, old: _Named, new: _Named) -> _Named:
        """Where a file of a folder is to go; the file itself when no folder is renamed."""
        return new if one == old else self._named(new.path + one.path[len(old.path) :])

    def _is_ours(self, note: str) -> bool:
        place = self._edits.vault.layout.place(note)
        scopes = (
            {self._scope, WORKSPACE} if self._folder == "memory/" else {self._scope}
        )
        return place is not None and place.kind in KINDS and place.scope in scopes

    def _below(self, named: _Named) -> dict[str, int]:
        """The notes below a folder by their names there, with their sizes; empty when it is no folder."""
        folder = f"{self._folder}{named.rest}".rstrip("/")
        entries = self._edits.vault.folder.listing(folder, suffixes=(".md",)).entries
        return {
            path[len(folder) + 1 :]: stat.size
            for path, stat in entries.items()
            if self._is_ours(path)
        }

    def _files(self, named: _Named) -> list[_Named]:
        """The file that is named, or all in the folder that is."""
        below = [
            self._named(f"{named.path}/{name}") for name in sorted(self._below(named))
        ]
        if not below:
            self._file(named, answers.MISSING)
        return below or [named]

    def _read(self, named: _Named) -> "Note | None":
        """The note as it stands. What lies behind a link is not in this folder."""
        if not named.rest or not self._is_ours(named.note):
            return None
        try:
            return self._edits.vault.folder.read(named.note)
        except NoteNotFound:
            return None

    def _file(self, named: _Named, absent: str) -> "Note":
        note = self._read(named)
        if note is None:
            raise _Refused(absent.format(path=named.path))
        return note

    def _check_free(self, named: _Named, taken: str) -> None:
        """Raise _Refused where a new note cannot be."""
        try:
            check_new(named.rest)
        except BadPath as error:
            raise _Refused(
                f"Error: {named.path} is no name for a memory file: {error.reason}"
            ) from None
        if not self._is_ours(named.note):
            why = (
                NAMED_BY_DAY if self._is_shared else "such names are not read as memory"
            )
            raise _Refused(f"Error: {named.path} is no name for a memory file: {why}")
        there = {clash_key(name) for name in self._below(_Named(ROOT, "", ""))}
        if clash_key(note_name(named.rest)) in there or self._below(named):
            raise _Refused(taken.format(path=named.path))
        parts = named.rest.split("/")
        for above in ("/".join(parts[:depth]) for depth in range(1, len(parts))):
            bare = above if shown_name(note_name(above)) == above else ""
            if clash_key(above) in there or clash_key(note_name(bare)) in there:
                raise _Refused(f"Error: {ROOT}/{above} is a file, and no directory")

    def _made(self, named: _Named, asked: Mapping[str, object], raw: bytes) -> Edited:
        """What an edit makes of a text; raises _Refused with the answer when it cannot be made."""
        made = edit_text(asked, raw)
        if isinstance(made, Unfit):
            raise _Refused(_unfit(named, asked, made))
        if len(made.after or b"") > LARGEST:
            raise _Refused(
                f"Error: {named.path} would be larger than {LARGEST:,} bytes. Keep several smaller files"
            )
        return made

    def _check_all(
        self, files: Sequence[_Named], asked: Mapping[str, object], now: datetime | None
    ) -> None:
        """Raise _Refused, before anything is done, when one of several edits would be refused."""
        for one in files:
            self._told(one, self._edit(one, asked, now, dry_run=True), "", asked)

    def _edit(
        self,
        named: _Named,
        asked: Mapping[str, object],
        now: datetime | None,
        *,
        expected: str | None = None,
        dry_run: bool = False,
    ) -> "Edit":
        """Carry out an edit on the note as it is in this moment."""
        return self._edits.edit_text(
            named.note, asked, expected=expected, dry_run=dry_run, now=now
        )

    def _told(
        self,
        named: _Named,
        edit: "Edit",
        done: str,
        asked: Mapping[str, object] | None = None,
    ) -> str:
        """What the model is told of an edit; raises _Refused for one that was not made."""
        if edit.pending:
            why = edit.pending[0].explanation
            return f"{named.path} cannot be written now: {why}. The change is kept, and made as soon as that is over."
        if edit.rejected:
            why = _WHY_NOT.get(edit.rejected[0].reason, edit.rejected[0].reason)
            raise _Refused(f"Error: {named.path} was not changed: {why}.")
        if edit.proposed:
            raise _Refused(
                f"Error: {named.path} was not changed: this waits for a person's approval, as {edit.proposed[0].why}."
                " Go on without it; do not try again."
            )
        if any(one.outcome == "noop_no_match" for one in edit.applied):
            self._say_why(named, asked or {"op": "create", "file_text": ""})
        if (
            edit.before is not None
            and edit.after is not None
            and asked is not None
            and asked["op"] == "delete"
        ):
            raise _Refused(
                f"Error: {named.path} was changed meanwhile, and is kept. View it again"
            )
        return done

    def _say_why(self, named: _Named, asked: Mapping[str, object]) -> None:
        """Raise _Refused for an edit that did not fit what somebody saved at the last moment."""
        note = self._read(named)
        made = edit_text(asked, note.raw if note else None)
        if isinstance(made, Unfit):
            raise _Refused(_unfit(named, asked, made))
        raise _Refused(f"Error: {named.path} was changed meanwhile. View it again")


def _range(value: object) -> Sequence[int] | None:
    """The lines to view."""
    if value is None:
        return None
    if (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(type(one) is int for one in value)
    ):
        return value
    raise _Refused(
        "Error: `view_range` of view is not two numbers, the first line and the last (-1 for the end)"
    )


def _whole(text: str) -> str:
    """A text that a note can hold."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise _Refused("Error: the text cannot be written in UTF-8") from None
    if len(raw) > LARGEST:
        raise _Refused(
            f"Error: the text is larger than {LARGEST:,} bytes. Keep several smaller files"
        )
    if "\0" in text:
        raise _Refused("Error: the text holds a NUL")
    return text


def _unfit(named: _Named, asked: Mapping[str, object], made: Unfit) -> str:
    """Why an edit cannot be made, in the words of the reference."""
    match made.reason:
        case "exists":
            return answers.EXISTS.format(path=named.path)
        case "absent":
            replaces = asked["op"] == "str_replace"
            return (answers.INVALID if replaces else answers.MISSING).format(
                path=named.path
            )
        case "no_match":
            return answers.NO_MATCH.format(old=asked["old_str"], path=named.path)
        case "several":
            return answers.SEVERAL.format(
                old=asked["old_str"], lines=", ".join(map(str, made.lines))
            )
        case "line_range":
            return answers.LINE_RANGE.format(
                line=asked["insert_line"], count=made.lines[0]
            )
        case "not_text":
            return f"Error: The file {named.path} is no text in UTF-8"
    return f"Error: {named.path} was changed meanwhile. View it again"
