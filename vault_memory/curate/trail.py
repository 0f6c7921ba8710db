"""The audit files of a vault: NOTE.md.audit.jsonl beside each note, one record a line, also those of other devices.

As soon as a second device is known, each writes files of its own, NOTE.md.audit.DEVICE.jsonl, so that no two share one
that a sync program carries about. A device is known from a record or a file of its, and is remembered in the state.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from vault_memory.curate.errors import NotRecorded, UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.memory import Record, read_line, resolve, union
from vault_memory.vault import Folder, RealFiles, append_record, device_of, is_device, own_log

ENDING = ".audit.jsonl"
LARGEST = 256 << 20
"""In bytes: of one audit file"""
TAIL = 64 << 10
"""Bytes at the end of an audit file in which its last record is looked for"""
OTHERS = "devices"
_NAME = re.compile(r"(?s)(?P<note>.+\.md)\.audit(?:\.(?P<device>[^/]+))?\.jsonl")
LOG = "`vault-memory log` lists the records with their ids"


class Trail:
    """Reads and adds to what was recorded. Lines that are no records are passed over."""

    def __init__(self, folder: Folder, state: Path) -> None:
        self._folder, self._state = folder, state
        self._device = ""
        self._others: frozenset[str] | None = None

    @property
    def device(self) -> str:
        """The name of this one."""
        self._device = self._device or device_of(self._state)
        return self._device

    @property
    def others(self) -> frozenset[str]:
        """The names of the other devices that are known to write to this vault."""
        if self._others is None:
            kept = ""
            with suppress(OSError, ValueError):
                kept = (self._state / OTHERS).read_text(encoding="ascii")
            self._others = frozenset(name for name in kept.split() if is_device(name))
        return self._others

    def meet(self, devices: Iterable[str]) -> None:
        """These write to this vault: remember those that are news."""
        fresh = {name for name in devices if is_device(name)} - self.others - {self.device}
        if fresh:
            self._others = self.others | fresh
            with suppress(OSError):  # they are met again
                (self._state / OTHERS).write_text("\n".join(sorted(self._others)) + "\n", encoding="ascii")

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
        folder_path, _, name = path.rpartition("/")
        files = RealFiles(self._folder.root)
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
            return
        yield from (record for line in reversed(raw.split(b"\n")) if (record := read_line(line)))

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
        named = (found["device"] for path in self._beside(note) if (found := _NAME.fullmatch(path)))
        self.meet([*([last.device] if last else []), *(name for name in named if name)])

    def _union(self, paths: Iterable[str]) -> tuple[Record, ...]:
        return union(*(self._read(path) for path in paths))

    def _beside(self, note: str) -> list[str]:
        """The audit files of a note, by listing its folder alone."""
        folder_path = note.rpartition("/")[0]
        files = RealFiles(self._folder.root)
        try:
            folder = files.open_folder(folder_path)
        except OSError:
            return []
        try:
            paths = (f"{folder_path}/{name}" if folder_path else name for name in os.listdir(folder))
            return sorted(path for path in paths if _note_of(path) == note)
        finally:
            files.close(folder)

    def _read(self, path: str) -> list[Record]:
        note = _note_of(path)
        found = (read_line(line) for line in self._bytes(path).split(b"\n") if line.strip())
        records = [_placed(record, note) for record in found if record is not None]
        self.meet({record.device for record in records})
        return records

    def _bytes(self, path: str) -> bytes:
        try:
            return self._folder.read(path, max_bytes=LARGEST).raw
        except NoteNotFound:
            return b""


def _placed(record: Record, note: str) -> Record:
    """The record, of the note beside which it lies: a note that was moved with its audit keeps it."""
    return record if record.note == note else replace(record, note=note)


def _note_of(path: str) -> str:
    """The note whose audit this is; empty when it is none."""
    found = _NAME.fullmatch(path)
    return found["note"] if found else ""
