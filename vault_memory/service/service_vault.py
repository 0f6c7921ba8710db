"""One open vault: its upkeep, its turns of sync, nights and embedding, and what answers about it.

`run` has one of these, for life. A host opens and closes many.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from vault_memory.addons import table
from vault_memory.api.daemon_client import answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations.sessions import SESSION_IDLE
from vault_memory.errors import Locked, VaultMemoryError, VaultUnreachable
from vault_memory.service.background_turns import EmbeddingTurns, NightTurns, has_nights
from vault_memory.service.daemon_lock import DaemonLock, is_held, pid_of
from vault_memory.service.resting_state import FileTimes, RestingState, journal_in, sessions_in
from vault_memory.service.socket_calls import Calls
from vault_memory.service.sync_turns import LOOK_SECONDS, SyncTurns, pass_counts
from vault_memory.service.turn_lane import NEVER, Lanes, TurnJob, TurnLane
from vault_memory.service.upkeep.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.service.vault_catalog import CatalogEntry
from vault_memory.vault.marker import Marker, read_marker
from vault_memory.vault.watch.change_queue import ChangeHints

if TYPE_CHECKING:
    from vault_memory.vault.watch.vault_watch import VaultWatch
    from vault_memory.vault.watch.watcher import Watcher

logger = logging.getLogger(__name__)

UNFINISHED_SECONDS = 10.0
"""A vault whose next turn is due sooner has unfinished work"""
CHECK_SECONDS = 60.0
"""Pause between two checks for what another process may have left in an open vault"""
NIGHT_CHECK_SECONDS = 2.0
"""Time from the last turn of a conversation to the check for what it asks for"""
FIRST_NIGHT_SECONDS = 2.0
"""Pause of the nights at the start of a process, which has other work to do"""


class Stopping(Exception):
    """The process must stop, and a scan ends early. The next start scans the remaining notes."""


class OwnerChanged(Exception):
    """The notes have another owner than when the vault was opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultOwner(UpkeepOwner):
    """What an open vault asks of its process, and what it reports to it."""

    lanes: Lanes
    is_stopping: Callable[[], bool]
    tell_work: Callable[[str], None] = lambda line: None
    """Receives a line for each night, sync and embedding"""
    is_alone: bool = False
    """Whether the process has no other vault: then this one stays open, with its connections"""
    resting: RestingState | None = None
    """What the last opening left; None when work was left, or others may have touched it"""
    journal: FileTimes | None = None
    """State of the journal right before the vault is opened"""
    night_at: float = 0.0
    """When the nights are due although nothing is said, by the monotonic clock"""


class ServiceVault:
    """An open vault. One thread at a time may take a turn of the upkeep.

    Without a lock another daemon tends the vault. Then this process only serves requests, and there
    is no `upkeep`.
    """

    def __init__(
        self,
        memory: VaultMemory,
        watch: "Watcher | VaultWatch",
        owner: VaultOwner,
        lock: DaemonLock | None,
    ) -> None:
        self.memory = memory
        self.syncing: SyncTurns
        self.served: VaultMemory
        """For requests, which take no turn of the upkeep"""
        self.calls: Calls
        """For the socket of the vault"""
        self.upkeep: VaultUpkeep
        """What this process does for a vault that it tends"""
        self.is_tended = lock is not None
        self.closing = ExitStack()
        self.night_at = owner.night_at
        self._owner = owner
        self._watch = watch
        self._lock = lock
        self._state = memory.vault.state.path
        self._is_outdated = False
        """Whether a new generation of the index has to be built"""
        self._was_outdated = False
        """The same when the vault was opened"""
        self._scanned_at = 0.0
        self._tended_journal: FileTimes | None = None
        """State of the journal when pending writes were last looked for"""
        # Most openings are for one question, and take no turn of these.
        self._nights: NightTurns | None = None
        self._embedding: EmbeddingTurns | None = None
        self._sessions: tuple[int, ...] = ()
        """State of the conversations at the last turn of the nights"""
        self._jobs: tuple[tuple[TurnLane, TurnJob], ...] = ()
        """The turns of sync, nights and embedding, between `begin_turns` and `end_turns`"""
        if self.is_tended:
            upkeep_owner = replace(
                owner,
                note_change=lambda: self.syncing.note_vault_change(),
                note_settled_text=partial(self._plan, owner.lanes.embedding),
            )
            self.upkeep = VaultUpkeep(memory, watch, upkeep_owner)

    def open(self, stack: ExitStack) -> None:
        """Watches the vault, and opens the connections of turns and answers. The stack closes them."""
        self.closing = stack
        if self.is_tended:
            # Fault (C59): a save during the scan must raise an event. So the watches come
            # before the scan.
            stack.callback(self._watch.stop)
            self._watch.start()
        self.syncing = SyncTurns(
            self.fork(),
            tell=lambda report: self._owner.tell_work(f"synced: {pass_counts(report)}"),
            wake=partial(self._plan, self._owner.lanes.sync),
        )
        stack.callback(self._close_job, self._owner.lanes.sync, self.syncing.close)
        if self.is_tended:
            stack.callback(self.upkeep.close)
            self.calls = Calls(self.memory, self.upkeep, self.syncing)

    def fork(self) -> VaultMemory:
        """Opens the vault for another thread. Raises VaultUnreachable."""
        fork = self.memory.fork()
        try:
            # Fault: another vault may have taken the folder since it was opened.
            fork.vault.check_identity()
        except VaultUnreachable:
            fork.close()
            raise
        return fork

    def _late_fork(self, lane: TurnLane) -> VaultMemory | None:
        """Opens the vault for the turns on a lane, until it is closed.

        Returns None when another vault took its folder: the next look for moved vaults closes it.
        """
        try:
            fork = self.fork()
        except VaultUnreachable:
            return None
        self.closing.callback(self._close_job, lane, fork.close)
        return fork

    def _close_job(self, lane: TurnLane, close: Callable[[], None]) -> None:
        """Closes what the turns on a lane use."""
        # Fault: at the end of a process, a turn may take longer than anybody waits for it.
        if not any(job.is_running for own_lane, job in self._jobs if own_lane is lane):
            close()

    def begin(self) -> None:
        """Scans the vault, unless nothing changed since it was closed at rest.

        Raises VaultUnreachable, and Stopping.
        """
        upkeep, resting = self.upkeep, self._owner.resting
        # The scan covers what the watch asks for, so that it need not be made twice.
        hints = self._take_hints()
        if resting and not hints and resting.holds_for(self.memory.vault.indexing):
            self._scanned_at = resting.scanned_at
            self._tended_journal = self._owner.journal
            upkeep.resume()
            return
        self._scanned_at = time.monotonic()
        upkeep.begin(hints or ChangeHints())
        self._is_outdated = self._was_outdated = upkeep.is_outdated
        if self._is_outdated:
            self._plan(self._owner.lanes.embedding)

    def resting_state(self) -> RestingState | None:
        """Returns what the next opening may rely on; None when work is left."""
        is_at_rest = self.is_tended and self.upkeep.is_at_rest
        if not is_at_rest or self._was_outdated:
            return None
        indexing = self.memory.vault.indexing
        return RestingState(indexing.generation_in_use, indexing.rules, self._scanned_at)

    def shrink(self) -> None:
        """Gives back memory that the next requests read again.

        No request may use the vault meanwhile, and no turn of the upkeep may run.
        """
        self.memory.vault.shrink()
        self.served.vault.shrink()
        if self.is_tended:
            self.calls.shrink()

    def close(self) -> None:
        """Closes the vault, between two turns of each kind."""
        self.closing.close()

    # --- The upkeep ---

    def tend_vault(self, patience: float = 0.0) -> float:
        """Waits for hints, at most `patience` seconds, and takes a turn of the upkeep.

        Returns the seconds until the next turn, without new hints. Raises StateFolderGone, and
        OwnerChanged.
        """
        if self._lock is None:
            return CHECK_SECONDS
        self._lock.check()
        hints = self._take_hints(min(patience, self.upkeep.wait()))
        # Fault: a note would be indexed for the owner of before. The next opening scans it.
        if self.memory.vault.has_other_owner:
            raise OwnerChanged("the notes have another owner now")
        if hints is not None:
            self.upkeep.upkeep_turn(hints)
        return min(self.upkeep.wait(), self._watch.wait())

    def look_for_writes(self) -> None:
        """Plans a check of pending writes if the journal changed since the last one."""
        journal, before = journal_in(self._state), self._tended_journal
        self._tended_journal = journal
        if self.is_tended and journal != before:
            # Fault: a request may have left a write that waits. Nobody would finish it after
            # the vault was closed.
            self.upkeep.look_for_writes()

    def _take_hints(self, seconds: float = 0.0) -> ChangeHints | None:
        """Waits for hints, at most so many seconds. Returns None when the watcher failed."""
        try:
            return self._watch.take(seconds)
        except (VaultMemoryError, OSError) as error:
            # Fault (C57): the disk may be unmounted. The upkeep waits for it.
            self.upkeep.note_trouble(error)
            return None

    def may_tend(self) -> bool:
        """Whether the daemon that tended the vault has ended, so that this process has to."""
        if self.is_tended:
            return False
        try:
            return not is_held(self.memory.vault.state.lock_file)
        except OSError:
            return False

    def is_quiet(self) -> bool:
        """Whether the upkeep has finished the work it began."""
        if not self.is_tended or self.upkeep.trouble:
            return True
        return not self.has_new_writes() and self.upkeep.wait() >= UNFINISHED_SECONDS

    def has_new_writes(self) -> bool:
        """Whether the journal changed since the last turn of the upkeep looked at it."""
        return self.is_tended and self._tended_journal != journal_in(self._state)

    def look_soon(self) -> None:
        """Plans a check of the drop folder and of pending writes."""
        if self.is_tended:
            self.upkeep.look_soon()

    # --- Plans of sync, nights and embedding ---

    def begin_turns(self) -> None:
        """Makes a turn of each kind due that the vault has."""
        if not self.is_tended:
            return
        self._jobs = tuple((lane, TurnJob(turn)) for lane, turn in self._turns_of_config())
        for lane, job in self._jobs:
            is_later = self._owner.is_alone and lane is self._owner.lanes.nights
            lane.plan(job, FIRST_NIGHT_SECONDS if is_later else 0.0)

    def _turns_of_config(self) -> Iterator[tuple[TurnLane, Callable[[], float]]]:
        lanes, config = self._owner.lanes, self.memory.vault.config
        # A vault that is alone may get a remote, or an index with older rules, later.
        is_alone = self._owner.is_alone
        if is_alone or self._is_outdated or config.embedding.kind != "off":
            yield lanes.embedding, self._embedding_turn
        if is_alone or self.syncing.has_remote:
            yield lanes.sync, self._sync_turn
        if has_nights(config):
            yield lanes.nights, self._night_turn
        for companion in table.companions("index"):
            yield from companion.turns(self.memory.vault, self.closing, self._owner.tell_work)

    def end_turns(self) -> bool:
        """Withdraws all turns that are planned. Returns False while one runs: nothing ends then."""
        if not all(lane.withdraw(job) for lane, job in self._jobs):
            for lane, job in self._jobs:
                lane.plan(job, 1.0)
            return False
        self._jobs = ()
        return True

    def plan_night(self) -> None:
        """Lets the nights look soon at what a request may have recorded."""
        self._plan(self._owner.lanes.nights, NIGHT_CHECK_SECONDS)

    def _plan(self, lane: TurnLane, seconds: float = 0.0) -> None:
        for own_lane, job in self._jobs:
            if own_lane is lane:
                lane.plan(job, seconds)

    @property
    def is_taking_turn(self) -> bool:
        """Whether sync, nights or embedding take a turn now."""
        return any(job.is_running for _, job in self._jobs)

    def has_due_turn(self) -> bool:
        """Whether such a turn runs, or is due soon and has something to do."""
        now = time.monotonic()
        for lane, job in self._jobs:
            if job.is_running:
                return True
            is_check = lane is self._owner.lanes.nights and now < self.night_at
            if is_check and not self._has_new_sessions():
                continue
            if job.due < now + UNFINISHED_SECONDS:
                return True
        return False

    # --- Turns of sync, nights and embedding ---

    def _sync_turn(self) -> float:
        if not self._jobs:
            return NEVER
        seconds = self.syncing.sync_turn()
        return min(seconds, LOOK_SECONDS) if self._owner.is_alone else seconds

    def _night_turn(self) -> float:
        if not self._jobs:
            return NEVER
        now = time.monotonic()
        # Each request to one of many vaults plans this turn. Most say nothing that a night could
        # learn from.
        if now < self.night_at and not self._has_new_sessions():
            return self.night_at - now
        if self._nights is None:
            fork = self._late_fork(self._owner.lanes.nights)
            if fork is None:
                return CHECK_SECONDS
            self._nights = NightTurns(fork, tell=self._owner.tell_work)
        if self._owner.is_alone:
            return self._nights.night_turn()
        self._sessions = sessions_in(self._state)
        self._nights.night_turn()
        # A second connection to the index for each vault would need too many files.
        self._nights.rest()
        seconds = max(NIGHT_CHECK_SECONDS, self._nights.idle_wait())
        self.night_at = time.monotonic() + seconds
        return seconds

    def _has_new_sessions(self) -> bool:
        """Whether conversations went on or ended since the last turn of the nights; cheap."""
        return self._sessions != sessions_in(self._state)

    def _embedding_turn(self) -> float:
        if not self._jobs:
            return NEVER
        if self._is_outdated:
            self._is_outdated = False
            logger.info("building a new generation of the index; the old one serves meanwhile")
            self.upkeep.build_generation()
        if self._embedding is None:
            fork = self._late_fork(self._owner.lanes.embedding)
            if fork is None:
                return CHECK_SECONDS
            self._embedding = EmbeddingTurns(fork, tell=self._owner.tell_work)
        is_stopping = self._owner.is_stopping
        seconds = self._embedding.embedding_turn(lambda: not is_stopping())
        if not self._owner.is_alone:
            self._embedding.rest()
        return seconds

    # --- What is due while it is closed ---

    @property
    def tends_remote(self) -> bool:
        """Whether this process keeps the vault in step with a remote."""
        return self.is_tended and self.syncing.has_remote

    def closed_seconds(self, night_seconds: float) -> float:
        """Returns how long the vault may stay closed, if nothing changes in it.

        Its next night is due in `night_seconds`. The turns of the nights do not know that when
        none was taken since the vault was opened.
        """
        if not self.is_tended:
            # Fault: nobody would tend the vault after the end of its own daemon.
            return CHECK_SECONDS
        config = self.memory.vault.config
        seconds = [self._seconds_to_session_end()]
        if has_nights(config):
            seconds.append(night_seconds)
        if self.syncing.has_remote:
            seconds.append(max(config.remote.poll_seconds, CHECK_SECONDS))
        if self.upkeep.trouble:
            seconds.append(CHECK_SECONDS)
        return min(seconds)

    def _seconds_to_session_end(self) -> float:
        """Returns the seconds until the first open conversation counts as ended."""
        now = datetime.now(UTC)
        return min(
            (
                (session.last + SESSION_IDLE - now).total_seconds()
                for session in self.memory.conversations.sessions.all()
                if session.is_open
            ),
            default=NEVER,
        )


def open_among_many(
    entry: CatalogEntry, environment: Mapping[str, str], watch: "VaultWatch", owner: VaultOwner
) -> ServiceVault:
    """Opens a vault of a host, and brings its index up to date.

    Raises what `VaultMemory.open` does, WatchEnded, and Stopping.
    """
    with ExitStack() as stack:
        # Checked before as well: a folder without a marker would get one.
        _check_vault(entry, read_marker(entry.root))
        memory = VaultMemory.open(entry.root, environment=environment)
        stack.callback(memory.close)
        _check_vault(entry, memory.vault.marker)
        lock = _lock_among_many(memory, stack)
        opened = ServiceVault(memory, watch, owner, lock)
        if lock is not None:
            # Other programs put turns there.
            memory.conversations.drop_folder.make()
            watch.settings = memory.vault.config.watch
        opened.served = opened.fork()
        stack.callback(opened.served.close)
        opened.open(stack)
        if lock is not None:
            # A daemon leaves them open: answers under way at its end need their connection.
            stack.callback(opened.calls.close)
            opened.begin()
            socket = memory.vault.state.socket
            stack.enter_context(answered_here(socket, opened.calls.table()))
        opened.closing = stack.pop_all()
        return opened


def _check_vault(entry: CatalogEntry, marker: Marker | None) -> None:
    # Fault: another vault may have taken the folder since the catalog was renewed. Its notes would
    # be shown to the people of this one.
    if marker is None or marker.vault != entry.vault:
        raise VaultUnreachable(
            f"`{entry.root}` is no longer the folder of this vault",
            hint="the host looks for moved vaults every few seconds",
        )


def _lock_among_many(memory: VaultMemory, stack: ExitStack) -> DaemonLock | None:
    """Locks the vault for this process; returns None when another daemon tends it."""
    lock_file = memory.vault.state.lock_file
    try:
        return stack.enter_context(DaemonLock(lock_file))
    except Locked:
        logger.info("the daemon %s tends a vault; it is only served here", pid_of(lock_file))
        return None
