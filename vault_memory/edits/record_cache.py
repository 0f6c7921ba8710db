"""Caches the records of audit files, so that only the lines that were added are parsed.

A stamp distinguishes two states of a file without reading it. A file whose stamp is unchanged is
not read. A file that grew is read on from its old end, if it still begins with the same bytes. Any
other file is read from its beginning.
"""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from vault_memory.errors import NoteNotFound
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import (
    Record,
    TimedRecord,
    in_order,
    timed_records,
    unite,
)
from vault_memory.vault.audit_folders import AUDIT_NAME
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

Stamp = tuple[int, ...]
"""Device, inode, size and times of a file or folder; empty when they prove nothing"""

RACY_NS = 2_000_000_000
"""Resolution of the coarsest file times: a change within it may leave the times as they are"""
MOST_BYTES = 32 << 20
"""Of audit files whose records are cached, together; the records take about twice as much memory"""
BLOCK = 1 << 20
"""How many bytes of an audit file are hashed at a time"""


@dataclass(frozen=True, slots=True, eq=False)
class CachedLog:
    """The records of an audit file, as they were when it was last read."""

    stamp: Stamp
    """of the file; empty when it must be read again"""
    length: int
    """in bytes, of the complete lines"""
    digest: "Hash"
    """SHA-256 of these bytes; new lines are added to it"""
    records: list[TimedRecord]
    """of the complete lines"""
    torn: list[TimedRecord]
    """the record of a last line without its newline"""


NO_LOG = CachedLog((), 0, sha256(), [], [])
"""An absent or empty file"""


class AllRecords(NamedTuple):
    """The records of all audit files of a vault."""

    logs: dict[str, CachedLog]
    ordered: list[TimedRecord]
    """of all logs, by time"""
    united: tuple[Record, ...]
    """each record once"""
    devices: frozenset[str]


class RecordCache:
    """The records of one vault. A vault and its forks share it; any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[str, CachedLog] = {}
        """the most recently read one is the last"""
        self._size = 0
        """bytes of the cached logs"""
        self._all: AllRecords | None = None

    def log(self, folder: Folder, path: str) -> list[TimedRecord]:
        """Returns the records of one audit file; of an absent file none. Raises NoteUnreadable."""
        with self._lock:
            log = self._read(folder, path)
            self._trim()
        return log.records + log.torn

    def all(self, folder: Folder, stamps: Mapping[str, Stamp]) -> AllRecords:
        """Returns the records of all audit files; these are their stamps. Raises NoteUnreadable."""
        with self._lock:
            logs = {
                path: self._unchanged(path, stamp) or self._read(folder, path)
                for path, stamp in stamps.items()
            }
            # Fault: a person deletes or renames notes with their audits. What is cached
            # of them would never be freed.
            for path in self._logs.keys() - logs.keys():
                self._drop(path)
            every = self._all = _merge(logs, self._all)
            self._trim()
        return every

    def _unchanged(self, path: str, stamp: Stamp) -> CachedLog | None:
        log = self._logs.get(path)
        return log if log is not None and log.stamp == stamp else None

    def _read(self, folder: Folder, path: str) -> CachedLog:
        previous = self._logs.get(path)
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(folder.stream(path))
            except NoteNotFound:
                self._drop(path)
                return NO_LOG
            status = os.fstat(stream.fileno())
            if previous is not None and previous.stamp == stamp_of(status):
                log = previous
            else:
                # Fault (G116): a person edits or deletes the log, and a sync program
                # replaces it. Cached records may not be in the file any more.
                if previous is None or not _begins_with(stream, previous):
                    stream.seek(0)
                    previous = NO_LOG
                log = _read_on(stream, path, previous, settled_stamp(status))
        self._drop(path)
        self._logs[path] = log
        self._size += log.length
        return log

    def _drop(self, path: str) -> None:
        log = self._logs.pop(path, None)
        if log is not None:
            self._size -= log.length

    def _trim(self) -> None:
        """Drops the logs that were read first, as far as they are too many bytes."""
        # Fault: the audit of many years would fill the memory of a daemon.
        while self._size > MOST_BYTES:
            self._drop(next(iter(self._logs)))
            self._all = None


def stamp_of(status: os.stat_result) -> Stamp:
    """Returns the stamp of a file or folder."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def settled_stamp(status: os.stat_result) -> Stamp:
    """Returns the stamp of a file that is about to be read; empty when it has changed just now."""
    # Fault (C60): the file may change again within the same tick of its times.
    if abs(time.time_ns() - status.st_ctime_ns) < RACY_NS:
        return ()
    return stamp_of(status)


def _begins_with(stream: BinaryIO, log: CachedLog) -> bool:
    """Whether a file still begins with the cached lines. The stream is then at their end."""
    digest = sha256()
    remaining = log.length
    while remaining:
        block = stream.read(min(remaining, BLOCK))
        if not block:
            return False
        digest.update(block)
        remaining -= len(block)
    return digest.digest() == log.digest.digest()


def _read_on(stream: BinaryIO, path: str, log: CachedLog, stamp: Stamp) -> CachedLog:
    """Returns the log with its new lines."""
    length = log.length
    digest = log.digest.copy()
    note = note_of(path)
    records: list[Record] = []
    torn: list[Record] = []
    for line in stream:
        record = read_line(line)
        new_records = [] if record is None else [placed(record, note)]
        # Fault (B42): another process may be writing this line. Cached as complete, its
        # end would never be read.
        if not line.endswith(b"\n"):
            torn = new_records
            break
        length += len(line)
        digest.update(line)
        records += new_records
    timed = log.records
    if records:
        timed = timed + timed_records(records, path, timed)
    torn_timed = timed_records(torn, path, timed) if torn else []
    return CachedLog(stamp, length, digest, timed, torn_timed)


def placed(record: Record, note: str) -> Record:
    """Returns the record under the name of the note beside which its file is.

    A person may have moved the note together with its audit file.
    """
    if record.note == note:
        return record
    proposed = tuple(replace(proposal, note=note) for proposal in record.proposed)
    return replace(record, note=note, proposed=proposed)


def note_of(path: str) -> str:
    """Returns the note to which an audit file belongs; empty for any other file."""
    match = AUDIT_NAME.fullmatch(path)
    return match["note"] if match else ""


def _merge(logs: dict[str, CachedLog], previous: AllRecords | None) -> AllRecords:
    """Returns the records of these logs; what an earlier answer has of them is not sorted again."""
    earlier = previous.logs if previous else {}
    changed = {path for path, log in logs.items() if not _is_same(log, earlier.get(path))}
    if previous and not changed and earlier.keys() <= logs.keys():
        return previous._replace(logs=logs)
    stale = changed | (earlier.keys() - logs.keys())
    unchanged = [] if previous is None else previous.ordered
    records = [record for record in unchanged if record.position.file not in stale]
    for path in changed:
        records += logs[path].records + logs[path].torn
    ordered = in_order(records)
    united = unite(ordered)
    devices = frozenset(record.record.device for record in ordered)
    return AllRecords(logs, ordered, united, devices)


def _is_same(log: CachedLog, earlier: CachedLog | None) -> bool:
    if log is earlier:
        return True
    if earlier is None or log.records is not earlier.records:
        return False
    return log.torn == earlier.torn
