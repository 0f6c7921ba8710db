"""Scans the vault, or some of its paths, into the index: list, plan, read, write.

A note is settled when it has not changed for a moment. The report names notes that were saved a
moment ago, and notes that are absent or empty. A daemon passes these to its debounce table; a
command that runs once looks again after a moment (`look_again`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.schema import MISSING, has_stamps, missing_notes, skip_stamps
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest import stamping
from vault_memory.ingest.crash_guard import EndedTwice, forget_crumb, reading
from vault_memory.ingest.ingest_plan import IngestPlan, plan_ingest, stamp
from vault_memory.ingest.note import (
    entry_of,
    forget_note,
    indexed_file,
    ingest_entries,
    ingest_note,
    largest,
)
from vault_memory.logs import Logger
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.listing import SUFFIXES, Listing, Stat
from vault_memory.vault.reader import Folder, Note, NoteTooLarge

logger = Logger(__name__)

YOUNG_NS = 3_000_000_000
"""A program may still write to a file that changed less than this before it was read"""
BATCH = 500
"""Notes in one transaction of a bulk load"""
BATCH_NS = 500_000_000
"""Time after which such a transaction is written with fewer notes"""

NOTHING = Delta()

Progress = Callable[[int, int], None]
Clock = Callable[[], int]


class ScanReport(NamedTuple):
    """Result of a scan: applied changes, and paths whose state is still ambiguous."""

    changed: tuple[str, ...] = ()
    """paths whose text is new to the index"""
    removed: tuple[str, ...] = ()
    delta: Delta = NOTHING
    young: tuple[str, ...] = ()
    """searchable, and changed so recently that a save may still go on"""
    doubtful: tuple[str, ...] = ()
    """absent or empty now: the index keeps the old text"""
    unread: tuple[str, ...] = ()
    """files that search does not read: INBOX pages, audit files"""
    copies: tuple[str, ...] = ()
    """conflict copies"""
    left: tuple[str, ...] = ()
    """paths that the caller reads by itself"""


class _Ambiguous:
    """Paths whose state a scan leaves open; see `ScanReport`."""

    def __init__(self) -> None:
        self.young: list[str] = []
        self.doubtful: list[str] = []
        self.left: list[str] = []

    def report(self, changed: Iterable[str], delta: Delta) -> ScanReport:
        return ScanReport(
            changed=tuple(changed),
            delta=delta,
            young=tuple(self.young),
            doubtful=tuple(self.doubtful),
            left=tuple(self.left),
        )


class Ingest:
    """Brings one index up to date with one vault. `clock` gives wall time in ns."""

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
        """returns true for a note that the caller reads by itself"""

    def scan(
        self, *, within: Sequence[str] = ("",), progress: Progress | None = None
    ) -> ScanReport:
        """Brings the index up to date with the paths `within` ("" is the vault)."""
        plan, listing, parked = self._compared(within)
        report = self._read_all(plan.changed, progress)
        for path in (*plan.removed, *plan.unseen):
            self.index.set_state(path, State.MISSING)
        for path in parked:
            # Fault (B40): a folder that cannot be listed is no proof that the file was
            # deleted.
            if path not in listing.entries and listing.covers(path):
                self.index.unpark(path)
        self._count_missing(within, plan)
        if within == ("",):
            self._stamp(listing)
        return report._replace(
            doubtful=(*report.doubtful, *plan.removed),
            unread=plan.unread,
            copies=tuple(listing.copies),
        )

    def _compared(self, within: Sequence[str]) -> tuple[IngestPlan, Listing, dict[str, str]]:
        # Fault: of a note that another process indexes during the listing, the state after it
        # would say that its file was removed.
        with self.index.reading():
            parked = self._parked(within)
            listing = self._list(within)
            indexed = self.index.files_within(within)
            plan = plan_ingest(indexed, listing, is_memory=self.wants, parked=parked)
        return plan, listing, parked

    def _count_missing(self, within: Sequence[str], plan: IngestPlan) -> None:
        """Counts the notes that the index lacks, because a listing has no room for all files."""
        before = missing_notes(self.index)
        if within == ("",):
            missing = sum(map(self.wants, plan.beyond))
        else:
            # A sweep finds these notes folder by folder.
            missing = max(before - list(plan.changed.values()).count(None), 0)
        if missing != before:
            self.index.set(MISSING, str(missing))

    def _stamp(self, listing: Listing) -> None:
        """Updates what the fading of items follows from."""
        if not has_stamps(self.index) and not any(map(_is_side_file, listing.entries)):
            # A command that runs for a moment need not load what reads audits.
            skip_stamps(self.index)
            return
        stamps = stamping.Stamping(self.folder, self.index, self.layout)
        if listing.unknown:
            # An audit in a folder that cannot be listed was not removed.
            stamps.write_due()
        else:
            stamps.compare(listing)

    def newer_notes(self) -> tuple[str, ...]:
        """Returns the notes that differ from the index. Writes nothing."""
        plan = self._compared(("",))[0]
        newer = {path for path, file in plan.changed.items() if self._is_newer(path, file)}
        return tuple(sorted(newer.union(plan.removed)))

    def _parked(self, within: Sequence[str]) -> dict[str, str]:
        """Returns the parked paths `within`, with the stamp of each file."""
        parked = self.index.parked().items()
        return {path: mark for path, (_, mark) in parked if _is_within(path, within)}

    def _is_newer(self, path: str, file: IndexedFile | None) -> bool:
        try:
            note = self.folder.read(path, max_bytes=largest(self.layout.place(path)))
        except (NoteNotFound, NoteUnreadable):
            return True
        return file is None or note.revision != file.revision

    def look_again(self, report: ScanReport, *, conclude_young: bool) -> ScanReport:
        """Concludes a scan a moment later: absent notes are removed, unchanged ones settled.

        `conclude_young`: also settles the notes that were saved right before the scan.
        """
        delta = report.delta
        removed: list[str] = []
        paths = report.doubtful
        if conclude_young:
            paths += report.young
        for path in paths:
            try:
                note = self.read(path)
            except NoteUnreadable:
                # Fault (C57): the mount may be lost. The index keeps the old text.
                continue
            if note is not None:
                delta += self.ingest(note, State.SETTLED) or Delta()
            elif self._absent(path):
                delta += forget_note(self.index, path)
                removed.append(path)
        return report._replace(removed=tuple(removed), delta=delta, young=(), doubtful=())

    def wants(self, path: str) -> bool:
        """Whether `path` is memory that search reads."""
        place = self.layout.place(path)
        return place is not None and place.indexed

    def read(self, path: str, place: Place | None = None) -> Note | None:
        """Reads the note as it is now; None when it is absent. `place` is its place, if it is known.

        Raises NoteUnreadable, and the index remembers it: a note that is too large is parked,
        without its text. Of any other note the index keeps the old text.
        """
        place = place or self.layout.place(path)
        try:
            return self.folder.read(path, max_bytes=largest(place))
        except NoteNotFound:
            return None
        except NoteTooLarge as error:
            self.park(path, error.reason)
            raise
        except NoteUnreadable:
            # Fault (B40): a folder without permissions or a lost mount is no proof of a
            # deletion.
            self.index.set_state(path, State.MISSING)
            raise

    def ingest(self, note: Note, state: State, place: Place | None = None) -> Delta | None:
        """Indexes one note; None when the index has these bytes already."""
        place = place or self.layout.place(note.path)
        if place is None or not place.indexed:
            return None
        try:
            with reading(self.index, note):
                return ingest_note(self.index, note, place, state, read_ns=self.clock())
        except EndedTwice as error:
            self.park(note.path, error.reason)
            return None

    def try_again(self, path: str) -> None:
        """Lets a parked note be read again, because the user asks for it."""
        forget_crumb(self.index, path)
        if path in self.index.parked():
            self.index.unpark(path)

    def _list(self, within: Sequence[str]) -> Listing:
        if within == ("",):
            return self.folder.listing()
        merged = Listing()
        for path in within:
            stat = self._stat(path)
            if stat is not None:
                merged.entries[path] = stat
                continue
            listing = self.folder.listing(path)
            merged.entries.update(listing.entries)
            merged.unknown.update(listing.unknown)
            merged.copies.extend(listing.copies)
        return merged

    def _stat(self, path: str) -> Stat | None:
        if not path.endswith(SUFFIXES):
            return None
        try:
            return self.folder.stat(path)
        except NoteUnreadable:
            return None

    def _read_all(
        self, indexed: Mapping[str, IndexedFile | None], progress: Progress | None
    ) -> ScanReport:
        delta = Delta()
        changed: list[str] = []
        ambiguous = _Ambiguous()
        position, paths = 0, list(indexed)
        while position < len(paths):
            with self.folder.held():
                position, entries = self._batch(paths, position, indexed, ambiguous)
            delta += ingest_entries(self.index, entries)
            changed += [entry.path for entry in entries]
            if progress:
                progress(position, len(paths))
        return ambiguous.report(changed, delta)

    def _batch(
        self,
        paths: Sequence[str],
        start: int,
        indexed: Mapping[str, IndexedFile | None],
        ambiguous: _Ambiguous,
    ) -> tuple[int, list[IndexEntry]]:
        """Reads paths from `start` on; returns the position after the last one, and entries."""
        entries: list[IndexEntry] = []
        began = self.clock()
        end = min(start + BATCH, len(paths))
        for position in range(start, end):
            path = paths[position]
            entry = self._entry(path, indexed[path], ambiguous)
            if entry is not None:
                entries.append(entry)
            # A batch of long notes ends early, so that the callback of progress can stop the scan.
            if self.clock() - began > BATCH_NS:
                return position + 1, entries
        return end, entries

    def _entry(
        self, path: str, previous: IndexedFile | None, ambiguous: _Ambiguous
    ) -> IndexEntry | None:
        """Returns what to write for `path`; None when there is nothing to write now."""
        place = self.layout.place(path)
        try:
            note = self.read(path, place)
        except NoteUnreadable:
            return None
        if note is None or place is None:
            return None
        now = self.clock()
        is_indexed = previous is not None and previous.revision == note.revision
        if previous is not None and not note.raw and not is_indexed:
            # Fault (A3): an editor that truncates before it writes leaves the note
            # empty for a moment.
            self.index.set_state(path, State.MISSING)
            ambiguous.doubtful.append(path)
            return None
        state = _state_of(note, now)
        if state is not State.SETTLED:
            ambiguous.young.append(path)
        if is_indexed:
            self.index.touch(path, indexed_file(note, state, read_ns=now))
            return None
        if self.leave(note):
            ambiguous.left.append(path)
            return None
        return self._parse(note, place, state, now)

    def _parse(self, note: Note, place: Place, state: State, now: int) -> IndexEntry | None:
        """Parses a note. One that cannot be parsed is parked with its reason."""
        try:
            with reading(self.index, note):
                return entry_of(note, place, state, read_ns=now)
        except EndedTwice as error:
            logger.warning("%s", error)
            self.park(note.path, error.reason)
            return None
        except Exception as error:
            # A bug that one note triggers must not keep all others out of the index.
            logger.exception("%s cannot be read into the index", note.path)
            name = type(error).__name__
            self.park(note.path, f"it cannot be taken in: {name}; this is a bug")
            return None

    def _absent(self, path: str) -> bool:
        """Whether the file is certainly absent: its folder can be listed without it."""
        listing = self.folder.listing(path.rpartition("/")[0])
        return path not in listing.entries and listing.covers(path)

    def park(self, path: str, reason: str) -> None:
        """Leaves a note out of the index until its file changes. A person sees the reason."""
        stat = self._stat(path)
        with self.index.transaction():
            self.index.remove(path)
            self.index.park(path, reason, stamp(stat) if stat else "")


def _state_of(note: Note, now: int) -> State:
    """Returns whether a note that was read at `now` is settled, or may still be changing."""
    is_young = now - note.stat.ctime_ns <= YOUNG_NS
    # A note that changed while it was read is unstable.
    if is_young or not note.stable:
        return State.HOT
    return State.SETTLED


def _is_side_file(path: str) -> bool:
    """Whether a path may be an audit or a ledger."""
    return ".audit." in path or "learning/" in path


def _is_within(path: str, within: Collection[str]) -> bool:
    if "" in within:
        return True
    return any(path == top or path.startswith(f"{top}/") for top in within)
