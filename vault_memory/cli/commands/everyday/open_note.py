"""`open`: a note in the person's editor, at a line."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from vault_memory.cli.note_names import of_named_note
from vault_memory.cli.options import Context, common
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import OpenJson

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
        command = [_opener(), _address(app, path, line)]
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


def _opener() -> str:
    """Return the program of the system that opens addresses."""
    return "open" if sys.platform == "darwin" else "xdg-open"


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
