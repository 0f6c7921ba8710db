"""Indexes single notes: from the event of a change until the index has the text that settled."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import NoteUnreadable, VaultMemoryError
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, State
from vault_memory.ingest.large_notes import is_heavy
from vault_memory.ingest.note import forget_note
from vault_memory.ingest.scan import Ingest, ScanReport
from vault_memory.service.upkeep.edit_upkeep import EditUpkeep
from vault_memory.service.upkeep.large_note_upkeep import LargeNotes
from vault_memory.vault.reader import Note, NoteTooLarge
from vault_memory.vault.watch.debounce import DebounceDecision, DebounceTable, Settled
from vault_memory.vault.watch.note_event import NoteEvent

logger = logging.getLogger(__name__)

MOST_REVISIONS = 1000
"""Notes whose last changes are remembered"""
TOO_LARGE = "too large"
"""In the place of a revision that was not read; each event of such a note is a change"""


@dataclass(frozen=True, slots=True)
class PathChange:
    """A change of the index, for one line of output."""

    note: str
    """The path of the note, or the number of notes"""
    delta: Delta
    milliseconds: float
    """From the read of the note until the index has it"""
    removed: bool = False


class NoteIndexer:
    """The notes of a vault that changed, and are not settled in the index yet.

    Only the loop calls it. `wake_embedding` starts the embedding of text that has settled.
    """

    def __init__(
        self,
        memory: VaultMemory,
        upkeep: EditUpkeep,
        large: LargeNotes,
        *,
        tell: Callable[[PathChange], None],
        wake_embedding: Callable[[], None],
    ) -> None:
        self._memory = memory
        self._upkeep = upkeep
        self._tell = tell
        self._changed: dict[str, str] = {}
        """New revisions in the index; "" for a note that is absent or unreadable"""
        self._last_revisions: dict[str, str] = {}
        """The revisions that `take_changed` returned last"""
        self._wake_embedding = wake_embedding
        self._debounce = DebounceTable()
        self._settled: dict[str, Settled] = {}
        """The last settled versions of notes that are being debounced"""
        self._events: dict[str, NoteEvent] = {}
        """The last events of notes that are being debounced"""
        self._unread: set[str] = set()
        """Notes whose newest bytes may be missing from the index"""
        self._large = large

    # --- What the loop takes and asks ---

    def take(self, event: NoteEvent, now: float, *, closed: bool) -> None:
        """Plans to read a note that changed; `closed` when its save is complete."""
        self._debounce.hint(event.path, now=now, closed=closed)
        self._unread.add(event.path)
        self._events[event.path] = event

    def take_ambiguous(self, report: ScanReport) -> None:
        """Plans another read of each note about which a scan concluded nothing."""
        self._unread.update(report.left)
        now = time.monotonic()
        for path in (*report.young, *report.doubtful, *report.left):
            self._debounce.hint(path, now=now, closed=True)

    def unread(self) -> list[str]:
        """Returns the notes whose newest bytes may be missing from the index."""
        return sorted(self._unread)

    def take_changed(self) -> list[str]:
        """Returns the notes that changed since the last call, and whose new state the index has."""
        changed = []
        for path, revision in self._changed.items():
            # A note is read several times after a save. That is one change.
            if revision == TOO_LARGE or self._last_revisions.get(path) != revision:
                changed.append(path)
                self._last_revisions[path] = revision
        self._changed.clear()
        while len(self._last_revisions) > MOST_REVISIONS:
            del self._last_revisions[next(iter(self._last_revisions))]
        return changed

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        pause = self._large.wait()
        due = self._debounce.next_due()
        if due is not None:
            pause = min(pause, max(0.0, due - time.monotonic()))
        return pause

    @property
    def is_busy(self) -> bool:
        """Whether notes wait to be read, or are written in part."""
        return bool(self._unread) or self.wait() < float("inf")

    def read_soon(self, seconds: float) -> list[str]:
        """Returns the unread notes that are due within so many seconds, except large ones."""
        soon = self._debounce.due(time.monotonic() + seconds)
        unread = self._unread.intersection(soon)
        return [path for path in unread if path not in self._large]

    def forget_large(self) -> None:
        """Forgets the large notes that are written in part: their index failed, or was replaced."""
        self._large.forget_all()

    def close(self) -> None:
        """Ends the parser of large notes; the next start of the daemon reads them again."""
        self._large.close()

    def report(self, path: str, delta: Delta, started: float, *, removed: bool = False) -> None:
        """Logs a change of the index, and passes it to `tell`."""
        milliseconds = 1000 * (time.perf_counter() - started)
        logger.info(
            "indexed %s: %d added, %d kept, %d removed",
            path,
            delta.added,
            delta.unchanged,
            delta.removed,
        )
        self._tell(PathChange(path, delta, milliseconds, removed))

    # --- Steps of a turn ---

    def read_due(self, ingest: Ingest) -> None:
        """Reads the notes that are due, and updates the index."""
        due = self._debounce.due(time.monotonic())
        for path in due:
            self._look_safely(path, ingest)
        # Fault: a program wrote the new note a moment after it removed the old one. Its first
        # version would be stored before the end of the old one is certain, as that of another note.
        if due and self._debounce.has_absent():
            self._upkeep.note_gone()

    def write_large(self, ingest: Ingest) -> None:
        """Writes one slice of one large note, so that saves and questions wait for no more."""
        for note in self._large.write_slice(ingest.index):
            if note.failure:
                logger.warning("%s: %s", note.path, note.failure)
                ingest.park(note.path, note.failure)
                self._debounce.drop(note.path)
                self._events.pop(note.path, None)
            elif note.removed or self._upkeep.is_by_person(note.path, note.revision):
                self.report(note.path, note.delta, note.started, removed=note.removed)
            self._unread.discard(note.path)
            self._changed[note.path] = note.revision or TOO_LARGE
            self._wake_embedding()

    # --- One note ---

    def _look_safely(self, path: str, ingest: Ingest) -> None:
        """Reads a note that is due; one that cannot be indexed counts as stale until a later try."""
        event = self._events.get(path) or NoteEvent.of(path, self._memory.layout)
        try:
            self._look(event, ingest)
        except (VaultMemoryError, DatabaseError, OSError):
            raise
        # Fault (H122): a bug that one note triggers must not keep the other notes from
        # the index.
        except Exception:
            logger.exception("%s cannot be indexed", path)
            self._debounce.unreadable(path, now=time.monotonic())

    def _look(self, event: NoteEvent, ingest: Ingest) -> None:
        started = time.perf_counter()
        path = event.path
        try:
            note = ingest.read(path, event.place)
        except NoteTooLarge as error:
            # Another read before the next save would find the same size.
            logger.warning("%s", error)
            self._finish(path)
            self._changed[path] = TOO_LARGE
            return
        except NoteUnreadable as error:
            # Permissions may change, and a program may lock the file only for a moment.
            logger.warning("%s", error)
            self._debounce.unreadable(path, now=time.monotonic())
            self._changed[path] = ""
            return
        # Fault (A3): half a save is compared with the last settled version. The index
        # gets this read, so that version is loaded before.
        self._load_settled(path, ingest.index)
        quiet = None
        if note is not None:
            quiet = (time.time_ns() - note.stat.ctime_ns) / 1e9
        decision = self._debounce.observe(
            path, note, self._settled.get(path), now=time.monotonic(), quiet=quiet
        )
        delta = self._conclude(ingest, event, note, decision)
        if decision is not DebounceDecision.KEEP and path not in self._large:
            self._changed[path] = note.revision if note is not None else ""
        if delta is None:
            return
        if note is None or self._upkeep.is_by_person(path, note.revision):
            self.report(path, delta, started, removed=decision is DebounceDecision.GONE)

    def _load_settled(self, path: str, index: Index) -> None:
        """Loads the settled version of a note from the index, before the index gets a newer one."""
        if path in self._settled:
            return
        file = index.file(path)
        if file is not None and file.state == State.SETTLED:
            self._settled[path] = Settled(file.revision, max(file.size, 0))

    def _conclude(
        self, ingest: Ingest, event: NoteEvent, note: Note | None, decision: DebounceDecision
    ) -> Delta | None:
        """Carries out a decision. Returns what changed now; None when the index had these bytes."""
        path = event.path
        delta: Delta | None = None
        match decision:
            case DebounceDecision.KEEP:
                ingest.index.set_state(path, State.MISSING)
            case DebounceDecision.GONE:
                delta = self._remove(ingest.index, path)
                self._upkeep.note_gone()
            case DebounceDecision.INDEX if note is not None:
                delta = self._put(ingest, event, note, State.HOT)
            case DebounceDecision.SETTLED if note is not None:
                delta = self._put(ingest, event, note, State.SETTLED)
        if decision is DebounceDecision.SETTLED:
            self._upkeep.note_settled((path,))
        if decision in (DebounceDecision.SETTLED, DebounceDecision.GONE):
            self._finish(path)
            self._wake_embedding()
        if path not in self._large:
            self._unread.discard(path)
        return delta

    def _remove(self, index: Index, path: str) -> Delta | None:
        """Removes a deleted note from the index. None for a large note, which takes longer."""
        # Fault (C57): every note of an unmounted vault seems to be deleted.
        self._memory.vault.check_identity()
        was_indexed = index.file(path) is not None
        if self._large.remove(index, path):
            return None
        delta = forget_note(index, path)
        return delta if was_indexed else None

    def _put(self, ingest: Ingest, event: NoteEvent, note: Note, state: State) -> Delta | None:
        """Indexes a small note now, and a large one in slices. None when nothing changed yet."""
        place = event.place
        is_new = ingest.index.revision_of(note.path) != note.revision
        is_slow = is_new and event.is_indexed and is_heavy(ingest.index, note)
        if is_slow and place is not None:
            self._large.put(note, place, state, ingest.clock())
            self._unread.add(note.path)
            return None
        self._large.forget(note.path)
        return ingest.ingest(note, state, place)

    def _finish(self, path: str) -> None:
        """Forgets what the loop has about a note that has settled, or cannot be read."""
        self._debounce.drop(path)
        self._settled.pop(path, None)
        self._events.pop(path, None)
        if path not in self._large:
            self._unread.discard(path)
