"""The audit files of a vault: NOTE.md.audit.jsonl beside each note, with one record a line.

Once a second device is known, each device writes its own files, NOTE.md.audit.DEVICE.jsonl. A sync
program would make a conflict copy of a file that two devices write. A device is known from its file
or from a record, and the state folder remembers it.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from vault_memory.edits.audit import audit_files
from vault_memory.edits.edit_errors import NotRecorded, UnclearId
from vault_memory.edits.record_cache import RecordCache, note_of, placed
from vault_memory.errors import NoteNotFound
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, TimedRecord, in_order, unite
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.audit_folders import AUDIT_NAME, AuditFolders
from vault_memory.vault.devices import Devices, own_log
from vault_memory.vault.jsonl_log import append_checked, last_lines, lines_from_end, sync_records
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from vault_memory.edits.audit.audit_files import AuditFiles
    from vault_memory.edits.audit.scope_filter import ScopeFilter

Match = TypeVar("Match")
ENDING = ".audit.jsonl"
LOG = "`vault-memory log` lists the records with their ids"


class AuditLog(Devices):
    """The records of all notes. Lines that are no records are skipped."""

    def __init__(self, folder: Folder, state: Path, cache: RecordCache | None = None) -> None:
        """`cache` may be shared with other audit logs of the same vault."""
        super().__init__(state)
        self._folder = folder
        self._folders = AuditFolders(folder.root)
        self._cache = cache or RecordCache()
        self._of_scopes: tuple[list[TimedRecord], frozenset[str], tuple[Record, ...]] | None = None
        """The last answer about some scopes: the records of all scopes, the scopes, their records"""
        self._loaded: dict[str, tuple[Record, ...]] = {}
        """Records that were loaded for the current command, by note"""

    def of(self, note: str) -> tuple[Record, ...]:
        """Returns the records of one note, the oldest first."""
        return self._union(self.files(note))

    def load(self, note: str) -> tuple[Record, ...]:
        """Returns the records of one note, which are cached until `unload` or until one is added."""
        records = self._loaded.get(note)
        if records is None:
            paths = self.files(note)
            # Fault (G113): the file of a new device may have no record yet. Both
            # devices would write into the shared file.
            self._meet_files(paths)
            self._loaded[note] = records = self._union(paths)
        return records

    def unload(self) -> None:
        """Drops the loaded records, because other devices may have added some."""
        self._loaded.clear()

    def all(self, chosen: "ScopeFilter | None" = None) -> tuple[Record, ...]:
        """Returns the records of all notes, the oldest first; only those of some scopes."""
        stamps = self._all_files.stamps(self._folder)
        every = self._cache.all(self._folder, stamps)
        self._meet_devices(every.devices)
        if chosen is None:
            return every.united
        previous = self._of_scopes
        if not previous or previous[0] is not every.ordered or previous[1] != chosen.scopes:
            # Fault: a person copied a note with its audit to another person. A record of
            # both must not be missing where it belongs.
            own = (timed for timed in every.ordered if chosen.has_record(timed.record))
            self._of_scopes = previous = (every.ordered, chosen.scopes, unite(own))
        return previous[2]

    def latest(self, note: str, limit: int) -> tuple[Record, ...]:
        """Returns the last records of one note, the oldest of them first.

        With one device, only the end of its file is read.
        """
        paths = self.files(note)
        if self.others or len(paths) != 1:
            return self.of(note)[-limit:]
        with self._stream(paths[0]) as stream:
            records = (read_line(line) for line in lines_from_end(stream))
            newest = list(islice(filter(None, records), limit))
        return tuple(placed(record, note) for record in reversed(newest))

    def without_note(self) -> list[str]:
        """Returns the notes that have audit files and are gone; none until any names change again."""
        return self._all_files.without_note(self._folder)

    def forget_files(self) -> None:
        """Forgets which audit files there are, because some were moved."""
        self._folders = AuditFolders(self._folder.root)
        self.unload()

    @cached_property
    def _all_files(self) -> "AuditFiles":
        return audit_files.AuditFiles()

    def notes(self) -> list[str]:
        """Returns the notes that have an audit file."""
        return sorted({note_of(path) for path in self._paths()})

    def _paths(self) -> list[str]:
        return [
            path for path in self._folder.listing(suffixes=(".jsonl",)).entries if note_of(path)
        ]

    def find(self, prefix: str, chosen: "ScopeFilter | None" = None) -> Record:
        """Returns the only record whose id begins so, or into which it was folded. Raises UnclearId."""
        return find_record(self.all(chosen), prefix)

    def add(self, record: Record) -> None:
        """Adds a record to the file beside its note, and waits for the disk. Raises NotRecorded."""
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
        """Waits until the records of a note are on the disk. Raises NotRecorded."""
        try:
            for path in self.files(note):
                self._sync(path)
        except OSError as error:
            raise NotRecorded(note, error.strerror or str(error)) from None

    def last_of(self, path: str) -> Record | None:
        """Returns the last record of one audit file, without reading all of it."""
        return next(iter(self._tail(path)), None)

    def last_own(self, note: str) -> Record | None:
        """Returns the last record with which this device changed the note, if it is a recent one."""
        device = self.device
        for record in self._newest(note, device):
            has_changed = record.after and record.after != record.before
            if record.device == device and has_changed:
                return record
        return None

    def _newest(self, note: str, device: str) -> Iterator[Record]:
        """Yields the recent records of a note, the newest first; this device's own file comes first."""
        if note in self._loaded:
            yield from reversed(self._loaded[note])
            return
        yield from self._tail(own_log(note + ENDING, device))
        yield from self._tail(note + ENDING)

    def bad_lines(self) -> dict[str, int]:
        """Returns how many lines of each note's audit are no records."""
        counts: dict[str, int] = {}
        for path in self._paths():
            with self._stream(path) as stream:
                bad = sum(read_line(line) is None for line in stream if line.strip())
            counts[note_of(path)] = counts.get(note_of(path), 0) + bad
        return counts

    def _tail(self, path: str) -> Iterator[Record]:
        """Yields the recent records of one audit file, the newest first."""
        for line in last_lines(self._folder.root, path):
            record = read_line(line)
            if record is not None:
                yield record

    def held(self, record_id: str, note: str) -> Record | None:
        """Returns a record that the files of the note already have, or None.

        For a record of which nothing is left, that is the one into which it was folded.
        """
        if note in self._loaded:
            loaded = self._loaded[note]
            matches = (record for record in loaded if _has_id(record, record_id))
            return next(matches, None)
        for path in self.files(note):
            with self._stream(path) as stream:
                record = _find_record(stream, record_id)
            if record is not None:
                return placed(record, note)
        return None

    def discover_devices(self, note: str) -> None:
        """Remembers the devices that have a file beside a note, or wrote last into the shared file."""
        # Loading the records of a note has remembered their devices already.
        if note in self._loaded or self.others:
            return
        last = self.last_of(note + ENDING)
        if last is not None:
            self.meet([last.device])
        self._meet_files(self.files(note))

    def _meet_files(self, paths: Iterable[str]) -> None:
        """Remembers the devices that audit files are named after."""
        names = (AUDIT_NAME.fullmatch(path) for path in paths)
        devices = [name["device"] for name in names if name and name["device"]]
        if devices:
            self.meet(devices)

    def _union(self, paths: Iterable[str]) -> tuple[Record, ...]:
        records = [record for path in paths for record in self._read(path)]
        self._meet_devices({timed.record.device for timed in records})
        return unite(in_order(records))

    def _meet_devices(self, devices: Set[str]) -> None:
        if not devices <= {"", self.device, *self.others}:
            self.meet(devices)

    def files(self, note: str) -> list[str]:
        """Returns the audit files of a note; reads no folder but its own."""
        audit = note.rpartition("/")[2] + ENDING
        return self._folders.beside(note, self.log_names(audit))

    def _read(self, path: str) -> list[TimedRecord]:
        return self._cache.log(self._folder, path)

    def _sync(self, path: str) -> None:
        sync_records(self._folder.root, path)

    @contextmanager
    def _stream(self, path: str) -> Iterator[BinaryIO]:
        """Opens an audit file for reading; an absent file is empty."""
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(self._folder.stream(path))
            except NoteNotFound:
                stream = BytesIO()
            yield stream


def only_match(kind: str, start: str, by_id: Mapping[str, Match], hint: str) -> Match:
    """Returns the only thing of this kind whose id begins so. Raises UnclearId."""
    match = resolve(start, by_id)
    if not match.id:
        raise UnclearId(kind, start, match.candidates, hint)
    return by_id[match.id]


def find_record(records: Iterable[Record], prefix: str) -> Record:
    """Returns the only record whose id begins so, or into which it was folded. Raises UnclearId."""
    by_id = {record_id: record for record in records for record_id in (*record.folded, record.id)}
    return only_match("record", prefix, by_id, LOG)


def records_before(records: tuple[Record, ...], prefix: str) -> tuple[Record, ...]:
    """Returns the records before the only one whose id begins so. Raises UnclearId."""
    match = find_record(records, prefix)
    position = next(index for index, record in enumerate(records) if record is match)
    return records[:position]


def _find_record(stream: BinaryIO, record_id: str) -> Record | None:
    # Most lines have another id, and need not be parsed.
    marker = f'"{record_id}"'.encode()
    for line in lines_from_end(stream):
        record = read_line(line) if marker in line else None
        if record is not None and _has_id(record, record_id):
            return record
    return None


def _has_id(record: Record, record_id: str) -> bool:
    return record_id == record.id or record_id in record.folded
