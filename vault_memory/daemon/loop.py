"""The daemon's one loop: hints in, looks at files, text into the index at once, conclusions when a file has settled."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.conversation_upkeep import ConversationUpkeep
from vault_memory.daemon.daemon_lock import DaemonLock
from vault_memory.daemon.edit_requests import EditRequests, MemoryCall
from vault_memory.daemon.edit_upkeep import EditUpkeep
from vault_memory.daemon.embedding_thread import Embedding
from vault_memory.daemon.handlers import Calls
from vault_memory.daemon.large_note_upkeep import LargeNotes
from vault_memory.daemon.learning_thread import Nights
from vault_memory.daemon.note_event import NoteEvent
from vault_memory.daemon.read_barrier import GRACE_SECONDS, Barrier
from vault_memory.daemon.sd_notify import Notify
from vault_memory.daemon.socket_server import SocketServer
from vault_memory.daemon.stop_request import StopRequest
from vault_memory.daemon.sweep_pace import Sweeping
from vault_memory.daemon.sync_thread import Syncing
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import NoteUnreadable, VaultMemoryError
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, State
from vault_memory.ingest.large_notes import is_heavy
from vault_memory.ingest.note import forget_note
from vault_memory.ingest.scan import Ingest
from vault_memory.vault.reader import Identity, Note, NoteTooLarge
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.debounce import DebounceDecision, DebounceTable, Settled
from vault_memory.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ResolvedConflict

logger = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""The longest that the loop sleeps. Events and a request to end wake it; a missing state folder does not."""
RETRY_SECONDS = 1.0
"""Until the next try when the vault or the index could not be read"""
MOST_SUSPECTS = 500
"""Notes that differ within a few slices of a sweep; when there are more, everything is looked at in one go"""


class Stopping(Exception):
    """The daemon was told to stop while it looked through the vault."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """One line of what happened: a note, its chunks, how long it took from look to index."""

    note: str
    delta: Delta
    milliseconds: float
    removed: bool = False


class Daemon:
    """Watches one vault until it is told to stop.

    `tell` is called for every change of a note, `tell_copy` for every conflict copy that was settled.
    `calls` are those of faces, which the socket takes beside the daemon's own.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[[PathChange], None],
        tell_copy: "Callable[[ResolvedConflict], None]" = lambda resolved: None,
        calls: Mapping[str, MemoryCall] | None = None,
    ) -> None:
        self.memory = memory
        self._edit_calls = EditRequests(memory, calls or {})
        self.tell = tell
        self.trouble = ""
        """why the vault cannot be looked at just now"""
        self._settling = DebounceTable()
        self._settled: dict[str, Settled] = {}
        """the last settled version of notes on which something is open"""
        self._events: dict[str, NoteEvent] = {}
        """of the paths that were heard of and are not settled yet"""
        self._unread: set[str] = set()
        self._index: Index | None = None
        """the one that everything was looked at for"""
        self._keeping = EditUpkeep(memory, tell_copy=tell_copy)
        self._sweeping = Sweeping()
        self.notify = Notify(memory.vault.environment)
        memory.searcher.unread_notes = lambda: sorted(self._unread)
        watch = memory.vault.config.watch
        self.watcher = Watcher(
            memory.root,
            poll_seconds=watch.poll_seconds,
            sweep_seconds=watch.sweep_seconds,
        )
        self._stop = StopRequest(self.watcher.wake)
        self.barrier = Barrier(self.watcher)
        self._listening = ConversationUpkeep(memory, self.watcher.wake)
        self._large = LargeNotes(self.watcher.wake)
        memory.vault.indexing.leave = is_heavy  # for the daemon's other threads, too

    def stop(self) -> None:
        """End soon; may be called from a signal handler or another thread."""
        self._stop.make()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Hold the lock, watch, serve, until `stop`.

        Raises Locked, VaultUnreachable at the start, and StateFolderGone.
        """
        if self._stop.is_made():
            return
        with DaemonLock(self.memory.vault.state.lock_file) as lock, self._stop.heard():
            self.watcher.start()  # armed before the scan: what changes during it is heard
            try:
                self._listening.start()
                self.memory.vault.indexing.index()
                self._embedding = Embedding(self.memory.fork())
                self.syncing = Syncing(self.memory.fork())
                server = SocketServer(
                    self.memory.vault.state.socket,
                    Calls(self).table() | self._edit_calls.table(),
                )
                nights = Nights(self.memory.fork())
                try:
                    self._rescan()
                    self._renew_outdated()
                    ready()
                    self.notify.ready(self._doing())
                    while not self._stop.is_made():
                        lock.check()
                        self._turn()
                except Stopping:
                    logger.info("told to stop; the next start looks at the rest")
                finally:
                    self.notify.stopping()
                    self._large.close()
                    server.close()
                    nights.close()
                    self.syncing.close()
                    self._embedding.close()
            finally:
                self.watcher.stop()
                self._listening.close()

    def _turn(self) -> None:
        due = self._settling.next_due()
        wait = (
            TICK_SECONDS
            if due is None
            else min(TICK_SECONDS, max(0.0, due - time.monotonic()))
        )
        wait = min(
            wait,
            self._keeping.wait(),
            self._listening.wait(),
            self.notify.wait(),
            self.barrier.wait(),
        )
        wait = 0.0 if self._large.has_work else min(wait, self._sweeping.wait())
        try:
            self._hear(self.watcher.take(wait))
            ingest = self.memory.vault.indexing.ingest()
            if self._index is not ingest.index:
                self._rescan()  # another generation serves; this finds what was saved while it was built
                ingest = self.memory.vault.indexing.ingest()
            for path in self._settling.due(time.monotonic()):
                self._look_safely(path, ingest)
            self._write_large_notes()
            soon = self._settling.due(time.monotonic() + GRACE_SECONDS)
            self.barrier.lift(
                {
                    path
                    for path in self._unread.intersection(soon)
                    if path not in self._large
                }
            )
            self._keeping.turn()
            self._listening.turn()
            self._sweep()
            self.trouble = ""
        except (VaultMemoryError, DatabaseError, OSError) as error:
            if self.trouble != str(error):
                logger.warning("%s", error)
            self.trouble = str(error)
            self.barrier.lift(())  # there is nothing to wait for
            if isinstance(error, DatabaseError):
                self._large.forget_all()  # the scan after trouble finds what is missing
                self.memory.vault.indexing.recover(error)
            self._stop.wait(RETRY_SECONDS)
        self.notify.turn(self._doing())

    def _hear(self, hints: ChangeHints) -> None:
        now = time.monotonic()
        self.barrier.reach(hints.marks)
        if hints.paths or hints.subtrees:
            self.syncing.heard()
        if self.trouble or hints.rescan or hints.subtrees:
            everything = (
                self._is_replaced()
                or bool(self.trouble)
                or (hints.rescan and not hints.sweep)
            )
            if everything or hints.subtrees:
                self._rescan(("",) if everything else tuple(hints.subtrees))
            if hints.sweep:
                self._sweeping.begin()
        for path in hints.paths:
            event = NoteEvent.of(path, self.memory.layout)
            self._keeping.heard(event)
            if event.is_indexed:
                self._settling.hint(path, now=now, closed=path in hints.closed)
                self._unread.add(path)
                self._events[path] = event

    def _rescan(self, within: tuple[str, ...] = ("",), *, sweep: bool = False) -> None:
        started = time.perf_counter()
        if self._index is not self.memory.vault.indexing.index():
            self._large.forget_all()
        self._index = self.memory.vault.indexing.index()
        ingest = self.memory.vault.indexing.ingest()
        report = ingest.scan(within=within, progress=self.tell_progress)
        self._unread |= {*report.left}
        now = time.monotonic()
        for path in (*report.young, *report.doubtful, *report.left):
            self._settling.hint(path, now=now, closed=True)
        if sweep:
            for path in (*report.changed, *report.removed):
                self.watcher.note_missed(path)
        if report.changed or report.removed:
            self.syncing.heard()
        self._keeping.note_settled(report.changed)
        self._keeping.note_copies(report.copies)
        if within == ("",):
            self._keeping.check_all_pages()
        else:
            self._keeping.note_pages(report.unread)
        if report.changed:
            what = (
                report.changed[0]
                if len(report.changed) == 1
                else f"{len(report.changed)} notes"
            )
            self._say(what, report.delta, started, removed=False)
            self._embedding.wake()

    def _is_replaced(self) -> bool:
        """Whether the vault stands in another folder than before. Raises VaultUnreachable."""
        replaced = self.memory.vault.check_identity() is Identity.REPLACED
        if replaced:
            logger.info("the vault's folder was replaced; everything is looked at anew")
        return replaced

    def _sweep(self) -> None:
        """The next part of the look at everything; what it finds is looked at as a whole vault is, note by note."""
        if self._sweeping.wait() > 0:
            return
        if self._is_replaced():  # of a vault that went away nothing is concluded
            self._rescan()
            return
        findings = self._sweeping.turn(self.memory.vault.indexing.ingest())
        self._keeping.note_copies(findings.copies)
        self._keeping.note_pages(findings.unread)
        if len(findings.suspects) > MOST_SUSPECTS:
            self._rescan(sweep=True)
        elif findings.suspects:
            self._rescan(tuple(findings.suspects), sweep=True)

    def tell_progress(self, done: int, total: int) -> None:
        """Tell the service manager how far a scan is. Raises Stopping when the daemon was told to stop."""
        if self._stop.is_made():
            raise Stopping
        self.notify.progress(done, total)

    def _look_safely(self, path: str, ingest: Ingest) -> None:
        """A fault of ours over one note must not cost the others; that note counts as stale, and is tried again."""
        event = self._events.get(path) or NoteEvent.of(path, self.memory.layout)
        try:
            self._look(event, ingest)
        except (VaultMemoryError, DatabaseError, OSError):
            raise
        except Exception:
            logger.exception("%s cannot be taken in", path)
            self._settling.unreadable(path, now=time.monotonic())

    def _look(self, event: NoteEvent, ingest: Ingest) -> None:
        started = time.perf_counter()
        path = event.path
        try:
            note = ingest.read(path, event.place)
        except NoteTooLarge as error:
            logger.warning("%s", error)
            self._done(path)
            return
        except NoteUnreadable as error:
            logger.warning("%s", error)
            self._settling.unreadable(path, now=time.monotonic())
            return
        held = ingest.index.file(path)
        if (
            held is not None
            and held.state == State.SETTLED
            and path not in self._settled
        ):
            self._settled[path] = Settled(held.revision, max(held.size, 0))
        quiet = None if note is None else (time.time_ns() - note.stat.ctime_ns) / 1e9
        verdict = self._settling.observe(
            path, note, self._settled.get(path), now=time.monotonic(), quiet=quiet
        )
        delta = self._conclude(ingest, event, note, verdict)
        if delta is not None and (
            note is None or self._keeping.is_by_person(path, note.revision)
        ):
            self._say(path, delta, started, removed=verdict is DebounceDecision.GONE)

    def _conclude(
        self,
        ingest: Ingest,
        event: NoteEvent,
        note: Note | None,
        verdict: DebounceDecision,
    ) -> Delta | None:
        """Do what the verdict says; None when the index held that already."""
        path = event.path
        delta: Delta | None = None
        match verdict:
            case DebounceDecision.KEEP:
                ingest.index.set_state(path, State.MISSING)
            case DebounceDecision.GONE:
                # a vault that went away is not empty
                self.memory.vault.check_identity()
                known = ingest.index.file(path)
                if not self._large.remove(ingest.index, path):
                    forgotten = forget_note(ingest.index, path)
                    delta = forgotten if known else None
            case DebounceDecision.INDEX | DebounceDecision.SETTLED if note is not None:
                is_settled = verdict is DebounceDecision.SETTLED
                state = State.SETTLED if is_settled else State.HOT
                delta = self._take_in(ingest, event, note, state)
        if verdict is DebounceDecision.SETTLED:
            self._keeping.note_settled((path,))
        if verdict in (DebounceDecision.SETTLED, DebounceDecision.GONE):
            self._done(path)
            self._embedding.wake()
        if path not in self._large:
            self._unread.discard(path)
        return delta

    def _take_in(
        self, ingest: Ingest, event: NoteEvent, note: Note, state: State
    ) -> Delta | None:
        """Small notes at once, large ones soon; None when the index held these bytes already."""
        place = event.place
        is_new = ingest.index.revision_of(note.path) != note.revision
        is_slow = is_new and event.is_indexed and is_heavy(ingest.index, note)
        if is_slow and place is not None:
            self._large.put(note, place, state, ingest.clock())
            self._unread.add(note.path)
            return None
        self._large.forget(note.path)
        return ingest.ingest(note, state, place)

    def _write_large_notes(self) -> None:
        """One slice of one large note: whoever saves or asks comes in between."""
        ingest = self.memory.vault.indexing.ingest()
        for note in self._large.turn(ingest.index):
            if note.failure:
                logger.warning("%s: %s", note.path, note.failure)
                ingest.park(note.path, note.failure)
                self._settling.drop(note.path)
                self._events.pop(note.path, None)
            elif note.removed or self._keeping.is_by_person(note.path, note.revision):
                self._say(note.path, note.delta, note.started, removed=note.removed)
            self._unread.discard(note.path)
            self._embedding.wake()

    def _done(self, path: str) -> None:
        self._settling.drop(path)
        self._settled.pop(path, None)
        self._events.pop(path, None)
        if path not in self._large:
            self._unread.discard(path)

    def _say(self, path: str, delta: Delta, started: float, *, removed: bool) -> None:
        milliseconds = 1000 * (time.perf_counter() - started)
        logger.info(
            "indexed %s: %d added, %d kept, %d removed",
            path,
            delta.added,
            delta.kept,
            delta.removed,
        )
        self.tell(PathChange(path, delta, milliseconds, removed))

    def _renew_outdated(self) -> None:
        """An index of older rules goes on serving while the next is built beside it."""
        if self.memory.vault.indexing.is_outdated:
            logger.info(
                "building a new generation of the index; the old one serves meanwhile"
            )
            threading.Thread(target=self._renew, name="generation", daemon=True).start()

    def _renew(self) -> None:
        memory = self.memory.fork()
        try:
            memory.vault.indexing.build(anyway=False)
        except Exception:
            logger.exception("the new generation could not be built")
        finally:
            memory.close()
        self.watcher.wake()

    def _doing(self) -> str:
        """What the service manager shows to everybody: no name of a note."""
        return (
            "the vault cannot be looked at; see the log"
            if self.trouble
            else f"watching ({self.watcher.mode})"
        )

    def status(self) -> dict[str, Any]:
        """What `status` adds when a daemon runs."""
        return {
            "mode": self.watcher.mode,
            "healthy": self.watcher.healthy and not self.trouble,
            "reason": self.trouble or self.watcher.reason,
        }
