"""Looking whether a text is anywhere still: in the bytes of every file, in every row, and in what is packed."""

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from vault_memory.database.connection import DatabaseError
from vault_memory.database.secure_delete import stored_values
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.forgetting.matcher import TextMatcher

PIECE = 4 << 20
OVERLAP = 64 << 10
"""Bytes of a file that are looked at together, and how many of them once more"""
NAMED = "it is part of the name; rename it"


def files_below(root: Path) -> Iterator[tuple[str, Path]]:
    """All plain files, with their paths from `root`; no link is followed."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            try:
                if stat.S_ISREG(file.lstat().st_mode):
                    yield file.relative_to(root).as_posix(), file
            except OSError:
                continue


def is_in_file(file: Path, sought: TextMatcher) -> bool:
    """Whether the raw bytes hold it. Raises OSError."""
    escaped = file.suffix != ".md"
    with file.open("rb") as stream:
        before = b""
        while piece := stream.read(PIECE):
            if sought.is_in_bytes(before + piece, escaped=escaped):
                return True
            before = piece[-OVERLAP:]
    return False


def tables_holding(file: Path, sought: TextMatcher) -> list[str]:
    """The tables of a database of which a row holds it, also packed. Raises what opening and reading it raises."""
    return sorted(
        {table for table, value in stored_values(file) if _holds(value, sought)}
    )


def traces(
    root: Path, sought: TextMatcher, *, besides: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Where it is below a folder, besides some of its paths: (path, why it counts)."""
    for path, file in files_below(root):
        if besides(path):
            continue
        if sought.stands_in(path):
            yield path, NAMED
        try:
            if is_in_file(file, sought):
                yield path, "its bytes hold it"
        except OSError as error:
            yield path, f"it cannot be read: {error.strerror}"
        if file.suffix == ".sqlite":
            yield from _in_rows(path, file, sought)


def _in_rows(path: str, file: Path, sought: TextMatcher) -> Iterator[tuple[str, str]]:
    try:
        if tables := tables_holding(file, sought):
            yield path, f"it stands in {', '.join(tables)}"
    except (VaultMemoryError, DatabaseError) as error:
        yield path, f"it cannot be read: {error}"


def _holds(value: str | bytes, sought: TextMatcher) -> bool:
    if isinstance(value, str):
        return sought.is_in_bytes(value.encode("utf-8", "replace"))
    try:
        return sought.is_in_bytes(zlib.decompress(value), escaped=False)
    except zlib.error:
        return sought.is_in_bytes(value)
