"""The daemon's loop: it takes hints of change, reads notes, and updates the index.

New text is searchable at once. Conclusions, such as that a note was deleted, wait until the file
has settled.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.changes.change_ring import ChangeRing
from vault_memory.daemon.changes.side_files import SideFiles
from vault_memory.daemon.conversation_upkeep import ConversationUpkeep
from vault_memory.daemon.daemon_lock import DaemonLock
from vault_memory.daemon.edit_requests import EditRequests, MemoryCall
from vault_memory.daemon.edit_upkeep import EditUpkeep
from vault_memory.daemon.embedding_thread import Embedding
from vault_memory.daemon.handlers import Calls
from vault_memory.daemon.learning_thread import Nights
from vault_memory.daemon.note_indexer import NoteIndexer, PathChange
from vault_memory.daemon.read_barrier import GRACE_SECONDS, Barrier
from vault_memory.daemon.sd_notify import Notify
from vault_memory.daemon.socket_server import SocketServer
from vault_memory.daemon.stamp_upkeep import StampUpkeep
from vault_memory.daemon.stop_request import StopRequest
from vault_memory.daemon.sweep_pace import Sweeping
from vault_memory.daemon.sync_thread import Syncing, pass_counts
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.index.store import Index
from vault_memory.ingest.large_notes import is_heavy
from vault_memory.ingest.scan import ScanReport
from vault_memory.vault.reader import Identity
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.note_event import NoteEvent
from vault_memory.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.edits.conflict_copy import ResolvedConflict

logger = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""The longest sleep of the loop. No event reports that the state folder was removed."""
RETRY_SECONDS = 1.0
"""Pause after the vault or the index could not be read"""
MOST_SUSPECTS = 500
"""Changed notes in a few slices of a sweep. Above this, one scan of the vault is cheaper."""


class Stopping(Exception):
    """The daemon must stop, and a scan of the vault ends early."""


class Daemon:
    """Watches one vault until `stop`.

    The loop calls `tell` for each change of a note, and `tell_copy` for each conflict copy that it
    resolved. Its threads call `tell_work` with a line for each night, sync and embedding. The
    socket answers `calls`, such as those of hooks, beside the daemon's own.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[[PathChange], None],
        tell_copy: "Callable[[ResolvedConflict], None]" = lambda resolved: None,
        tell_work: Callable[[str], None] = lambda line: None,
        calls: Mapping[str, MemoryCall] | None = None,
    ) -> None:
        self.memory = memory
        self._tell_work = tell_work
        self._edit_calls = EditRequests(memory, calls or {})
        self.trouble = ""
        """Why the vault cannot be read now; empty when it can"""
        self._index: Index | None = None
        """The index of the last full scan"""
        self._edit_upkeep = EditUpkeep(memory, tell_copy=tell_copy)
        self._stamps = StampUpkeep(memory)
        self._sweeping = Sweeping()
        self.notify = Notify(memory.vault.environment)
        self.watcher = Watcher(memory.root, memory.vault.config.watch)
        self._stop = StopRequest(self.watcher.wake)
        self.barrier = Barrier(self.watcher)
        self._conversation_upkeep = ConversationUpkeep(memory, self.watcher.wake)
        self._changes = ChangeRing()
        self._side_files = SideFiles(memory.vault.folder)
        self._notes = NoteIndexer(
            memory,
            self._edit_upkeep,
            tell=tell,
            wake_loop=self.watcher.wake,
            wake_embedding=lambda: self._embedding.wake(),
        )
        memory.searcher.unread_notes = self._notes.unread
        # The daemon's other threads must not parse a large note either: it would block the loop.
        memory.vault.indexing.leave = is_heavy

    def stop(self) -> None:
        """Ends the loop soon. A signal handler or another thread may call it."""
        self._stop.make()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Holds the lock, watches the vault and answers calls, until `stop`.

        Raises Locked and VaultUnreachable at the start, and StateFolderGone.
        """
        if self._stop.is_made():
            return
        with DaemonLock(self.memory.vault.state.lock_file) as lock, self._stop.heard():
            # Fault (C59): a save during the scan must raise an event. So the watches
            # come before the scan.
            self.watcher.start()
            try:
                self._conversation_upkeep.start()
                self._serve(lock, ready)
            finally:
                self.watcher.stop()
                self._conversation_upkeep.close()

    def _serve(
        self,
        lock: DaemonLock,
        ready: Callable[[], None],
    ) -> None:
        """Starts the threads, and takes turns until `stop`."""
        self.memory.vault.indexing.index()
        self._embedding = Embedding(self.memory.fork(), tell=self._tell_work)
        self.syncing = Syncing(
            self.memory.fork(),
            tell=lambda report: self._tell_work(f"synced: {pass_counts(report)}"),
        )
        server = SocketServer(
            self.memory.vault.state.socket,
            {
                "changes": self._changes.answer,
                **Calls(self).table(),
                **self._edit_calls.table(),
            },
        )
        nights = Nights(self.memory.fork(), tell=self._tell_work)
        try:
            self._rescan()
            self._renew_outdated()
            ready()
            self.notify.ready(self._doing())
            while not self._stop.is_made():
                lock.check()
                self._turn()
        except Stopping:
            logger.info("asked to stop; the next start scans the remaining notes")
        finally:
            self.notify.stopping()
            self._changes.close()
            self._notes.close()
            server.close()
            nights.close()
            self.syncing.close()
            self._embedding.close()

    # --- One turn ---

    def _turn(self) -> None:
        seconds = self._seconds_to_sleep()
        try:
            self._process(self.watcher.take(seconds))
            self._end_trouble()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault (C57, B39): the disk may be unmounted or full. The daemon waits for
            # it, and must not end.
            self._note_trouble(error)
            self._publish()
            self._stop.wait(RETRY_SECONDS)
        self._publish()
        self.notify.turn(self._doing())

    def _publish(self) -> None:
        """Passes on what changed in this turn: search finds it now."""
        self._changes.stage(self._notes.take_changed())
        self._changes.publish()

    def _seconds_to_sleep(self) -> float:
        """Returns how long the loop may wait for hints."""
        return min(
            TICK_SECONDS,
            self._notes.wait(),
            self._edit_upkeep.wait(),
            self._stamps.wait(),
            self._conversation_upkeep.wait(),
            self.notify.wait(),
            self.barrier.wait(),
            self._sweeping.wait(),
        )

    def _process(self, hints: ChangeHints) -> None:
        """Handles hints, reads the notes that are due, and does the upkeep that is due."""
        self._take_hints(hints)
        ingest = self.memory.vault.indexing.ingest()
        if self._index is not ingest.index:
            # Fault (G118): a new generation lacks what was saved while a thread built
            # it.
            self._rescan()
            ingest = self.memory.vault.indexing.ingest()
        self._notes.read_due(ingest)
        self._notes.write_large(self.memory.vault.indexing.ingest())
        self.barrier.lift(self._notes.read_soon(GRACE_SECONDS))
        self._edit_upkeep.turn()
        self._stamps.turn()
        self._conversation_upkeep.turn()
        self._sweep()

    def _end_trouble(self) -> None:
        if self.trouble:
            self._changes.stage_loss()
        self.trouble = ""

    def _note_trouble(self, error: Exception) -> None:
        if self.trouble != str(error):
            logger.warning("%s", error)
            # A client may show notes that cannot be read any more.
            self._changes.stage_loss()
        self.trouble = str(error)
        # Fault (C57): questions must not wait for a vault that cannot be read.
        self.barrier.lift(())
        if isinstance(error, DatabaseError):
            # A repaired index may lack slices that were written: the scan afterwards finds them.
            self._notes.forget_large()
            self.memory.vault.indexing.recover(error)

    # --- Hints ---

    def _take_hints(self, hints: ChangeHints) -> None:
        now = time.monotonic()
        self.barrier.reach(hints.marks)
        if hints.paths or hints.subtrees:
            self.syncing.heard()
        folders = self._folders_to_scan(hints)
        if folders:
            self._rescan(folders)
        if hints.sweep:
            self._sweeping.begin()
        for path in hints.paths:
            self._take_event(path, now, closed=path in hints.closed)

    def _folders_to_scan(self, hints: ChangeHints) -> tuple[str, ...]:
        """Returns the folders to scan at once; "" is the vault. Raises VaultUnreachable."""
        if not (self.trouble or hints.rescan or hints.subtrees):
            return ()
        # Fault (C56): events of a folder that was replaced say nothing about its
        # successor.
        is_replaced = self._is_replaced()
        # A routine rescan is a sweep, which reads a slice in each turn.
        is_rescan_due = hints.rescan and not hints.sweep
        if is_replaced or self.trouble or is_rescan_due:
            return ("",)
        return tuple(hints.subtrees)

    def _take_event(
        self,
        path: str,
        now: float,
        *,
        closed: bool,
    ) -> None:
        event = NoteEvent.of(path, self.memory.layout)
        self._edit_upkeep.heard(event)
        self._stamps.heard(event)
        if event.is_indexed:
            self._notes.take(event, now, closed=closed)
        else:
            self._changes.stage((path,))

    # --- Scans ---

    def _rescan(
        self,
        within: tuple[str, ...] = ("",),
        *,
        sweep: bool = False,
    ) -> None:
        """Scans folders or notes at once; `sweep` when a sweep named them. Raises Stopping."""
        started = time.perf_counter()
        index = self.memory.vault.indexing.index()
        if self._index is not index:
            # Slices that were written into another index are of no use to this one.
            self._notes.forget_large()
        self._index = index
        ingest = self.memory.vault.indexing.ingest()
        report = ingest.scan(within=within, progress=self.tell_progress)
        self._notes.take_ambiguous(report)
        if sweep:
            self._note_missed_events(report)
        if report.changed or report.removed:
            self.syncing.heard()
        self._stage_scanned(report, within)
        self._edit_upkeep.note_settled(report.changed)
        self._edit_upkeep.note_copies(report.copies)
        if within == ("",):
            self._edit_upkeep.check_all_pages()
        else:
            self._edit_upkeep.note_pages(report.unread)
        if report.changed:
            self._notes.report(_summary(report.changed), report.delta, started)
            self._embedding.wake()

    def _stage_scanned(
        self,
        report: ScanReport,
        within: tuple[str, ...],
    ) -> None:
        """Stages the changes of a scan for the clients that wait for changes."""
        self._changes.stage(report.changed)
        if within != ("",):
            self._changes.stage((*report.unread, *report.copies))
            return
        # A scan of the vault names all side files. Polling makes one every few seconds.
        if not self._changes.is_asked():
            self._side_files.forget()
            return
        side_files = self._side_files.changed((*report.unread, *report.copies))
        if side_files is None:
            self._changes.stage_loss()
        else:
            self._changes.stage(side_files)

    def _note_missed_events(self, report: ScanReport) -> None:
        """Counts the changes that raised no event: after some of them the watcher polls."""
        for path in (*report.changed, *report.removed):
            self.watcher.note_missed(path)

    def _is_replaced(self) -> bool:
        """Whether another folder is at the path of the vault now. Raises VaultUnreachable."""
        is_replaced = self.memory.vault.check_identity() is Identity.REPLACED
        if is_replaced:
            logger.info("the vault's folder was replaced; the vault is scanned again")
        return is_replaced

    def _sweep(self) -> None:
        """Compares the next slices of the vault, and scans the notes that differ."""
        if self._sweeping.wait() > 0:
            return
        # Fault (C57): an unmounted vault looks empty. Its notes were not deleted.
        if self._is_replaced():
            self._rescan()
            return
        findings = self._sweeping.turn(self.memory.vault.indexing.ingest())
        self._edit_upkeep.note_copies(findings.copies)
        self._edit_upkeep.note_pages(findings.unread)
        if len(findings.suspects) > MOST_SUSPECTS:
            self._rescan(sweep=True)
        elif findings.suspects:
            self._rescan(tuple(findings.suspects), sweep=True)

    def tell_progress(
        self,
        completed: int,
        total: int,
    ) -> None:
        """Reports the progress of a scan to the service manager. Raises Stopping."""
        if self._stop.is_made():
            raise Stopping
        self.notify.progress(completed, total)

    # --- A new generation of the index ---

    def _renew_outdated(self) -> None:
        """Builds a new index beside one with older rules, which serves meanwhile."""
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
            # The old generation goes on serving.
            logger.exception("the new generation could not be built")
        finally:
            memory.close()
        self.watcher.wake()

    # --- State ---

    def _doing(self) -> str:
        """Returns the state for the service manager, which every user of the machine may read."""
        if self.trouble:
            # Fault: the error may name a note, and every user of the machine may read
            # this line.
            return "the vault cannot be looked at; see the log"
        return f"watching ({self.watcher.mode})"

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher, a part of the `status` of a vault."""
        return {
            "mode": self.watcher.mode,
            "healthy": self.watcher.healthy and not self.trouble,
            "reason": self.trouble or self.watcher.reason,
        }


def _summary(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths)} notes"
