"""The real editor, writer, journal and audit on the simulated disk. Only the reader of folders is replaced.

The journal is a real database in memory. What was committed survives the death of the process and a loss of power,
as it does on a disk that syncs; what was not is rolled back.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import apsw

from tests.simulated.disk import AUDIT, NOTE, PAGE, Disk
from tests.vault.write.world import EMPTY, TickingJournal
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.audit_recorder import EditorSetup
from vault_memory.edits.commands import ApplyOps, EditCommand, RunOptions
from vault_memory.edits.edit_errors import NotRecorded
from vault_memory.edits.editor import NoteEditor
from vault_memory.errors import NoteNotFound, NoteUnreadable, VaultMemoryError
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, TimedRecord, timed_records
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.listing import Listing, Stat
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.write.journal import JournalUnavailable
from vault_memory.vault.write.preconditions import HOLD, half_saved
from vault_memory.vault.write.write_context import WriteContext
from vault_memory.vault.write.writer import Writer

_QUIET = 0.3
_LAYOUT = Layout()


class SimulatedFolder:
    """Reads notes from the disk, call by call."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self.disk, self.root = disk, str(root)

    def read(self, path: str, *, max_bytes: int = 0) -> Note:
        """As `Folder.read` does."""
        disk = self.disk
        try:
            folder = disk.open_folder("")
            try:
                fd = disk.open(folder, path)
                try:
                    before, raw, after = disk.stat(fd), disk.read(fd), disk.stat(fd)
                finally:
                    disk.close(fd)
            finally:
                disk.close(folder)
        except FileNotFoundError:
            raise NoteNotFound(path) from None
        except OSError as error:
            raise NoteUnreadable(path, str(error)) from None
        stat = Stat(after.size, after.mtime_ns, after.ctime_ns, after.ino, after.nlink)
        return Note(path, raw, revision_of(raw), stat, before == after)

    def listing(self) -> Listing:
        """This world has one note: nothing is known of other names, so none of them is gone or new."""
        listing = Listing()
        listing.unknown[""] = "it cannot be listed"
        return listing

    def listed(self, path: str) -> str:
        """As `Folder.listed` does where only this spelling opens the file."""
        return path


class SimulatedTrail(AuditLog):
    """The audit file on the disk."""

    def __init__(self, folder: SimulatedFolder, state: Path) -> None:
        super().__init__(folder, state)  # type: ignore[arg-type]
        self._disk = folder.disk
        self._known: dict[bytes, list[TimedRecord]] = {}

    def _read(self, path: str) -> list[TimedRecord]:
        raw = self._bytes(path)  # parsed once: most of the time of a run would go into this
        if raw not in self._known:
            records = filter(None, map(read_line, raw.split(b"\n")))
            self._known = {raw: timed_records(records, path)}
        return self._known[raw]

    def all(self, chosen: object = None) -> tuple[Record, ...]:
        return self.of(NOTE)

    def add(self, record: Record) -> None:
        self.unload()
        record = replace(record, device=self.device)
        line = (
            json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        )
        try:
            self._disk.append(AUDIT, line)
        except OSError as error:
            raise NotRecorded(record.note, str(error)) from None

    def _sync(self, path: str) -> None:
        self._disk.sync(path)

    def files(self, note: str) -> list[str]:
        return [AUDIT] if note == NOTE else []

    @contextmanager
    def _stream(self, path: str) -> Iterator[BinaryIO]:
        yield BytesIO(self._bytes(path))

    def _bytes(self, path: str) -> bytes:
        try:
            self._disk._call(f"read {path}")
        except OSError as error:
            raise NoteUnreadable(path, str(error)) from None
        return self._disk.text(path) or b""


class Real:
    """What the product does."""

    def __init__(self, disk: Disk, state: Path) -> None:
        self.disk, self.state = disk, state
        self.connection = apsw.Connection(":memory:")
        self.connection.deserialize("main", EMPTY)
        self._pages: dict[str, None] = {}

    def start(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        tokens = (
            f"{number:016x}" for number in itertools.count(self.disk.calls * 1000 + self.disk._tick)
        )
        folder = SimulatedFolder(self.disk, self.state)
        trail = SimulatedTrail(folder, self.state)
        curator = NoteEditor(
            folder,  # type: ignore[arg-type]
            _LAYOUT,
            self.state,
            EditorSetup(trail=trail, files=self.disk),
        )
        journal = TickingJournal(self.connection, self.disk)
        means = WriteContext(self.disk, journal, Snapshots(journal), lambda: next(tokens))
        curator._open = Writer(means, curator._merge)
        self.curator, self.folder = curator, folder

    @property
    def now(self) -> datetime:
        """By the clock of the disk."""
        return datetime.fromtimestamp(self.disk.clock, UTC)

    def ask(self, run_id: str, ops: tuple[dict[str, object], ...], source: str) -> None:
        run = EditCommand(
            run_id, self.now.isoformat(), NOTE, "user", source, ApplyOps(ops), user_id="main"
        )
        try:
            self.curator.run(run, self.now, RunOptions(patient=False))
        except (VaultMemoryError, JournalUnavailable):
            return

    def tend(self) -> None:
        try:
            self._keep()
            self.curator.tend(self.now)
            if self.disk.text(PAGE) is not None:
                self.curator.inbox.carry_out(PAGE, self.now)
        except (VaultMemoryError, JournalUnavailable):
            return

    def _keep(self) -> None:
        """The version that stands there, once it is settled."""
        try:
            note = self.folder.read(NOTE)
        except NoteNotFound:
            return
        age = self.disk.clock - note.stat.ctime_ns / 1e9
        if not note.stable or age < _QUIET or not self.curator.wants(NOTE, note.revision):
            return
        snapshots = self.curator.writer.snapshots
        head = snapshots.head(NOTE)
        if age < HOLD and half_saved(note.raw, snapshots.bytes_of(head.revision) if head else None):
            return
        self.curator.keep([note], self.now)
        self.curator.inbox.review(NOTE, self.now)

    def waits(self) -> list[str]:
        return [f"{write.note}: {write.reason}" for write in self.curator.waiting()]

    def watched(self) -> int:
        return len(self.curator.writer.displaced())

    def writes(self) -> int:
        return self.connection.total_changes()

    def versions(self) -> set[bytes]:
        snapshots = self.curator.writer.snapshots
        return {snapshots.bytes_of(version.revision) or b"" for version in snapshots.chain(NOTE)}

    def bytes_of(self, revision: str) -> bytes | None:
        """Of a version that is kept."""
        return self.curator.writer.snapshots.bytes_of(revision)

    def records(self) -> tuple[Record, ...] | None:
        return self.curator.trail.of(NOTE)


class NeverSyncs(Real):
    """The product on a system that ignores every request to sync."""

    def __init__(self, disk: Disk, state: Path) -> None:
        super().__init__(disk, state)
        disk.syncs = False
