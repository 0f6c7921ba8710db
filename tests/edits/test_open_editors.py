"""Real editors that have the note open while the bot writes: one that refuses to save what changed loses nothing."""

import os
import pty
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.editors import _until_quiet as until_quiet
from tests.scenarios.outside import Outside, until
from vault_memory.api.vault_memory import VaultMemory

NOTE = "# Me\n\n## Tea\n\n- green\n\n## Boats\n\n- Sula\n"
VIM = ("vim", "-Nu", "NONE", "-i", "NONE", "-n")
NANO = ("nano", "--ignorercfiles")
TO_THE_END = {"vim": b"Go- Gannet\x1b", "nano": b"\x1b/- Gannet"}
SAVE = {"vim": b":w\r", "nano": b"\x13"}


class Editor:
    """A program on a terminal of its own, with the note open in it."""

    def __init__(self, command: tuple[str, ...], path: Path) -> None:
        self.name = command[0]
        self._terminal, its = pty.openpty()
        terminal = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            [*command, str(path)],
            stdin=its,
            stdout=its,
            stderr=its,
            env=terminal,
            start_new_session=True,
        )
        os.close(its)
        until_quiet(self._terminal, 0.3)

    def types(self, *keys: bytes) -> None:
        for some in keys:
            os.write(self._terminal, some)
            until_quiet(self._terminal, 0.15)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(120)
        os.close(self._terminal)


@contextmanager
def opened(command: tuple[str, ...], path: Path) -> Iterator[Editor]:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    editor = Editor(command, path)
    try:
        yield editor
    finally:
        editor.end()


@contextmanager
def a_vault(outside: Outside) -> Iterator[tuple[VaultMemory, Path]]:
    path = outside.write("USER.md", NOTE)
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        memory.index()
        yield memory, path


def append(memory: VaultMemory, line: str) -> None:
    """By the bot, also when the note is in use at first."""
    edit = memory.apply("USER.md", [{"op": "append", "heading": "Tea", "line": line}])
    until(lambda: edit.audit_id or memory.edits.process_due() or not memory.edits.waiting())


@pytest.mark.scenario("A32")
@pytest.mark.parametrize("command", [VIM, NANO], ids=["vim", "nano"])
def test_an_editor_that_refuses_to_overwrite_a_changed_file_leaves_the_note_intact(
    outside: Outside, command: tuple[str, ...]
) -> None:
    with a_vault(outside) as (memory, path), opened(command, path) as editor:
        editor.types(TO_THE_END[editor.name])
        append(memory, "black")
        written = path.read_text()
        assert written == NOTE.replace("- green\n", "- green\n- black\n")
        if editor.name == "nano":
            time.sleep(1.1)  # it tells versions apart by whole seconds

        editor.types(SAVE[editor.name], b"n", b"n\r" if editor.name == "vim" else b"")

        assert path.read_text() == written
        if editor.name == "vim":
            editor.types(b"\x1b", b":e!\r", b"Go- Gannet\x1b", b":wq\r")
            assert editor.process.wait(120) == 0
            assert path.read_text() == written + "- Gannet\n"


@pytest.mark.scenario("A7")
def test_an_editor_forced_to_overwrite_removes_no_line_of_the_bot(outside: Outside) -> None:
    with a_vault(outside) as (memory, path), opened(VIM, path) as editor:
        editor.types(TO_THE_END["vim"])
        append(memory, "black")

        editor.types(b":w\r", b"y", b"\r")  # yes, over what changed
        until(lambda: "- Gannet\n" in path.read_text())
        time.sleep(0.4)  # until it has settled
        append(memory, "oolong")
        memory.edits.process_due()

        text = path.read_text()
        assert "- Gannet\n" in text
        assert "- oolong\n" in text
        assert "- black\n" in text or [one.op["line"] for one in memory.inbox()] == ["black"]
