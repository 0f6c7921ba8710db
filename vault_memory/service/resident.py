"""One open vault of a host: its upkeep, its other turns, and what answers questions about it."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from vault_memory.api.daemon_client import answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import state_file
from vault_memory.errors import Locked, VaultUnreachable
from vault_memory.ingest.lifecycle import Indexing
from vault_memory.service.daemon_lock import DaemonLock, pid_of
from vault_memory.service.embedding_turns import EmbeddingTurns
from vault_memory.service.leftovers import FileTimes, journal_in, sessions_in
from vault_memory.service.night_turns import NightTurns, has_nights
from vault_memory.service.socket_calls import Calls
from vault_memory.service.sync_turns import SyncTurns
from vault_memory.service.turn_lane import NEVER
from vault_memory.service.upkeep.read_barrier import Barrier
from vault_memory.service.upkeep.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.service.vault_catalog import CatalogEntry
from vault_memory.vault.marker import Marker, read_marker
from vault_memory.vault.watch.change_queue import ChangeHints

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.vault.watch.vault_watch import VaultWatch

logger = logging.getLogger(__name__)

UNFINISHED_SECONDS = 10.0
"""A vault whose upkeep wants its next turn sooner has unfinished work"""
CHECK_SECONDS = 60.0
"""Pause between two checks for what another process may have left in an open vault"""
SCAN_SECONDS = 3600.0
"""Age of the last scan of a vault after which it is scanned although nothing seems changed"""


class HostStops(Exception):
    """The host ends, and a scan ends early. The next start scans the remaining notes."""


@dataclass(frozen=True, slots=True)
class RestingState:
    """What is known of a vault whose work is all done, so that the next opening need not scan it."""

    generation: tuple[int, int]
    """The generation of its index, as `Indexing` names it"""
    rules: str
    """The rules by which it was built"""
    scanned_at: float
    """When all its notes were last compared with the index, by the monotonic clock"""

    def holds_for(self, indexing: Indexing) -> bool:
        """Whether the index is the same, and the last scan was not long ago."""
        # Fault (C62): some changes raise no event, such as those through a memory map.
        is_recent = time.monotonic() - self.scanned_at < SCAN_SECONDS
        is_same = self.rules == indexing.rules and self.generation == indexing.generation_in_use
        return is_recent and is_same


@dataclass(frozen=True, slots=True)
class ResidentOwner:
    """What an open vault asks of its host. Each of these plans a turn."""

    prune_seconds: float
    """When the host deletes old versions next: not at each opening"""
    resting: RestingState | None
    """What the last opening left; None when work was left, or others may have touched it"""
    journal: FileTimes
    """State of the journal right before the vault is opened"""
    wake_sync: Callable[[], None]
    wake_embedding: Callable[[], None]
    is_stopping: Callable[[], bool]


def _check_vault(entry: CatalogEntry, marker: Marker | None) -> None:
    # Fault: another vault may have taken the folder since the catalog was renewed. Its notes would
    # be shown to the people of this one.
    if marker is None or marker.vault != entry.vault:
        raise VaultUnreachable(
            f"`{entry.root}` is no longer the folder of this vault",
            hint="the host looks for moved vaults every few seconds",
        )


class Resident:
    """An open vault. One thread at a time may take a turn of one kind.

    If another daemon tends the vault, this one only answers, and has no `upkeep`.
    """

    def __init__(
        self,
        entry: CatalogEntry,
        environment: Mapping[str, str],
        watch: "VaultWatch",
        owner: ResidentOwner,
    ) -> None:
        """Opens the vault and brings its index up to date.

        Raises what `VaultMemory.open` does, and WatchEnded.
        """
        self.root = entry.root
        self._owner = owner
        self._watch = watch
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
        self._heard: tuple[int, ...] = ()
        """State of the conversations at the last turn of the nights"""
        self._closing = ExitStack()
        with ExitStack() as stack:
            # Checked before as well: a folder without a marker would get one.
            _check_vault(entry, read_marker(entry.root))
            self.memory = VaultMemory.open(entry.root, environment=environment)
            stack.callback(self.memory.close)
            _check_vault(entry, self.memory.vault.marker)
            self._state = self.memory.vault.state.path
            self.served = self._fork()
            """For requests, which take no turn of the upkeep"""
            stack.callback(self.served.close)
            self.syncing = SyncTurns(self._fork(), wake=owner.wake_sync)
            stack.callback(self.syncing.close)
            self.upkeep = self._begin_upkeep(stack)
            self._closing = stack.pop_all()

    def _fork(self) -> VaultMemory:
        """Opens the vault for another thread. Raises VaultUnreachable."""
        fork = self.memory.fork()
        try:
            # Fault: another vault may have taken the folder since it was opened.
            fork.vault.check_identity()
        except VaultUnreachable:
            fork.close()
            raise
        return fork

    def _late_fork(self) -> VaultMemory | None:
        """Opens the vault for the turns of another kind, until it is closed.

        Returns None when another vault took its folder: the next look for moved vaults closes it.
        """
        try:
            fork = self._fork()
        except VaultUnreachable:
            return None
        self._closing.callback(fork.close)
        return fork

    def _begin_upkeep(self, stack: ExitStack) -> VaultUpkeep | None:
        """Starts the upkeep; returns None when another daemon tends the vault."""
        try:
            self._lock = stack.enter_context(DaemonLock(self.memory.vault.state.lock_file))
        except Locked:
            pid = pid_of(self.memory.vault.state.lock_file)
            logger.info("the daemon %s tends a vault; it is only served here", pid)
            return None
        # Other programs put turns there.
        self.memory.conversations.drop_folder.make()
        # Fault (C59): a save during the scan must raise an event. So the watches come
        # before the scan.
        stack.callback(self._watch.stop)
        self._watch.settings = self.memory.vault.config.watch
        self._watch.start()
        upkeep = VaultUpkeep(
            self.memory,
            self._watch,
            UpkeepOwner(
                note_change=self.syncing.heard,
                note_settled_text=self._owner.wake_embedding,
                progress=self._check_stop,
                idle_seconds=CHECK_SECONDS,
                prune_seconds=self._owner.prune_seconds,
            ),
        )
        stack.callback(upkeep.close)
        self._begin(upkeep)
        self._upkeep = upkeep
        self._calls = Calls(self)
        stack.callback(self._calls.close)
        table = {"changes": upkeep.changes.answer, **self._calls.table()}
        stack.enter_context(answered_here(self.memory.vault.state.socket, table))
        return upkeep

    def _begin(self, upkeep: VaultUpkeep) -> None:
        """Scans the vault, unless nothing changed since it was closed at rest."""
        resting = self._owner.resting
        # The scan covers what the watch asks for, so that it need not be made twice.
        hints = self._take_hints(upkeep)
        if resting and not hints and resting.holds_for(self.memory.vault.indexing):
            self._scanned_at = resting.scanned_at
            self._tended_journal = self._owner.journal
            upkeep.resume()
            return
        self._scanned_at = time.monotonic()
        upkeep.begin(hints)
        self._is_outdated = self._was_outdated = upkeep.is_outdated

    def resting_state(self) -> RestingState | None:
        """Returns what the next opening may rely on; None when work is left."""
        is_at_rest = self.upkeep is not None and self.upkeep.is_at_rest
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
        if self.upkeep is not None:
            self._calls.shrink()

    def close(self) -> None:
        """Closes the vault, between two turns of each kind."""
        self._closing.close()

    # --- What answers need ---

    @property
    def trouble(self) -> str:
        """Why the vault cannot be read now; empty when it can."""
        return self._upkeep.trouble

    @property
    def barrier(self) -> Barrier:
        """What a question waits for."""
        return self._upkeep.barrier

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher."""
        return self._upkeep.status()

    # --- Turns ---

    def turn(self) -> float:
        """Takes a turn of the upkeep. Returns the seconds until the next, without new hints.

        Raises StateFolderGone.
        """
        if self.upkeep is None:
            return CHECK_SECONDS
        self._lock.check()
        journal = journal_in(self._state)
        if journal != self._tended_journal:
            # Fault: a request may have left a write that waits. Nobody would finish it after
            # the vault was closed.
            self.upkeep.look_for_writes()
        self.upkeep.turn(self._take_hints(self.upkeep))
        self._tended_journal = journal
        return min(self.upkeep.wait(), self._watch.wait())

    def may_tend(self) -> bool:
        """Whether the daemon that tended the vault has ended, so that this host has to."""
        if self.upkeep is not None:
            return False
        try:
            with state_file.lock(self.memory.vault.state.lock_file, patience=0):
                return True
        except (state_file.LockTaken, OSError):
            return False

    def _take_hints(self, upkeep: VaultUpkeep) -> ChangeHints:
        try:
            return self._watch.take(0)
        except OSError as error:
            # Fault (C57): the disk may be unmounted. The upkeep waits for it.
            upkeep.note_trouble(error)
            return ChangeHints()

    def is_quiet(self) -> bool:
        """Whether the upkeep has finished the work it began."""
        if self.upkeep is None or self.upkeep.trouble:
            return True
        return not self.has_new_writes() and self.upkeep.wait() >= UNFINISHED_SECONDS

    def has_new_writes(self) -> bool:
        """Whether the journal changed since the last turn of the upkeep looked at it."""
        is_new = self._tended_journal != journal_in(self._state)
        return self.upkeep is not None and is_new

    def look_soon(self) -> None:
        """Plans a check of the drop folder and of pending writes."""
        if self.upkeep is not None:
            self.upkeep.look_soon()

    def night_turn(self) -> float:
        """Takes a turn of the nights. Returns the seconds until the next, if nothing is said."""
        self._heard = sessions_in(self._state)
        if self._nights is None:
            fork = self._late_fork()
            if fork is None:
                return CHECK_SECONDS
            self._nights = NightTurns(fork)
        self._nights.turn()
        # A second connection to the index for each vault would need too many files.
        self._nights.rest()
        return self._nights.idle_wait()

    @property
    def has_nights(self) -> bool:
        """Whether the vault has nights."""
        return has_nights(self.memory.vault.config)

    def has_news(self) -> bool:
        """Whether conversations went on or ended since the last turn of the nights; cheap."""
        return self._heard != sessions_in(self._state)

    def embedding_turn(self) -> float:
        """Takes a turn of the embedding. Returns the seconds until the next."""
        self._build_outdated()
        is_stopping = self._owner.is_stopping
        if self._embedding is None:
            fork = self._late_fork()
            if fork is None:
                return CHECK_SECONDS
            self._embedding = EmbeddingTurns(fork)
        seconds: float = self._embedding.turn(lambda: not is_stopping())
        self._embedding.rest()
        return seconds

    @property
    def tends_remote(self) -> bool:
        """Whether this host keeps the vault in step with a remote."""
        return self.upkeep is not None and self.syncing.has_remote

    @property
    def embeds(self) -> bool:
        """Whether chunks need vectors, or the index follows older rules."""
        return self._is_outdated or self.memory.vault.config.embedding.kind != "off"

    def _build_outdated(self) -> None:
        """Builds a new index beside one with older rules, which serves meanwhile."""
        if self._is_outdated:
            self._is_outdated = False
            self._upkeep.build_generation()

    def closed_seconds(self, night_seconds: float) -> float:
        """Returns how long the vault may stay closed, if nothing changes in it.

        Its next night is due in `night_seconds`. The turns of the nights do not know that when
        none was taken since the vault was opened.
        """
        if self.upkeep is None:
            # Fault: nobody would tend the vault after the end of its own daemon.
            return CHECK_SECONDS
        seconds = [self._seconds_to_session_end()]
        if self.has_nights:
            seconds.append(night_seconds)
        if self.syncing.has_remote:
            poll_seconds = self.memory.vault.config.remote.poll_seconds
            seconds.append(max(poll_seconds, CHECK_SECONDS))
        if self.upkeep.trouble:
            seconds.append(CHECK_SECONDS)
        return min(seconds)

    def _seconds_to_session_end(self) -> float:
        """Returns the seconds until the first open conversation counts as ended."""
        ends_after = timedelta(minutes=self.memory.vault.config.sessions.idle_minutes)
        now = datetime.now(UTC)
        return min(
            (
                (session.last + ends_after - now).total_seconds()
                for session in self.memory.conversations.sessions.all()
                if session.is_open
            ),
            default=NEVER,
        )

    def _check_stop(self, completed: int, total: int) -> None:
        if self._owner.is_stopping():
            raise HostStops
