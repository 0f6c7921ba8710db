"""Files outside of notes, history and index that may contain a forgotten text, or be named after it."""

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from vault_memory.config.durable import sync_folder
from vault_memory.database.connection import DatabaseError
from vault_memory.database.secure_delete import stored_values
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.paths.filenames import MARKDOWN

AUDIT = ".audit"
DAMAGED = ".damaged"
ON_SERVER = (
    "the server had a file of this name at the last pass;"
    " run `vault-memory sync --once`, and `forget` again"
)
_PUT_ASIDE = ("nights/*.open.json", "drop/*.rejected", "sessions/*/*", "hook.log*", "as-of-*/**/*")
"""Files that can be deleted: a night and a session start again, a rejected line was never recorded,
and a past day is rebuilt"""
BLOCK_BYTES = 4 << 20
"""How much of a file is searched at a time"""
OVERLAP_BYTES = 64 << 10
"""How much of a block is searched again with the next one"""
NAMED = "it is part of the name; rename it"


def damaged_files(state: Path) -> list[Path]:
    """Returns databases that were set aside, with their logs: their rows cannot be searched.

    Damaged files of the index are handled with its superseded generations.
    """
    return sorted(
        file
        for _, file in files_below(state)
        if DAMAGED in file.name and file.parent.name != "index"
    )


def files_put_aside(state: Path, matcher: "TextMatcher") -> list[Path]:
    """Returns the files stored for later, or for a look by a person, that contain the text."""
    files = (file for pattern in _PUT_ASIDE for file in state.glob(pattern))
    return sorted(
        file for file in files if file.is_file() and matcher.is_in_bytes(_read_or_empty(file))
    )


def orphaned_audits(root: Path, matcher: "TextMatcher") -> Iterator[tuple[str, str]]:
    """Yields audit files whose names have the text, each with its path without the text.

    Their notes are missing: a person renamed a note without its audit. The records stay.
    """
    for path, file in files_below(root):
        stem, mark, _ = file.name.partition(AUDIT)
        is_audit = bool(mark) and file.name.endswith(".jsonl")
        if not is_audit or not _is_only_in_name(path, matcher):
            continue
        masked = matcher.masked(path)
        note = file.parent / stem
        # Fault: a rename must not replace another audit file.
        is_free = masked != path and not (root / masked).exists()
        if is_free and not note.exists():
            yield path, masked


def _is_only_in_name(path: str, matcher: "TextMatcher") -> bool:
    folder, _, name = path.rpartition("/")
    return matcher.hides(name) and not matcher.hides(folder)


def running_daemon(state: Path) -> int | None:
    """Returns the process id of a daemon of this vault that is not this process."""
    try:
        pid = int((state / "daemon.pid").read_text(encoding="ascii"))
        os.kill(pid, 0)
    except PermissionError:
        # Fault: the process belongs to another user. It may still have the text.
        return pid
    except (OSError, ValueError, OverflowError):
        # Fault (A26): a daemon that was killed leaves its file, with the id of no
        # process.
        return None
    return None if pid == os.getpid() else pid


def rename(root: Path, path: str, new_path: str) -> None:
    """Renames a file durably."""
    os.rename(root / path, root / new_path)
    sync_folder((root / new_path).parent)


def _read_or_empty(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        # Another process deleted it meanwhile.
        return b""


# --- The search ---

# Searches files, file names and rows of databases for a text that should be gone.


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
