"""Append-only logs: one JSON record a line. A torn line is repaired by adding, never by removing.

A record is one write at the end of the file, synced before the call returns, under a lock that
excludes other writers. A reader skips the lines that it cannot read, and counts them.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.write import attempt

Record = Mapping[str, object]

TAIL = 64 << 10
"""Bytes at the end of a log in which its last records are looked for"""
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Records(NamedTuple):
    """The content of a log."""

    records: tuple[dict[str, object], ...]
    bad: int
    """Lines that are no records: torn by a crash, zeroed by a power loss, or edited by hand"""


class Appended(NamedTuple):
    """The bytes that were added to a log."""

    offset: int
    """Where they begin: the size of the log before"""
    raw: bytes
    """All of them, with the newline that ended a torn line before them"""


def append_record(root: str | os.PathLike[str], path: str, record: Record) -> Appended:
    """Adds one durable record to the log, and creates the log when it does not exist."""
    return append_lines(root, inside(path), _line(record))


def append_records(root: str | os.PathLike[str], path: str, records: Iterable[Record]) -> Appended:
    """Adds records to the log, with one write and one sync for all of them. Raises OSError."""
    return append_lines(root, inside(path), b"".join(map(_line, records)))


def append_checked(root: str | os.PathLike[str], path: str, record: Record) -> Appended:
    """Adds one record as `append_record` does, to a path that `inside` has checked."""
    return append_lines(root, path, _line(record))


def append_lines(root: str | os.PathLike[str], path: str, lines: bytes) -> Appended:
    """Adds whole lines to the log as `append_checked` does."""
    files = RealFiles(root)
    folder_path, _, name = path.rpartition("/")
    folder = _open_folder(files, folder_path)
    try:
        # Fault: what was said must not be readable for others, not even for a moment.
        fd = os.open(name, _APPEND, 0o600, dir_fd=folder)
        try:
            appended = _append(fd, lines)
        finally:
            os.close(fd)
        if appended.offset == 0:
            # Fault (B35): a power loss could take the name of a new log, and with it
            # the records that are on the disk.
            os.fsync(folder)
    finally:
        os.close(folder)
    return appended


def _append(fd: int, lines: bytes) -> Appended:
    # Fault: two processes that append at once could cut each other's lines.
    fcntl.flock(fd, fcntl.LOCK_EX)
    size = os.fstat(fd).st_size
    # Fault (B42): a crash during an append leaves a line without its end. The next
    # record gets its own line.
    is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    raw = b"\n" + lines if is_torn else lines
    _write(fd, raw)
    _sync_data(fd)
    return Appended(size, raw)


_sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
"""Waits until the bytes of a file are on the disk; macOS has no call without the file's times"""


def sync_records(root: str | os.PathLike[str], path: str) -> None:
    """Waits until a log is on the disk. The process that appended may have died before its sync."""
    files = RealFiles(root)
    folder_path, _, name = path.rpartition("/")
    folder = files.open_folder(folder_path)
    try:
        fd = files.open(folder, name)
        try:
            files.fsync(fd)
        finally:
            files.close(fd)
        files.fsync(folder)
    finally:
        files.close(folder)


def _open_folder(files: RealFiles, path: str) -> int:
    try:
        return files.open_folder(path)
    except FileNotFoundError:
        return attempt.make_folders(files, path)


def read_records(raw: bytes) -> Records:
    """Returns the records of a log in their order."""
    records, bad = [], 0
    for line in raw.split(b"\n"):
        record = _record(line)
        if record is not None:
            records.append(record)
        elif line.strip():
            bad += 1
    return Records(tuple(records), bad)


def last_lines(root: str | os.PathLike[str], path: str) -> list[bytes]:
    """Returns the lines in the last `TAIL` bytes of a log, the last first.

    The first line of the log among them may be cut. Returns nothing when the log cannot be read.
    """
    folder_path, _, name = path.rpartition("/")
    files = RealFiles(root)
    try:
        folder = files.open_folder(folder_path)
        try:
            fd = files.open(folder, name)
        finally:
            files.close(folder)
        try:
            raw = os.pread(fd, TAIL, max(0, os.fstat(fd).st_size - TAIL))
        finally:
            files.close(fd)
    except OSError:
        return []
    return raw.split(b"\n")[::-1]


def lines_from_end(stream: BinaryIO) -> Iterator[bytes]:
    """Yields the lines of a log without their newlines, the last first. Reads only as needed."""
    position = stream.seek(0, os.SEEK_END)
    # The blocks of a line whose beginning is not read yet, the last block first.
    unfinished: list[bytes] = []
    while position:
        size = min(TAIL, position)
        position -= size
        stream.seek(position)
        first, *lines = stream.read(size).split(b"\n")
        if lines:
            yield lines.pop() + b"".join(reversed(unfinished))
            yield from reversed(lines)
            unfinished = []
        unfinished.append(first)
    yield b"".join(reversed(unfinished))


def merge_records(logs: Iterable[bytes]) -> bytes:
    """Merges copies of a log: each record once by its id, in the order of time, bytes unchanged.

    Of two forms of a record a redacted one wins, then a folded one.
    """
    lines: dict[object, _MergedLine] = {}
    absorbed: set[object] = set()
    for line in b"\n".join(logs).split(b"\n"):
        record = _record(line)
        # Fault (B42): a power loss leaves zeros where a line should be.
        if record is None and not line.strip(b"\0 \t\r"):
            continue
        fields = record or {}
        key, moment = _key_and_moment(fields, line)
        entry = _MergedLine(moment, len(lines), line, _weight(fields))
        previous = lines.setdefault(key, entry)
        if entry.weight > previous.weight:
            lines[key] = entry._replace(position=previous.position)
        absorbed |= absorbed_ids(fields)
    # Fault: an older copy has records in full that were folded into others since.
    ordered = sorted(entry for key, entry in lines.items() if key not in absorbed)
    return b"".join(entry.line + b"\n" for entry in ordered)


class _MergedLine(NamedTuple):
    """A line of merged logs."""

    moment: str
    position: int
    line: bytes
    weight: tuple[bool, bool]


def _weight(record: Record) -> tuple[bool, bool]:
    return record.get("redacted") is True, bool(record.get("folded"))


def absorbed_ids(record: Record) -> set[str]:
    """Returns the ids of the records that were folded into this one."""
    ids = record.get("folded")
    return set(map(str, ids[:-1])) if isinstance(ids, list) else set()


def _key_and_moment(record: Record, line: bytes) -> tuple[str | bytes, str]:
    """Returns what identifies a line, and its time; a line that is no record identifies itself."""
    key = id_of_record(record)
    return key or line, str(record.get("ts", ""))


def id_of_record(record: Record) -> str:
    """Returns the id that only this record of a log has; empty when it has none."""
    record_id = record.get("id")
    # A ledger adds lines about one candidate: each of them counts.
    is_unique = isinstance(record_id, str) and "supports" not in record
    return str(record_id) if is_unique else ""


def _line(record: Record) -> bytes:
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # Fault (C58): a name of a file that is not UTF-8 has surrogates, which JSON can
        # only escape.
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _record(line: bytes) -> dict[str, object] | None:
    try:
        payload = json.loads(line)
    except (ValueError, RecursionError):
        # Fault (B42, G116): a crash tore the line, or a person edited it. Deep brackets
        # of a hostile line raise RecursionError.
        return None
    return payload if isinstance(payload, dict) else None


def _write(fd: int, raw: bytes) -> None:
    """Writes all bytes. The system takes them in one step unless the disk is nearly full."""
    remaining = memoryview(raw)
    while remaining:
        # Fault (B39): a nearly full disk takes fewer bytes than it is given.
        written = os.write(fd, remaining)
        remaining = remaining[written:]
