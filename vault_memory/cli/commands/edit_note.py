"""`edit` and `open`: a note in the person's editor, as a text to save or at a line."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from vault_memory import places
from vault_memory.cli.commands.edit import named_note
from vault_memory.cli.note_names import of_named_note
from vault_memory.cli.options import Context, common, dry_run
from vault_memory.cli.rendering import emit_edit, exit_code_of
from vault_memory.contract import as_json
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.errors import UsageError, VaultMemoryError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import OpenJson
    from vault_memory.edits.edit_result import Edit


DRAFTS = "drafts"
"""Folder in the state folder with the copies that are being edited, or that were kept"""
WAIT_FLAGS = {
    **dict.fromkeys("code codium cursor windsurf subl zed gedit".split(), "--wait"),
    **dict.fromkeys("gvim mvim".split(), "--nofork"),
    "kate": "--block",
}
"""Editor → its flag for a command that ends when the file is closed"""
AT_ONCE_SECONDS = 1.0
STDERR = 2


class EditorFailed(VaultMemoryError):
    """The editor ended with an error, so the copy was not saved."""

    def __init__(self, editor: str, exit_code: int) -> None:
        super().__init__(
            f"`{editor}` ended with exit code {exit_code}; nothing was written",
            hint="name another editor in the variable EDITOR",
        )


class Draft:
    """A copy of a note that a person edits."""

    def __init__(self, note: str, file: Path, base: bytes) -> None:
        self.note = note
        self.file = file
        self.base = base
        """the text of the note that a save is based on; empty for a new note"""
        self.shown = base
        """the text that the editor got"""
        self.conflict: SaveConflict | None = None
        """with what the last save met"""

    @property
    def text(self) -> bytes:
        """What the copy says now."""
        try:
            return self.file.read_bytes()
        except FileNotFoundError:
            # A person may delete the copy to give up.
            return self.shown

    @property
    def is_touched(self) -> bool:
        """Whether the copy has another text than the editor got."""
        return self.text != self.shown

    def show(self, conflict: SaveConflict) -> None:
        """Write both texts into the copy, and base it on what is on disk now."""
        self.conflict = conflict
        self.base = conflict.on_disk
        self.shown = conflict_text(conflict)
        self.file.write_bytes(self.shown)

    def remove(self) -> None:
        """Delete the copy, and what the editor left beside it."""
        shutil.rmtree(self.file.parent, ignore_errors=True)


@click.command()
@click.argument("note")
@dry_run
@common
@click.pass_obj
def edit(context: Context, note: str, dry_run: bool) -> int:
    """Edit NOTE as a text in $VISUAL or $EDITOR, and save it as one edit.

    The editor gets a copy. When you close it, your text is merged with what others wrote
    meanwhile. Where both changed the same lines, nothing is written: the copy then has
    both texts, and you edit it again or keep it. A note that does not exist is created.

    \b
    Example:
      vault-memory edit USER.md
    """
    draft = _new_draft(context, note)
    with _kept_on_error(draft):
        saved = _edit_until_saved(context, draft, dry_run=dry_run)
        if dry_run and draft.is_touched:
            context.say(f"your text is in `{draft.file}`")
        else:
            draft.remove()
    if saved.applied or saved.pending:
        emit_edit(context, saved, dry_run=dry_run)
    else:
        answer = as_json(saved)
        context.emit(answer, lambda: f"`{draft.note}` was not changed")
    return exit_code_of(saved)


def _new_draft(context: Context, note: str) -> Draft:
    """Copy a note for the editor. Raises NotCurated and NotSavable before anybody has typed."""
    with context.open() as memory:
        path = named_note(context, memory, note)
        present = memory.edits.editor.there(path)
        base = present.raw if present else b""
        memory.edits.save(path, base, base=base, dry_run=True)
        drafts = memory.vault.state.path / DRAFTS
    if present is None:
        context.say(f"`{path}` is a new note")
    places.make_private(drafts)
    file = Path(tempfile.mkdtemp(dir=drafts)) / Path(path).name
    # Other users of the computer must not read it.
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as copy:
        copy.write(base)
    return Draft(path, file, base)


def _edit_until_saved(context: Context, draft: Draft, *, dry_run: bool) -> "Edit":
    """Let a person edit the copy, and save it; again after a conflict. Raises SaveConflict, NoteGone."""
    while True:
        _run_editor(context, draft)
        # Both texts of a conflict, as they were put into the copy, are no answer to it.
        if draft.conflict and not draft.is_touched:
            raise draft.conflict
        try:
            with context.open() as memory:
                return memory.edits.save(
                    draft.note, draft.text, base=draft.base, dry_run=dry_run, now=context.now
                )
        except SaveConflict as conflict:
            draft.show(conflict)
            if not _edits_again(context, conflict):
                raise


def _run_editor(context: Context, draft: Draft) -> None:
    """Run the person's editor on the copy until it ends. Raises UsageError, EditorFailed."""
    name, *arguments = editor_command(draft.file)
    flag = WAIT_FLAGS.get(Path(name).stem)
    # Fault: an editor with windows ends at once, before anything was typed.
    if flag and flag not in arguments:
        arguments.insert(0, flag)
    began = time.monotonic()
    # An answer in JSON must not follow what the editor draws.
    exit_code = start([name, *arguments], output=STDERR if context.json else None)
    if exit_code != 0:
        raise EditorFailed(name, exit_code)
    if not draft.is_touched and time.monotonic() - began < AT_ONCE_SECONDS:
        context.say(
            f"`{name}` ended at once; an editor with windows needs a flag that makes it wait"
        )


def _edits_again(context: Context, conflict: SaveConflict) -> bool:
    """Say what happened, and ask whether to edit the copy with both texts."""
    if not context.can_ask():
        return False
    context.line(conflict.message, err=True)
    question = "The copy has both texts now. Edit it again?"
    try:
        return click.confirm(question, default=True, err=True)
    except click.Abort:
        # Ctrl-C must not hide where the copy is.
        return False


@contextmanager
def _kept_on_error(draft: Draft) -> Iterator[None]:
    """Keep a copy with typed text after an error, and name it; remove one that has none."""
    try:
        yield
    except VaultMemoryError as error:
        if not draft.conflict and not draft.is_touched:
            draft.remove()
            raise
        content = "both texts are" if draft.conflict else "your text is"
        error.hint = f"{content} in `{draft.file}`; {error.hint}"
        error.details["copy"] = str(draft.file)
        raise


def conflict_text(conflict: SaveConflict) -> bytes:
    """Return both texts in one, with marks where they differ."""
    if conflict.merged is not None:
        return conflict.merged
    mine = conflict.yours.splitlines(keepends=True)
    disk = conflict.on_disk.splitlines(keepends=True)
    head = _equal_lines(mine, disk)
    mine, disk = mine[len(head) :], disk[len(head) :]
    tail = _equal_lines(mine[::-1], disk[::-1])[::-1]
    mine = mine[: len(mine) - len(tail)]
    disk = disk[: len(disk) - len(tail)]
    parts = (
        *head,
        b"<<<<<<< yours\n",
        *map(_ended, mine),
        b"=======\n",
        *map(_ended, disk),
        b">>>>>>> on disk\n",
        *tail,
    )
    return b"".join(parts)


def _ended(line: bytes) -> bytes:
    """Return a line with a newline, which the last line of a text may lack."""
    return line if line.endswith(b"\n") else line + b"\n"


def _equal_lines(lines: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    """Return the lines with which both begin."""
    pairs = zip(lines, others, strict=False)
    return [line for line, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


_PLUS = "+{line} {path}"
_COLON = "{path}:{line}"
LINE_FLAGS = {
    **dict.fromkeys(
        "vi vim nvim gvim view nano pico emacs emacsclient micro kak joe mg gedit".split(), _PLUS
    ),
    **dict.fromkeys("code codium cursor windsurf".split(), "--goto {path}:{line}"),
    **dict.fromkeys("subl hx helix zed".split(), _COLON),
    "kate": "--line {line} {path}",
}
"""Editor → its arguments for a path and a line"""
FALLBACKS = ("nano", "vim", "vi")
"""Editors to look for when no variable names one"""
APPS = ("obsidian", "vscode")


@click.command("open")
@click.argument("place", metavar="NOTE[:LINE]")
@click.option(
    "--with", "app", type=click.Choice(APPS), help="Open it in this program instead of the editor."
)
@click.option("--print", "only_print", is_flag=True, help="Print the command only.")
@common
@click.pass_obj
def open_(context: Context, place: str, app: str | None, only_print: bool) -> int:
    """Open a note in $VISUAL or $EDITOR, at LINE.

    NOTE is a path in the vault, or the name or an alias of one note.

    With --json or --print nothing is started.

    \b
    Examples:
      vault-memory open MEMORY.md:12
      vault-memory open MEMORY.md --with obsidian
    """
    with context.open(marks=False) as memory:
        note, line = _note_and_line(memory, place)
        path = memory.root.resolve() / note
    # An address works without knowing where the program is installed.
    if app:
        command = ["open" if sys.platform == "darwin" else "xdg-open", _address(app, path, line)]
    else:
        command = editor_command(path, line)
    answer: OpenJson = {"note": note, "line": line, "command": command}
    if context.json or only_print:
        context.emit(answer, lambda: shlex.join(command))
        return 0
    code = start(command)
    if code:
        context.say(f"`{command[0]}` ended with exit code {code}")
    return code


def _note_and_line(memory: "VaultMemory", place: str) -> tuple[str, int | None]:
    """Return the note and the line that a place names. Raises NoteNotFound."""
    note, colon, digits = place.rpartition(":")
    # A colon may also belong to the name of a note.
    if colon and digits.isascii() and digits.isdigit():
        return of_named_note(memory, note, memory.read).note, int(digits)
    return of_named_note(memory, place, memory.read).note, None


def editor_command(path: Path, line: int | None = None) -> list[str]:
    """Return the command that opens a file in the person's editor. Raises UsageError."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    installed = filter(shutil.which, FALLBACKS)
    words = shlex.split(named or next(installed, ""))
    if not words:
        raise UsageError(
            "there is no editor to open the file with", hint="name one: `export EDITOR=nano`"
        )
    # An editor that is not in the table might take a flag for the name of a file.
    flags = LINE_FLAGS.get(Path(words[0]).stem)
    if line is None or flags is None:
        return [*words, str(path)]
    return [*words, *(word.format(path=path, line=line) for word in flags.split())]


def _address(app: str, path: Path, line: int | None) -> str:
    """Return the address that opens a file in a program."""
    if app == "obsidian":
        return f"obsidian://open?path={quote(str(path), safe='')}"
    place = f":{line}" if line else ""
    return f"vscode://file{quote(path.as_posix())}{place}"


def start(command: list[str], *, output: int | None = None) -> int:
    """Run a command in the foreground, and return its exit code. Raises UsageError.

    `output` is the file descriptor that the command gets as its stdout; None: that of this process.
    """
    # Fault: a shell would read the name of a note as code, so none is started.
    try:
        with _left_to_editor(signal.SIGINT):
            return subprocess.run(command, check=False, stdout=output).returncode
    except OSError as error:
        raise UsageError(
            f"`{command[0]}` cannot be started: {error.strerror}",
            hint="name another editor in the variable EDITOR",
        ) from None


@contextmanager
def _left_to_editor(number: signal.Signals) -> Iterator[None]:
    """Ignore a signal of the keyboard here; the editor, which gets it too, does what it means there."""
    # Fault: Ctrl-C is a command of many editors. It would end this process, and with it the editor.
    previous = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(number, previous)
