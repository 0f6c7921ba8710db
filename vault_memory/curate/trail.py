"""The audit files of a vault: NOTE.md.audit.jsonl beside each note, one record a line, also those of other devices.

As soon as a second device is known, each writes files of its own, NOTE.md.audit.DEVICE.jsonl, so that no two share one
that a sync program carries about. A device is known from a record or a file of its, and is remembered in the state.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from vault_memory.curate.audit_folders import AUDIT_NAME, AuditFolders
from vault_memory.curate.devices import Devices
from vault_memory.curate.errors import NotRecorded, UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.memory import Record, read_line, resolve, union
from vault_memory.vault import Folder, append_record, last_lines, own_log, sync_records

ENDING = ".audit.jsonl"
LARGEST = 256 << 20
"""In bytes: of one audit file"""
MOST_KNOWN = 4
"""Of so many audit files the records are remembered: such a file grows, and only what came to it is read"""
LOG = "`vault-memory log` lists the records with their ids"


class Trail(Devices):
    """Reads and adds to what was recorded. Lines that are no records are passed over."""

    def __init__(self, folder: Folder, state: Path) -> None:
        super().__init__(state)
        self._folder = folder
        self._folders = AuditFolders(folder.root)
        self._known: dict[str, tuple[bytes, list[Record]]] = {}
        """of some audit files their whole lines, and the records on these"""

    def of(self, note: str) -> tuple[Record, ...]:
        """The records of one note, the oldest first."""
        return self._union(self._beside(note))

    def all(self) -> tuple[Record, ...]:
        """The records of all notes, the oldest first."""
        return self._union(self._paths())

    def _paths(self) -> list[str]:
        return [path for path in self._folder.listing(suffixes=(".jsonl",)).entries if _note_of(path)]

    def find(self, given: str) -> Record:
        """The one record whose id begins so. Raises UnclearId."""
        records = {record.id: record for record in self.all()}
        found = resolve(given, records)
        if not found.id:
            raise UnclearId("record", given, found.candidates, LOG)
        return records[found.id]

    def add(self, record: Record) -> None:
        """Add a record to the file beside its note; on the disk when this returns. Raises NotRecorded."""
        self.meet_beside(record.note)
        record = replace(record, device=self.device)
        try:
            append_record(self._folder.root, self.file_of(record.note), record.as_json())
        except OSError as error:
            raise NotRecorded(record.note, error.strerror or str(error)) from None

    def make_sure(self, note: str) -> None:
        """What stands in the audit of a note is on the disk when this returns. Raises NotRecorded."""
        try:
            for path in self._beside(note):
                self._sync(path)
        except OSError as error:
            raise NotRecorded(note, error.strerror or str(error)) from None

    def file_of(self, note: str) -> str:
        """Where this device writes the records of a note."""
        return own_log(note + ENDING, self.device) if self.others else note + ENDING

    def last_of(self, path: str) -> Record | None:
        """The last record of one audit file, without reading all of it."""
        return next(iter(self._tail(path)), None)

    def last_own(self, note: str) -> Record | None:
        """The last record of this device that changed the note, as far as it is among the last ones."""
        for path in (own_log(note + ENDING, self.device), note + ENDING):
            for record in self._tail(path):
                if record.device == self.device and record.after and record.after != record.before:
                    return record
        return None

    def bad_lines(self) -> dict[str, int]:
        """How many lines of each note's audit are no records."""
        counts: dict[str, int] = {}
        for path in self._paths():
            lines = [line for line in self._bytes(path).split(b"\n") if line.strip()]
            bad = sum(read_line(line) is None for line in lines)
            counts[_note_of(path)] = counts.get(_note_of(path), 0) + bad
        return counts

    def _tail(self, path: str) -> Iterator[Record]:
        """The last records of one audit file, the last first."""
        lines = last_lines(self._folder.root, path)
        yield from (record for line in lines if (record := read_line(line)))

    def held(self, record_id: str, note: str) -> Record | None:
        """The record, when the note's files have it already."""
        wanted = f'"id":"{record_id}"'.encode()
        for path in self._beside(note):
            for line in self._bytes(path).split(b"\n"):
                if wanted in line and (record := read_line(line)) is not None and record.id == record_id:
                    return _placed(record, note)
        return None

    def meet_beside(self, note: str) -> None:
        """The devices whose files stand beside a note, or who wrote last into the one that all began with."""
        if self.others:
            return
        last = self.last_of(note + ENDING)
        named = (found["device"] for path in self._beside(note) if (found := AUDIT_NAME.fullmatch(path)))
        self.meet([*([last.device] if last else []), *(name for name in named if name)])

    def _union(self, paths: Iterable[str]) -> tuple[Record, ...]:
        return union(*(self._read(path) for path in paths))

    def _beside(self, note: str) -> list[str]:
        """The audit files of a note, by looking into its folder alone."""
        audit = note.rpartition("/")[2] + ENDING
        return self._folders.beside(note, (audit, *(own_log(audit, name) for name in {self.device, *self.others})))

    def _read(self, path: str) -> list[Record]:
        raw = self._bytes(path)
        known, records = self._known.pop(path, (b"", []))
        if not raw.startswith(known):
            known, records = b"", []
        whole = raw.rfind(b"\n") + 1
        records = records + _records(path, raw[len(known) : whole])
        self._known[path] = raw[:whole], records
        if len(self._known) > MOST_KNOWN:
            self._known.pop(next(iter(self._known)), None)
        records = records + _records(path, raw[whole:])
        self.meet({record.device for record in records})
        return records

    def _sync(self, path: str) -> None:
        sync_records(self._folder.root, path)

    def _bytes(self, path: str) -> bytes:
        try:
            return self._folder.read(path, max_bytes=LARGEST).raw
        except NoteNotFound:
            return b""


def _records(path: str, lines: bytes) -> list[Record]:
    note = _note_of(path)
    found = (read_line(line) for line in lines.split(b"\n") if line.strip())
    return [_placed(record, note) for record in found if record is not None]


def _placed(record: Record, note: str) -> Record:
    """The record, of the note beside which it lies: a note that was moved with its audit keeps it."""
    return record if record.note == note else replace(record, note=note)


def _note_of(path: str) -> str:
    """The note whose audit this is; empty when it is none."""
    found = AUDIT_NAME.fullmatch(path)
    return found["note"] if found else ""
