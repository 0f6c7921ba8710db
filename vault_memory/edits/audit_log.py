"""The audit files of a vault: NOTE.md.audit.jsonl beside each note, one record a line, also those of other devices.

As soon as a second device is known, each writes files of its own, NOTE.md.audit.DEVICE.jsonl, so that no two share one
that a sync program carries about. A device is known from a record or a file of its, and is remembered in the state.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from vault_memory.edits.edit_errors import NotRecorded, UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, union
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.audit_folders import AUDIT_NAME, AuditFolders
from vault_memory.vault.device_id import own_log
from vault_memory.vault.devices import Devices
from vault_memory.vault.jsonl_log import (
    append_checked,
    last_lines,
    lines_from_end,
    sync_records,
)
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

ENDING = ".audit.jsonl"
MOST_KNOWN = 4
"""Of so many audit files the records are remembered: such a file grows, and only what came to it is read"""
LARGEST_KNOWN = 32 << 20
"""In bytes: the records of a larger audit file are not remembered, since they would stay in memory"""
BLOCK = 1 << 20
"""Bytes of an audit file that are compared together"""
LOG = "`vault-memory log` lists the records with their ids"


class ReadLog(NamedTuple):
    """The whole lines of an audit file as they were when it was read last."""

    length: int
    """in bytes"""
    digest: "Hash"
    """SHA-256 of these bytes, to be continued"""
    records: list[Record]


class AuditLog(Devices):
    """Reads and adds to what was recorded. Lines that are no records are passed over."""

    def __init__(self, folder: Folder, state: Path) -> None:
        super().__init__(state)
        self._folder = folder
        self._folders = AuditFolders(folder.root)
        self._read_logs: dict[str, ReadLog] = {}
        self._loaded: dict[str, tuple[Record, ...]] = {}
        """Records of the notes that were loaded for the command under way"""

    def of(self, note: str) -> tuple[Record, ...]:
        """The records of one note, the oldest first."""
        return self._union(self._beside(note))

    def load(self, note: str) -> tuple[Record, ...]:
        """The records of one note for a command: read once, until `unload`, or until a record is added."""
        records = self._loaded.get(note)
        if records is None:
            paths = self._beside(note)
            # A device is known by its file, even before that has a record.
            self._meet_files(paths)
            self._loaded[note] = records = self._union(paths)
        return records

    def unload(self) -> None:
        """Forgets loaded records: other devices may have brought new ones since."""
        self._loaded.clear()

    def all(self) -> tuple[Record, ...]:
        """The records of all notes, the oldest first."""
        return self._union(self._paths())

    def latest(self, note: str, limit: int) -> tuple[Record, ...]:
        """The last records of one note, the oldest of them first; of one device's file only its end is read."""
        paths = self._beside(note)
        if self.others or len(paths) != 1:
            return self.of(note)[-limit:]
        with self._stream(paths[0]) as stream:
            records = (read_line(line) for line in lines_from_end(stream))
            newest = list(islice(filter(None, records), limit))
        return tuple(_placed(record, note) for record in reversed(newest))

    def _paths(self) -> list[str]:
        return [
            path
            for path in self._folder.listing(suffixes=(".jsonl",)).entries
            if _note_of(path)
        ]

    def find(self, given: str) -> Record:
        """The one record whose id begins so. Raises UnclearId."""
        records = {record.id: record for record in self.all()}
        found = resolve(given, records)
        if not found.id:
            raise UnclearId("record", given, found.candidates, LOG)
        return records[found.id]

    def add(self, record: Record) -> None:
        """Add a record to the file beside its note; on the disk when this returns. Raises NotRecorded."""
        self.discover_devices(record.note)
        self._loaded.pop(record.note, None)
        record = replace(record, device=self.device)
        path = record.note + ENDING
        if self.others:
            path = own_log(path, self.device)
        try:
            append_checked(self._folder.root, inside(path), record.as_json())
        except OSError as error:
            raise NotRecorded(record.note, error.strerror or str(error)) from None

    def fsync_log(self, note: str) -> None:
        """What stands in the audit of a note is on the disk when this returns. Raises NotRecorded."""
        try:
            for path in self._beside(note):
                self._sync(path)
        except OSError as error:
            raise NotRecorded(note, error.strerror or str(error)) from None

    def last_of(self, path: str) -> Record | None:
        """The last record of one audit file, without reading all of it."""
        return next(iter(self._tail(path)), None)

    def last_own(self, note: str) -> Record | None:
        """The last record of this device that changed the note, as far as it is among the last ones."""
        device = self.device
        for record in self._newest(note, device):
            has_changed = record.after and record.after != record.before
            if record.device == device and has_changed:
                return record
        return None

    def _newest(self, note: str, device: str) -> Iterator[Record]:
        """The last records of a note, the last first, of this device's own file before others."""
        if note in self._loaded:
            yield from reversed(self._loaded[note])
            return
        yield from self._tail(own_log(note + ENDING, device))
        yield from self._tail(note + ENDING)

    def bad_lines(self) -> dict[str, int]:
        """How many lines of each note's audit are no records."""
        counts: dict[str, int] = {}
        for path in self._paths():
            with self._stream(path) as stream:
                bad = sum(read_line(line) is None for line in stream if line.strip())
            counts[_note_of(path)] = counts.get(_note_of(path), 0) + bad
        return counts

    def _tail(self, path: str) -> Iterator[Record]:
        """The last records of one audit file, the last first."""
        lines = last_lines(self._folder.root, path)
        yield from (record for line in lines if (record := read_line(line)))

    def held(self, record_id: str, note: str) -> Record | None:
        """The record, when the note's files have it already."""
        if note in self._loaded:
            loaded = self._loaded[note]
            return next((record for record in loaded if record.id == record_id), None)
        wanted = f'"id":"{record_id}"'.encode()
        for path in self._beside(note):
            with self._stream(path) as stream:
                for line in lines_from_end(stream):
                    if (
                        wanted in line
                        and (record := read_line(line)) is not None
                        and record.id == record_id
                    ):
                        return _placed(record, note)
        return None

    def discover_devices(self, note: str) -> None:
        """The devices whose files stand beside a note, or who wrote last into the one that all began with."""
        # Loading the records of a note met their devices.
        if note in self._loaded or self.others:
            return
        last = self.last_of(note + ENDING)
        if last is not None:
            self.meet([last.device])
        self._meet_files(self._beside(note))

    def _meet_files(self, paths: Iterable[str]) -> None:
        """Remembers the devices that audit files are named after."""
        names = (AUDIT_NAME.fullmatch(path) for path in paths)
        devices = [name["device"] for name in names if name and name["device"]]
        if devices:
            self.meet(devices)

    def _union(self, paths: Iterable[str]) -> tuple[Record, ...]:
        files = [self._read(path) for path in paths]
        devices = {record.device for records in files for record in records}
        if not devices <= {"", self.device, *self.others}:
            self.meet(devices)
        return union(*files)

    def _beside(self, note: str) -> list[str]:
        """The audit files of a note, by looking into its folder alone."""
        audit = note.rpartition("/")[2] + ENDING
        return self._folders.beside(note, self.log_names(audit))

    def _read(self, path: str) -> list[Record]:
        with self._stream(path) as stream:
            previous = self._read_logs.pop(path, None)
            if previous is None or not _begins_with(stream, previous):
                stream.seek(0)
                previous = ReadLog(0, sha256(), [])
            log, torn = _read_on(stream, _note_of(path), previous)
        if log.length <= LARGEST_KNOWN:
            self._read_logs[path] = log
        if len(self._read_logs) > MOST_KNOWN:
            self._read_logs.pop(next(iter(self._read_logs)), None)
        return log.records + torn

    def _sync(self, path: str) -> None:
        sync_records(self._folder.root, path)

    @contextmanager
    def _stream(self, path: str) -> Iterator[BinaryIO]:
        """An audit file, opened to be read; an empty one where there is none."""
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(self._folder.stream(path))
            except NoteNotFound:
                stream = BytesIO()
            yield stream


def _begins_with(stream: BinaryIO, log: ReadLog) -> bool:
    """Whether a file begins with what was read of it before; if so, it is to be read on from there."""
    digest = sha256()
    left = log.length
    while left:
        block = stream.read(min(left, BLOCK))
        if not block:
            return False
        digest.update(block)
        left -= len(block)
    return digest.digest() == log.digest.digest()


def _read_on(stream: BinaryIO, note: str, log: ReadLog) -> tuple[ReadLog, list[Record]]:
    """What was read of a log with the lines that follow, and what a last line without its newline records."""
    length, digest, records = log.length, log.digest.copy(), list(log.records)
    torn: list[Record] = []
    for line in stream:
        record = read_line(line)
        if not line.endswith(b"\n"):
            torn = [_placed(record, note)] if record is not None else []
            break
        length += len(line)
        digest.update(line)
        if record is not None:
            records.append(record if record.note == note else _placed(record, note))
    return ReadLog(length, digest, records), torn


def _placed(record: Record, note: str) -> Record:
    """The record, of the note beside which it lies: a note that was moved with its audit keeps it."""
    return record if record.note == note else replace(record, note=note)


def _note_of(path: str) -> str:
    """The note whose audit this is; empty when it is none."""
    found = AUDIT_NAME.fullmatch(path)
    return found["note"] if found else ""
