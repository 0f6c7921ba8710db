"""The whole vault, or a part of it, brought into the index: list, plan, read, write.

What has stood still for a moment is settled. What was saved just now, and what is absent or empty, is named in
the report: a daemon hands it to its settling table, a one-shot command looks again after a moment (`look_again`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest.crash_guard import EndedTwice, forget_crumb, reading
from vault_memory.ingest.ingest_plan import plan_ingest, stamp
from vault_memory.ingest.note import (
    entry_of,
    forget_note,
    held_of,
    ingest_entries,
    ingest_note,
    largest,
)
from vault_memory.logs import Logger
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.listing import Listing, Stat
from vault_memory.vault.reader import Folder, Note, NoteTooLarge

logger = Logger(__name__)

YOUNG_NS = 3_000_000_000
"""A file changed less than this before it was read may still be being written"""
BATCH = 500
"""Notes in one transaction of a bulk load"""
BATCH_NS = 500_000_000
"""After which such a transaction is written with fewer notes"""

NOTHING = Delta()

Progress = Callable[[int, int], None]
Clock = Callable[[], int]


class ScanReport(NamedTuple):
    """What a scan did, and what it would not conclude yet."""

    changed: tuple[str, ...] = ()
    """paths whose text is new to the index"""
    removed: tuple[str, ...] = ()
    delta: Delta = NOTHING
    young: tuple[str, ...] = ()
    """searchable, and changed so lately that nothing more is concluded"""
    doubtful: tuple[str, ...] = ()
    """absent or empty now: the old text is held"""
    unread: tuple[str, ...] = ()
    """files that are there and that search does not read: INBOX pages, audit files"""
    copies: tuple[str, ...] = ()
    """conflict copies that are there"""
    left: tuple[str, ...] = ()
    """paths that the caller takes in by itself"""


class _Later:
    """Paths on which something stays open after a scan; see `ScanReport`."""

    def __init__(self) -> None:
        self.young: list[str] = []
        self.doubtful: list[str] = []
        self.left: list[str] = []


class Ingest:
    """What it takes to bring one index up to date with one vault. `clock` gives wall time in ns."""

    __slots__ = ("clock", "folder", "index", "layout", "leave")

    def __init__(
        self,
        folder: Folder,
        index: Index,
        layout: Layout,
        clock: Clock,
        leave: Callable[[Note], bool] = lambda note: False,
    ) -> None:
        self.folder = folder
        self.index = index
        self.layout = layout
        self.clock = clock
        self.leave = leave
        """says which notes a scan does not take in, because the caller does so by itself"""

    def scan(
        self, *, within: Sequence[str] = ("",), progress: Progress | None = None
    ) -> ScanReport:
        """Bring the index up to date with what lies under `within` (paths; "" is the vault)."""
        held = self.index.files_within(within)
        parked = {path: mark for path, (_, mark) in self.index.parked().items()}
        if "" not in within:
            parked = {
                path: mark for path, mark in parked.items() if _is_within(path, within)
            }
        listing = self._list(within)
        plan = plan_ingest(held, listing, wanted=self.wants, parked=parked)
        report = self._read_all(plan.changed, held, progress)
        for path in (*plan.removed, *plan.unseen):
            self.index.set_state(path, State.MISSING)
        for path in parked:
            if path not in listing.entries and listing.covers(path):
                self.index.unpark(path)
        doubtful = (*report.doubtful, *plan.removed)
        unread = tuple(
            path
            for path in listing.entries
            if path not in held and not self.wants(path)
        )
        copies = tuple(listing.copies)
        return report._replace(doubtful=doubtful, unread=unread, copies=copies)

    def newer_notes(self) -> tuple[str, ...]:
        """The notes that are not as the index has them. Writes nothing."""
        held = self.index.files()
        parked = {path: mark for path, (_, mark) in self.index.parked().items()}
        plan = plan_ingest(held, self._list(("",)), wanted=self.wants, parked=parked)
        return tuple(
            sorted(
                {
                    *plan.removed,
                    *(path for path in plan.changed if self._is_newer(path, held)),
                }
            )
        )

    def _is_newer(self, path: str, held: Mapping[str, IndexedFile]) -> bool:
        try:
            note = self.folder.read(path, max_bytes=largest(self.layout.place(path)))
        except (NoteNotFound, NoteUnreadable):
            return True
        return path not in held or note.revision != held[path].revision

    def look_again(self, report: ScanReport, *, conclude_young: bool) -> ScanReport:
        """A moment later: what is still absent or empty is believed, and what stood still is settled."""
        delta = report.delta
        removed: list[str] = []
        for path in (*report.doubtful, *(report.young if conclude_young else ())):
            try:
                note = self.read(path)
            except NoteUnreadable:
                continue
            if note is None:
                if self._absent(path):
                    delta += forget_note(self.index, path)
                    removed.append(path)
                continue
            delta += self.ingest(note, State.SETTLED) or Delta()
        return report._replace(
            removed=tuple(removed), delta=delta, young=(), doubtful=()
        )

    def wants(self, path: str) -> bool:
        """Whether `path` is memory that search reads."""
        place = self.layout.place(path)
        return place is not None and place.indexed

    def read(self, path: str) -> Note | None:
        """The note as it is now, None when it is absent.

        Raises NoteUnreadable, and the index remembers it: a note that is too large is parked, without its text; of
        any other the text is held, since unknown is not absent.
        """
        try:
            return self.folder.read(path, max_bytes=largest(self.layout.place(path)))
        except NoteNotFound:
            return None
        except NoteTooLarge as error:
            self.park(path, error.reason)
            raise
        except NoteUnreadable:
            self.index.set_state(path, State.MISSING)
            raise

    def ingest(self, note: Note, state: State) -> Delta | None:
        """One note that was read just now; None when the index held these bytes already."""
        place = self.layout.place(note.path)
        if place is None or not place.indexed:
            return None
        try:
            with reading(self.index, note):
                return ingest_note(self.index, note, place, state, read_ns=self.clock())
        except EndedTwice as error:
            self.park(note.path, error.reason)
            return None

    def try_again(self, path: str) -> None:
        """Somebody asks for a note that is parked: read it once more."""
        forget_crumb(self.index, path)
        if path in self.index.parked():
            self.index.unpark(path)

    def _list(self, within: Sequence[str]) -> Listing:
        if within == ("",):
            return self.folder.listing()
        merged = Listing()
        for part in within:
            if (stat := self._stat(part)) is not None:
                merged.entries[part] = stat
                continue
            found = self.folder.listing(part)
            merged.entries.update(found.entries)
            merged.unknown.update(found.unknown)
            merged.copies.extend(found.copies)
        return merged

    def _stat(self, path: str) -> Stat | None:
        try:
            return self.folder.stat(path) if path.endswith((".md", ".jsonl")) else None
        except NoteUnreadable:
            return None

    def _read_all(
        self,
        paths: Sequence[str],
        known: Mapping[str, IndexedFile],
        progress: Progress | None,
    ) -> ScanReport:
        delta = Delta()
        changed: list[str] = []
        later = _Later()
        done = 0
        while done < len(paths):
            with self.folder.held():
                done, entries = self._batch(paths, done, known, later)
            delta += ingest_entries(self.index, entries)
            changed += [entry.path for entry in entries]
            if progress:
                progress(done, len(paths))
        young, doubtful, left = (
            tuple(later.young),
            tuple(later.doubtful),
            tuple(later.left),
        )
        return ScanReport(
            changed=tuple(changed),
            delta=delta,
            young=young,
            doubtful=doubtful,
            left=left,
        )

    def _batch(
        self,
        paths: Sequence[str],
        start: int,
        known: Mapping[str, IndexedFile],
        later: "_Later",
    ) -> tuple[int, list[IndexEntry]]:
        """The next entries to write, and how many paths are done with them.

        It ends early after long notes, so that whoever is told of the progress can stop.
        """
        entries: list[IndexEntry] = []
        began = self.clock()
        for place in range(start, min(start + BATCH, len(paths))):
            path = paths[place]
            entry = self._entry(path, known.get(path), later)
            if entry is not None:
                entries.append(entry)
            if self.clock() - began > BATCH_NS:
                return place + 1, entries
        return min(start + BATCH, len(paths)), entries

    def _entry(
        self, path: str, held: IndexedFile | None, later: "_Later"
    ) -> IndexEntry | None:
        """What is to be written for `path`: None when that is nothing, or not yet."""
        place = self.layout.place(path)
        try:
            note = self.read(path)
        except NoteUnreadable:
            return None
        now = self.clock()
        if note is None or place is None:
            return None
        settled = note.stable and now - note.stat.ctime_ns > YOUNG_NS
        state = State.SETTLED if settled else State.HOT
        same = held is not None and held.revision == note.revision
        if held is not None and not note.raw and not same:
            self.index.set_state(path, State.MISSING)
            later.doubtful.append(path)
            return None
        if not settled:
            later.young.append(path)
        if same:
            self.index.touch(path, held_of(note, state, read_ns=now))
            return None
        if self.leave(note):
            later.left.append(path)
            return None
        return self._taken_in(note, place, state, now)

    def _taken_in(
        self, note: Note, place: Place, state: State, now: int
    ) -> IndexEntry | None:
        """The entry; a fault of ours over one note must not cost the others, so that note is parked with its reason."""
        try:
            with reading(self.index, note):
                return entry_of(note, place, state, read_ns=now)
        except EndedTwice as error:
            logger.warning("%s", error)
            self.park(note.path, error.reason)
            return None
        except Exception as error:
            logger.exception("%s cannot be taken in", note.path)
            self.park(
                note.path,
                f"it cannot be taken in: {type(error).__name__}; this is a bug",
            )
            return None

    def _absent(self, path: str) -> bool:
        """Positively absent: the system says that it is not there, and nothing above it is unknown."""
        found = self.folder.listing(path.rpartition("/")[0])
        return path not in found.entries and found.covers(path)

    def park(self, path: str, reason: str) -> None:
        """Leave a note out of the index until its file is another one, for a reason that a person is told."""
        stat = self._stat(path)
        with self.index.transaction():
            self.index.remove(path)
            self.index.park(path, reason, stamp(stat) if stat else "")


def _is_within(path: str, within: Iterable[str]) -> bool:
    return any(
        not part or path == part or path.startswith(part + "/") for part in within
    )
