"""The upkeep of one vault: from hints of change to an index that search can trust.

New text is searchable at once. Conclusions, such as that a note was deleted, wait until the file
has settled. The upkeep has no thread, lock or socket of its own. Its owner takes hints from a
watcher and passes them to `upkeep_turn`: a daemon does that for one vault, a host for many.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.index.store import Index
from vault_memory.ingest.large_notes import is_heavy
from vault_memory.ingest.lifecycle import Indexing
from vault_memory.ingest.scan import ScanReport
from vault_memory.service.upkeep.conversation_upkeep import ConversationUpkeep, DropEvents
from vault_memory.service.upkeep.edit_upkeep import IDLE_SECONDS, EditUpkeep
from vault_memory.service.upkeep.large_note_upkeep import LargeNotes
from vault_memory.service.upkeep.note_indexer import NoteIndexer, PathChange
from vault_memory.service.upkeep.paced_upkeep import StampUpkeep, Sweeping
from vault_memory.service.upkeep.waiting_clients import (
    GRACE_SECONDS,
    Barrier,
    ChangeRing,
    watcher_status,
)
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder, Identity
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.note_event import NoteEvent

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.edits.conflict_copy import ResolvedConflict
    from vault_memory.vault.watch.vault_watch import VaultWatch
    from vault_memory.vault.watch.watcher import Watcher

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""Pause after the vault or the index could not be read"""
MOST_SUSPECTS = 500
"""Changed notes in a few slices of a sweep. Above this, one scan of the vault is cheaper."""
NO_HINTS = ChangeHints()


@dataclass(frozen=True, slots=True)
class UpkeepOwner:
    """What the upkeep of a vault reports to its owner, and what it asks."""

    tell: Callable[[PathChange], None] = lambda change: None
    """Receives each change of a note"""
    tell_copy: "Callable[[ResolvedConflict], None]" = lambda resolved: None
    """Receives each conflict copy that was resolved"""
    note_change: Callable[[], None] = lambda: None
    """Called when something in the vault may have changed: a sync may be due"""
    note_settled_text: Callable[[], None] = lambda: None
    """Called when text has settled: it may have to be embedded"""
    progress: Callable[[int, int], None] = lambda completed, total: None
    """Receives the progress of a scan. An exception from it ends the scan."""
    idle_seconds: float = IDLE_SECONDS
    """Pause between two checks for what another process may have left, such as pending writes"""
    drop_events: DropEvents | None = None
    """Events of the drop folder; without them it is checked after `look_soon`"""
    prune_seconds: float = 0.0
    """Pause before old versions are deleted: an owner that did so lately has a pause"""


class VaultUpkeep:
    """The work of a daemon for one vault.

    Any thread may call `begin` or `resume`, `upkeep_turn` and `close`, one call at a time. `barrier`,
    `changes` and `status` may be used by other threads meanwhile.
    """

    def __init__(
        self, memory: VaultMemory, watch: "Watcher | VaultWatch", owner: UpkeepOwner
    ) -> None:
        self.memory = memory
        self.trouble = ""
        """Why the vault cannot be read now; empty when it can"""
        self.barrier = Barrier(watch)
        self.changes = ChangeRing()
        self._watch = watch
        self._owner = owner
        self._index: Index | None = None
        """The index of the last turn"""
        self._generation = (0, 0)
        """The generation of the index at the last scan"""
        self._retry_at = 0.0
        """When the next turn is due after trouble"""
        self._edit_upkeep = EditUpkeep(
            memory,
            tell_copy=owner.tell_copy,
            idle_seconds=owner.idle_seconds,
            prune_seconds=owner.prune_seconds,
        )
        self._stamps = StampUpkeep(memory)
        self._sweeping = Sweeping()
        self._conversation_upkeep = ConversationUpkeep(
            memory, owner.drop_events, owner.idle_seconds
        )
        self._side_files = SideFiles(memory.vault.folder)
        self._notes = NoteIndexer(
            memory,
            self._edit_upkeep,
            LargeNotes(watch.wake),
            tell=owner.tell,
            wake_embedding=owner.note_settled_text,
        )
        memory.searcher.unread_notes = self._notes.unread
        # Other connections to the vault must not parse a large note either: it would
        # block the turns.
        memory.vault.indexing.leave = is_heavy

    def begin(self, hints: ChangeHints = NO_HINTS) -> None:
        """Scans the vault for the first time. The watches must be set before.

        The scan also covers the folders of `hints`, which were taken before it. Raises
        VaultUnreachable, and what `progress` of the owner raises.
        """
        self._rescan()
        self._take_hints(replace(hints, rescan=False, subtrees=frozenset()))

    def resume(self) -> None:
        """Begins without a scan, because nothing changed since the last upkeep was at rest.

        Neither the vault, nor its state folder, nor the rules of its index.
        """
        self._generation = self._indexing.generation_in_use
        self._edit_upkeep.resume()

    def close(self) -> None:
        """Ends the upkeep. The next one reads again what was left in the middle."""
        self.changes.close()
        self._notes.close()

    # --- One turn ---

    def upkeep_turn(self, hints: ChangeHints) -> None:
        """Handles hints, reads the notes that are due, and does the upkeep that is due.

        It does not raise because of a vault or an index that cannot be read: `trouble` names the
        reason, and each later turn tries again.
        """
        try:
            self._process(hints)
            self._end_trouble()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault (C57, B39): the disk may be unmounted or full. The upkeep waits for
            # it, and must not end.
            self.note_trouble(error)
        self._publish()

    def wait(self) -> float:
        """Returns how many seconds the owner may wait for hints before the next turn."""
        pause = min(
            self._notes.wait(),
            self._edit_upkeep.wait(),
            self._stamps.wait(),
            self._conversation_upkeep.wait(),
            self.barrier.wait(),
            self._sweeping.wait(),
        )
        if self.trouble:
            pause = min(pause, RETRY_SECONDS)
            pause = max(pause, self._retry_at - time.monotonic())
        return pause

    def is_caught_up(self) -> bool:
        """Returns whether the index has all that was saved before; another thread may ask."""
        return not self.trouble and self.barrier.passed() and not self._notes.unread()

    @property
    def is_at_rest(self) -> bool:
        """Whether all is done about what was saved so far, so that the next upkeep may `resume`."""
        has_work = (
            self.trouble
            or self._notes.is_busy
            or self._stamps.is_busy
            or not self._edit_upkeep.is_caught_up
        )
        return not has_work and self._generation == self._indexing.generation_in_use

    def look_soon(self) -> None:
        """Plans a check of the drop folder and of pending writes at the next turn.

        For an owner that knows that something was left there, of which no event reports.
        """
        self._conversation_upkeep.look_soon()
        self.look_for_writes()

    def look_for_writes(self) -> None:
        """Plans a check of pending writes at the next turn."""
        self._edit_upkeep.look_soon()

    def note_trouble(self, error: Exception) -> None:
        """Notes that the vault cannot be read now. The next turn scans it again."""
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if self.trouble != str(error):
            logger.warning("%s", error)
            # A client may show notes that cannot be read any more.
            self.changes.stage_loss()
        self.trouble = str(error)
        # Fault (C57): questions must not wait for a vault that cannot be read.
        self.barrier.lift(())
        if isinstance(error, DatabaseError):
            # A repaired index may lack slices that were written: the scan afterwards finds them.
            self._notes.forget_large()
            self._indexing.recover(error)

    def _publish(self) -> None:
        """Passes on what changed in this turn: search finds it now."""
        self.changes.stage(self._notes.take_changed())
        self.changes.publish()

    def _process(self, hints: ChangeHints) -> None:
        self._take_hints(hints)
        if self._notes.wait() <= 0:
            self._read_notes()
        elif self._generation != self._indexing.generation_in_use:
            self._rescan()
        self.barrier.lift(self._notes.read_soon(GRACE_SECONDS))
        self._edit_upkeep.tend_edits()
        self._stamps.write_due_stamps()
        self._conversation_upkeep.tend_conversations()
        self._sweep()

    def _read_notes(self) -> None:
        """Reads the notes that are due, and writes a slice of a large one."""
        indexing = self._indexing
        ingest = indexing.ingest()
        if self._generation != indexing.generation:
            self._rescan()
            ingest = indexing.ingest()
        self._use(ingest.index)
        self._notes.read_due(ingest)
        self._notes.write_large(indexing.ingest())
        self._stamps.note_indexed()

    @property
    def _indexing(self) -> Indexing:
        return self.memory.vault.indexing

    def _use(self, index: Index) -> None:
        """Goes on with a connection to the index, which may be another one than before."""
        if self._index is not index:
            # Slices that were written over another connection, or into another generation,
            # are of no use to this one.
            self._notes.forget_large()
        self._index = index

    def _end_trouble(self) -> None:
        if self.trouble:
            self.changes.stage_loss()
        self.trouble = ""

    # --- Hints ---

    def _take_hints(self, hints: ChangeHints) -> None:
        now = time.monotonic()
        self.barrier.reach(hints.marks)
        if hints.paths or hints.subtrees:
            self._owner.note_change()
        folders = self._folders_to_scan(hints)
        if folders:
            self._rescan(folders)
        if hints.sweep:
            self._sweeping.begin()
            # Another process may have indexed a note.
            self._stamps.note_indexed()
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

    def _take_event(self, path: str, now: float, *, closed: bool) -> None:
        event = NoteEvent.of(path, self.memory.layout)
        self._edit_upkeep.note_event(event)
        self._stamps.note_event(event)
        if event.is_indexed:
            self._notes.take(event, now, closed=closed)
        else:
            self.changes.stage((path,))

    # --- Scans ---

    def _rescan(self, within: tuple[str, ...] = ("",), *, sweep: bool = False) -> None:
        """Scans folders or notes at once; `sweep` when a sweep named them."""
        started = time.perf_counter()
        indexing = self._indexing
        self._use(indexing.index())
        if self._generation != indexing.generation:
            # Fault (G118): a new generation lacks what was saved while a thread built it.
            self._generation = indexing.generation
            within = ("",)
        ingest = indexing.ingest()
        self._stamps.note_indexed()
        report = ingest.scan(within=within, progress=self._owner.progress)
        self._notes.take_ambiguous(report)
        if sweep:
            self._note_missed_events(report)
        if report.changed or report.removed:
            self._owner.note_change()
        self._stage_scanned(report, within)
        self._edit_upkeep.note_settled(report.changed)
        self._edit_upkeep.note_copies(report.copies)
        if within == ("",):
            self._edit_upkeep.check_all_pages()
        else:
            self._edit_upkeep.note_pages(report.unread)
        if report.changed:
            self._notes.report(_summary(report.changed), report.delta, started)
            self._owner.note_settled_text()

    def _stage_scanned(self, report: ScanReport, within: tuple[str, ...]) -> None:
        """Stages the changes of a scan for the clients that wait for changes."""
        self.changes.stage(report.changed)
        if within != ("",):
            self.changes.stage((*report.unread, *report.copies))
            return
        # A scan of the vault names all side files. Polling makes one every few seconds.
        if not self.changes.is_asked():
            self._side_files.forget()
            return
        side_files = self._side_files.changed((*report.unread, *report.copies))
        if side_files is None:
            self.changes.stage_loss()
        else:
            self.changes.stage(side_files)

    def _note_missed_events(self, report: ScanReport) -> None:
        """Counts the changes that raised no event: after some of them the watcher polls."""
        for path in (*report.changed, *report.removed):
            self._watch.note_missed(path)

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
        findings = self._sweeping.compare_slices(self._indexing.ingest())
        self._edit_upkeep.note_copies(findings.copies)
        self._edit_upkeep.note_pages(findings.unread)
        if len(findings.suspects) > MOST_SUSPECTS:
            self._rescan(sweep=True)
        elif findings.suspects:
            self._rescan(tuple(findings.suspects), sweep=True)

    # --- A new generation of the index ---

    @property
    def is_outdated(self) -> bool:
        """Whether the index was built with older rules: `build_generation` is due."""
        return self._indexing.is_outdated

    def build_generation(self) -> None:
        """Builds a new index beside the present one, which serves meanwhile.

        Takes long for a large vault. Any thread may call it beside the turns.
        """
        memory = self.memory.fork()
        try:
            memory.vault.indexing.build(anyway=False)
        except Exception:
            # The old generation goes on serving.
            logger.exception("the new generation could not be built")
        finally:
            memory.close()
        self._watch.wake()

    # --- State ---

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher, a part of the `status` of a vault."""
        return watcher_status(self._watch, self.trouble)


def _summary(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths)} notes"


# --- Side files ---

# Files that search does not read, such as INBOX pages and audit files, between two scans.
#
# A scan only lists them. So their times and sizes are compared with those of the last scan.


class SideFiles:
    """The states of these files at the last scan."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._states: dict[str, Stat | None] | None = None

    def changed(self, paths: Iterable[str]) -> list[str] | None:
        """Returns which files differ from the last scan; None without an earlier scan."""
        previous = self._states
        self._states = {path: self._state(path) for path in paths}
        if previous is None:
            return None
        names = sorted(previous.keys() | self._states.keys())
        return [path for path in names if previous.get(path) != self._states.get(path)]

    def forget(self) -> None:
        """Forgets the last scan, while no client needs the difference."""
        self._states = None

    def _state(self, path: str) -> Stat | None:
        try:
            return self._folder.stat(path)
        except VaultMemoryError:
            # Fault (B40): the state is unknown now. At worst a client reads the file again.
            return None
