"""How programs really save a note: each way adds one line at its end, as a person would.

Real editors run as real processes where they are installed; the ways of those that need a desktop are done step by
step as they do them (seen with strace, or read in their sources).
"""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Editor:
    """One way to save."""

    name: str
    add_line: Callable[[Path, str], None]
    program: str | None = None
    """What must be installed for it."""

    @property
    def missing(self) -> str | None:
        """Why it cannot be used here."""
        return (
            f"{self.program} is not installed"
            if self.program and not shutil.which(self.program)
            else None
        )


def _grown(path: Path, line: str) -> bytes:
    return path.read_bytes() + line.encode() + b"\n"


def _run(*command: str, data: bytes | None = None) -> None:
    subprocess.run(command, input=data, check=True, capture_output=True, timeout=120)


def _vim(backupcopy: str) -> Callable[[Path, str], None]:
    def add_line(path: Path, line: str) -> None:
        settings = f"set nocompatible backupskip= swapfile writebackup backupcopy={backupcopy}"
        text = line.replace("'", "''")
        _run(
            "vim",
            "-Nu",
            "NONE",
            "-i",
            "NONE",
            "-es",
            "-c",
            settings,
            "-c",
            f"$put ='{text}'",
            "-c",
            "wq",
            str(path),
        )

    return add_line


def _nano(path: Path, line: str) -> None:
    """Type into a real nano on a terminal of its own: to the end, the line, save, leave."""
    ours, its = pty.openpty()
    terminal = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    command = ["nano", "--ignorercfiles", str(path)]
    with subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, env=terminal, start_new_session=True
    ) as nano:
        os.close(its)
        try:
            _until_quiet(ours)
            for keys in (
                b"\x1b/",
                line.encode(),
                b"\x13",
                b"\x18",
            ):  # M-/ to the end, text, ^S save, ^X leave
                os.write(ours, keys)
                _until_quiet(ours)
            assert nano.wait(120) == 0
        finally:
            nano.kill()
            os.close(ours)


def _until_quiet(terminal: int, seconds: float = 0.15) -> None:
    """Read what a program shows until it waits for the next key, or is gone."""
    while select.select([terminal], [], [], seconds)[0]:
        with contextlib.suppress(OSError):
            if os.read(terminal, 65536):
                continue
        return


def _sed(path: Path, line: str) -> None:
    _run("sed", "-i", f"$a {line}", str(path))


def _mv(path: Path, line: str) -> None:
    other = path.parent / "new"
    other.write_bytes(_grown(path, line))
    _run("mv", str(other), str(path))


def _shell_append(path: Path, line: str) -> None:
    _run("sh", "-c", 'printf "%s\\n" "$1" >> "$2"', "sh", line, str(path))


def _shell_rewrite(path: Path, line: str) -> None:
    _run("sh", "-c", 'cat > "$1"', "sh", str(path), data=_grown(path, line))


def _in_place(path: Path, line: str) -> None:
    path.write_bytes(_grown(path, line))


def _slowly(path: Path, line: str) -> None:
    """Truncate, think, and write in three parts, as over a slow share."""
    raw = _grown(path, line)
    with open(path, "wb", buffering=0) as file:
        for part in (raw[: len(raw) // 3], raw[len(raw) // 3 : -4], raw[-4:]):
            time.sleep(0.06)
            file.write(part)


def _vscode(path: Path, line: str) -> None:
    raw = _grown(path, line)
    fd = os.open(path, os.O_WRONLY)
    try:
        os.ftruncate(fd, 0)
        os.write(fd, raw)
    finally:
        os.close(fd)


def _emacs_like(path: Path, line: str) -> None:
    raw = _grown(path, line)
    lock = path.parent / f".#{path.name}"
    lock.symlink_to("ann@pi4.4711:1769600000")
    autosave = path.parent / f"#{path.name}#"
    autosave.write_bytes(raw)
    os.rename(path, f"{path}~")
    path.write_bytes(raw)
    autosave.unlink()
    lock.unlink()


def _emacs(path: Path, line: str) -> None:
    lisp = (
        f'(progn (find-file "{path}") (goto-char (point-max)) (insert "{line}\\n") (save-buffer))'
    )
    _run("emacs", "-Q", "--batch", "--eval", lisp)


def _gio(path: Path, line: str) -> None:
    _run("gio", "save", "--backup", str(path), data=_grown(path, line))


def _gedit_like(path: Path, line: str) -> None:
    temporary = path.parent / ".goutputstream-AB12CD"
    temporary.write_bytes(_grown(path, line))
    os.rename(path, f"{path}~")
    os.rename(temporary, path)


def _qsavefile(path: Path, line: str) -> None:
    temporary = Path(f"{path}.kXyZab")
    temporary.write_bytes(_grown(path, line))
    os.rename(temporary, path)


def _jetbrains(path: Path, line: str) -> None:
    temporary, old = Path(f"{path}___jb_tmp___"), Path(f"{path}___jb_old___")
    temporary.write_bytes(_grown(path, line))
    os.rename(path, old)
    os.rename(temporary, path)
    old.unlink()


def _nextcloud(path: Path, line: str) -> None:
    temporary = path.parent / f".{path.name}.~1f2e"
    temporary.write_bytes(_grown(path, line))
    os.utime(temporary, (1_700_000_000, 1_700_000_000))
    os.rename(temporary, path)


def _syncthing(path: Path, line: str) -> None:
    temporary = path.parent / f".syncthing.{path.name}.tmp"
    temporary.write_bytes(_grown(path, line))
    os.chmod(temporary, 0o644)
    os.rename(temporary, path)


def _delete_and_write(path: Path, line: str) -> None:
    raw = _grown(path, line)
    path.unlink()
    time.sleep(0.1)
    path.write_bytes(raw)


EDITORS = (
    Editor("vim", _vim("auto"), "vim"),
    Editor("vim, backupcopy=yes", _vim("yes"), "vim"),
    Editor("vim, backupcopy=no", _vim("no"), "vim"),
    Editor("nano", _nano, "nano"),
    Editor("emacs", _emacs, "emacs"),
    Editor("sed -i", _sed, "sed"),
    Editor("mv over", _mv, "mv"),
    Editor("shell >>", _shell_append, "sh"),
    Editor("shell >", _shell_rewrite, "sh"),
    Editor("gio save", _gio, "gio"),
    Editor("in place", _in_place),
    Editor("truncate, then slowly", _slowly),
    Editor("as VS Code", _vscode),
    Editor("as Emacs", _emacs_like),
    Editor("as gedit", _gedit_like),
    Editor("as Kate (QSaveFile)", _qsavefile),
    Editor("as JetBrains", _jetbrains),
    Editor("as Nextcloud", _nextcloud),
    Editor("as Syncthing", _syncthing),
    Editor("delete, then write", _delete_and_write),
)


def each_editor() -> Iterator[object]:
    """One parameter for each way to save, skipped with its reason where the program is missing."""
    for editor in EDITORS:
        marks = [pytest.mark.skip(reason=editor.missing)] if editor.missing else []
        yield pytest.param(editor, id=editor.name, marks=marks)
