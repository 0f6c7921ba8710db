"""Searches files, file names and rows of databases for a text that should be gone."""

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from vault_memory.database.connection import DatabaseError
from vault_memory.database.secure_delete import stored_values
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.paths.filenames import MARKDOWN

BLOCK_BYTES = 4 << 20
"""How much of a file is searched at a time"""
OVERLAP_BYTES = 64 << 10
"""How much of a block is searched again with the next one"""
NAMED = "it is part of the name; rename it"


def files_below(root: Path) -> Iterator[tuple[str, Path]]:
    """Yields all plain files with their paths from `root`. Links are not followed."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            try:
                # Fault (H120): reading a pipe would block, and a link leads out of the
                # vault.
                is_plain = stat.S_ISREG(file.lstat().st_mode)
            except OSError:
                # Fault: another process deleted the file after the listing.
                continue
            if is_plain:
                yield file.relative_to(root).as_posix(), file


def is_in_file(file: Path, matcher: TextMatcher) -> bool:
    """Whether the bytes of a file contain the text. Raises OSError."""
    is_escaped = file.suffix not in MARKDOWN
    tail = b""
    with file.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            if matcher.is_in_bytes(tail + block, escaped=is_escaped):
                return True
            # Fault: the text may begin in this block and end in the next one. A search
            # that misses it would report a false success.
            tail = block[-OVERLAP_BYTES:]
    return False


def tables_with(file: Path, matcher: TextMatcher) -> list[str]:
    """Returns the tables of a database with the text in a row, also compressed.

    Raises DatabaseDamaged, VaultMemoryError, DatabaseError.
    """
    tables = {table for table, value in stored_values(file) if _is_in_value(value, matcher)}
    return sorted(tables)


def find_traces(
    root: Path, matcher: TextMatcher, *, skips: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Yields each path below `root` with the text, and where it is; `skips` leaves paths out."""
    for path, file in files_below(root):
        if skips(path):
            continue
        if matcher.stands_in(path):
            yield path, NAMED
        try:
            if is_in_file(file, matcher):
                yield path, "its bytes contain it"
        except OSError as error:
            yield path, f"it cannot be read: {error.strerror}"
        if file.suffix == ".sqlite":
            yield from _find_in_rows(path, file, matcher)


def _find_in_rows(path: str, file: Path, matcher: TextMatcher) -> Iterator[tuple[str, str]]:
    try:
        tables = tables_with(file, matcher)
    except (VaultMemoryError, DatabaseError) as error:
        yield path, f"it cannot be read: {error}"
        return
    if tables:
        yield path, f"these tables contain it: {', '.join(tables)}"


def _is_in_value(value: str | bytes, matcher: TextMatcher) -> bool:
    if isinstance(value, str):
        return matcher.is_in_bytes(value.encode("utf-8", "replace"))
    try:
        unpacked = zlib.decompress(value)
    except zlib.error:
        # Most blobs are not compressed.
        return matcher.is_in_bytes(value)
    return matcher.is_in_bytes(unpacked, escaped=False)
