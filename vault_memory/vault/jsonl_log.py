"""Logs that only grow: one JSON record a line. What is torn is repaired by adding, never by taking away.

A record is one write at the end of the file, synced before the call returns, and nobody else appends meanwhile. A
reader goes on after whatever it cannot read, and says how much that was.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.fs import RealFiles

if TYPE_CHECKING:
    from vault_memory.vault.write import attempt
else:
    attempt = lazy_module("vault_memory.vault.write.attempt")

Record = Mapping[str, object]

TAIL = 64 << 10
"""Bytes at the end of a log in which its last records are looked for"""


class Records(NamedTuple):
    """What stands in a log."""

    records: tuple[dict[str, object], ...]
    bad: int
    """Lines that are no records: torn by a crash, zeroed by a power loss, or edited by hand."""


class Appended(NamedTuple):
    """What was added to a log."""

    offset: int
    """where it begins; so many bytes stood there before"""
    raw: bytes
    """all of it, with the newline that ended a torn line before it"""


def append_record(root: str | os.PathLike[str], path: str, record: Record) -> Appended:
    """Add one record to the log, which is made when it is not there; it is on the disk when this returns."""
    return append_records(root, path, (record,))


def append_records(
    root: str | os.PathLike[str], path: str, records: Iterable[Record]
) -> Appended:
    """Add records to the log, with one write and one sync for all of them."""
    inside(path)
    lines = b"".join(map(_line, records))
    files = RealFiles(root)
    folder_path, _, name = path.rpartition("/")
    folder = _folder(files, folder_path)
    try:
        flags = (
            os.O_RDWR
            | os.O_APPEND
            | os.O_CREAT
            | os.O_NOFOLLOW
            | os.O_NONBLOCK
            | os.O_CLOEXEC
        )
        fd = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            raw = b"\n" + lines if torn else lines
            _write(fd, raw)
            os.fdatasync(fd)
        finally:
            os.close(fd)
        if size == 0:
            os.fsync(folder)
    finally:
        os.close(folder)
    return Appended(size, raw)


def sync_records(root: str | os.PathLike[str], path: str) -> None:
    """All that stands in a log is on the disk when this returns: who appended it may have died before that."""
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


def _folder(files: RealFiles, path: str) -> int:
    try:
        return files.open_folder(path)
    except FileNotFoundError:
        return attempt.make_folders(files, path)


def read_records(raw: bytes) -> Records:
    """The records of a log, in their order."""
    records, bad = [], 0
    for line in raw.split(b"\n"):
        record = _record(line)
        if record is not None:
            records.append(record)
        elif line.strip():
            bad += 1
    return Records(tuple(records), bad)


def last_lines(root: str | os.PathLike[str], path: str) -> list[bytes]:
    """The last lines of a log, the last first, without reading all of it; the first of them may be cut."""
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
    """The lines of a log without their newlines, the last first; no more of it is read than is asked for."""
    position = stream.seek(0, os.SEEK_END)
    pieces: list[
        bytes
    ] = []  # of the line that is not read whole yet, its last piece first
    while position:
        size = min(TAIL, position)
        position -= size
        stream.seek(position)
        first, *lines = stream.read(size).split(b"\n")
        if lines:
            yield lines.pop() + b"".join(reversed(pieces))
            yield from reversed(lines)
            pieces = []
        pieces.append(first)
    yield b"".join(reversed(pieces))


def merge_records(logs: Iterable[bytes]) -> bytes:
    """All records of several copies of a log, each once by its id, in the order of time; lines stay as they are."""
    lines: dict[object, tuple[str, int, bytes]] = {}
    for raw in logs:
        for line in raw.split(b"\n"):
            record = _record(line)
            if record is None and not line.strip(b"\0 \t\r"):
                continue
            key = record.get("id") if record else None
            when = str(record.get("ts", "")) if record else ""
            lines.setdefault(
                key if isinstance(key, str) else line, (when, len(lines), line)
            )
    return b"".join(
        line + b"\n" for _, _, line in sorted(lines.values(), key=lambda one: one[:2])
    )


def _line(record: Record) -> bytes:
    try:
        return (
            json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
            + b"\n"
        )
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _record(line: bytes) -> dict[str, object] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _write(fd: int, raw: bytes) -> None:
    """In one piece, as the system does it unless the disk is full."""
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(fd, rest) :]
