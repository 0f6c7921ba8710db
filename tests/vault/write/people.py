"""Somebody who saves a note again and again, in a process of its own: each save adds one line to what was loaded.

Run as ``python -m tests.vault.write.people NOTE STYLE COUNT SEED``.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def _loaded(path: Path) -> bytes:
    while True:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            time.sleep(0.001)


def by_rename(path: Path, line: bytes) -> None:
    """As gedit, Kate and sync programs do."""
    raw = _loaded(path)
    temporary = path.parent / f".{path.name}.~{os.getpid()}"
    temporary.write_bytes(raw + line)
    os.rename(temporary, path)


def in_place(path: Path, line: bytes) -> None:
    """As nano and VS Code do: truncate, then write."""
    raw = _loaded(path)
    path.write_bytes(raw + line)


def in_two_parts(path: Path, line: bytes) -> None:
    """The same, over a slow share."""
    raw = _loaded(path) + line
    with open(path, "wb", buffering=0) as file:
        file.write(raw[: len(raw) // 2])
        time.sleep(0.003)
        file.write(raw[len(raw) // 2 :])


def by_append(path: Path, line: bytes) -> None:
    """As a shell does with >>."""
    with open(path, "ab", buffering=0) as file:
        file.write(line)


def backed_up(path: Path, line: bytes) -> None:
    """As vim does: the note becomes ``n~``, and a new one is made."""
    raw = _loaded(path)
    backup = Path(f"{path}~")
    os.rename(path, backup)
    with open(path, "wb", buffering=0) as file:
        file.write(raw + line)
        os.fsync(file.fileno())
    backup.unlink()


def vim(path: Path, line: bytes) -> None:
    """The real one. It refuses to save what changed since it was loaded; then the person loads it anew."""
    text = line.decode().rstrip()
    command = [
        "vim",
        "-Nu",
        "NONE",
        "-i",
        "NONE",
        "-n",
        "-es",
        "--cmd",
        "set backupskip= writebackup",
    ]
    # Asked whether it should overwrite what changed, vim reads no answer here and ends with 0; 7 means that it saved.
    for step in (f"call append('$', '{text}')", "autocmd BufWritePost * cquit 7", "w"):
        command += ["-c", step]
    while (
        subprocess.run(
            [*command, str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120
        ).returncode
        != 7
    ):
        pass


STYLES: dict[str, Callable[[Path, bytes], None]] = {
    "rename": by_rename,
    "in place": in_place,
    "two parts": in_two_parts,
    "append": by_append,
    "backup": backed_up,
    "vim": vim,
}


def main(path: Path, style: str, count: int, seed: int) -> None:
    """Save so many times."""
    pauses = random.Random(seed)
    for number in range(count):
        STYLES[style](path, f"- {style} {number}\n".encode())
        time.sleep(pauses.choice((0, 0.002, 0.01, 0.04)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
