"""Damages database files, one page at a time."""

import shutil
from pathlib import Path

import apsw

PATTERNS = (b"\xa5", b"\0")


def checkpoint(path: Path) -> None:
    """Move everything from the log into the file."""
    connection = apsw.Connection(str(path))
    connection.pragma("wal_checkpoint(truncate)")
    connection.close()


def page_size(path: Path) -> int:
    stored = int.from_bytes(path.read_bytes()[16:18])
    return 65536 if stored == 1 else stored


def page_count(path: Path) -> int:
    return path.stat().st_size // page_size(path)


def damage_page(path: Path, number: int, pattern: bytes = PATTERNS[0]) -> None:
    """Overwrite a page, counted from 1."""
    size = page_size(path)
    with path.open("r+b") as file:
        file.seek((number - 1) * size)
        file.write(pattern * size)


def copied(folder: Path, target: Path) -> Path:
    """A fresh copy of a folder."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(folder, target))
