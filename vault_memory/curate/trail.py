"""The audit files of a vault: NOTE.md.audit.jsonl beside each note, one record a line, also those of other devices."""

import os
import re
from collections.abc import Iterable
from dataclasses import replace

from vault_memory.curate.errors import NotRecorded, UnclearId
from vault_memory.errors import NoteNotFound
from vault_memory.memory import Record, read_line, resolve, union
from vault_memory.vault import Folder, RealFiles, append_record

ENDING = ".audit.jsonl"
LARGEST = 256 << 20
"""In bytes: of one audit file"""
_NAME = re.compile(r"(?s)(?P<note>.+\.md)\.audit(?:\.[^/]+)?\.jsonl")
LOG = "`vault-memory log` lists the records with their ids"


class Trail:
    """Reads and adds to what was recorded. Lines that are no records are passed over."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def of(self, note: str) -> tuple[Record, ...]:
        """The records of one note, the oldest first."""
        return self._union(self._beside(note))

    def all(self) -> tuple[Record, ...]:
        """The records of all notes, the oldest first."""
        return self._union(path for path in self._folder.listing(suffixes=(".jsonl",)).entries if _note_of(path))

    def find(self, given: str) -> Record:
        """The one record whose id begins so. Raises UnclearId."""
        records = {record.id: record for record in self.all()}
        found = resolve(given, records)
        if not found.id:
            raise UnclearId("record", given, found.candidates, LOG)
        return records[found.id]

    def add(self, record: Record) -> None:
        """Add a record to the file beside its note; on the disk when this returns. Raises NotRecorded."""
        try:
            append_record(self._folder.root, record.note + ENDING, record.as_json())
        except OSError as error:
            raise NotRecorded(record.note, error.strerror or str(error)) from None

    def held(self, record_id: str, note: str) -> Record | None:
        """The record, when the note's files have it already."""
        wanted = f'"id":"{record_id}"'.encode()
        for path in self._beside(note):
            for line in self._bytes(path).split(b"\n"):
                if wanted in line and (record := read_line(line)) is not None and record.id == record_id:
                    return _placed(record, note)
        return None

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
        return [_placed(record, note) for record in found if record is not None]

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
