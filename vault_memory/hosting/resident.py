"""One open vault of a host: its upkeep, its other turns, and what answers questions about it."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import state_file
from vault_memory.conversations.drop_folder import FOLDER as DROPS
from vault_memory.conversations.sessions import FOLDER as SESSIONS
from vault_memory.daemon.client import answered_here
from vault_memory.daemon.daemon_lock import DaemonLock, pid_of
from vault_memory.daemon.handlers import Calls
from vault_memory.daemon.read_barrier import Barrier
from vault_memory.daemon.turns.embedding_turns import EmbeddingTurns
from vault_memory.daemon.turns.night_turns import NightTurns
from vault_memory.daemon.turns.sync_turns import SyncTurns
from vault_memory.daemon.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.errors import Locked, VaultUnreachable
from vault_memory.hosting.catalog_entry import CatalogEntry
from vault_memory.hosting.turn_lane import NEVER
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


class HostStops(Exception):
    """The host ends, and a scan ends early. The next start scans the remaining notes."""


@dataclass(frozen=True, slots=True)
class ResidentOwner:
    """What an open vault asks of its host. Each of these plans a turn."""

    prune_seconds: float
    """When the host deletes old versions next: not at each opening"""
    was_caught_up: bool
    """Whether the versions of all notes were stored when the vault was closed"""
    wake_sync: Callable[[], None]
    wake_embedding: Callable[[], None]
    is_stopping: Callable[[], bool]


def _check_vault(
    entry: CatalogEntry,
    marker: Marker | None,
) -> None:
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
        self._heard: tuple[int, ...] = ()
        """State of the conversations at the last turn of the nights"""
        self._closing = ExitStack()
        with ExitStack() as stack:
            # Checked before as well: a folder without a marker would get one.
            _check_vault(entry, read_marker(entry.root))
            self.memory = VaultMemory.open(entry.root, environment=environment)
            stack.callback(self.memory.close)
            _check_vault(entry, self.memory.vault.marker)
            self.served = self._fork()
            """For requests, which take no turn of the upkeep"""
            stack.callback(self.served.close)
            self.syncing = SyncTurns(self._fork(), wake=owner.wake_sync)
            stack.callback(self.syncing.close)
            self.nights = NightTurns(self._fork())
            stack.callback(self.nights.close)
            self.embedding = EmbeddingTurns(self._fork())
            stack.callback(self.embedding.close)
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

    def _begin_upkeep(self, stack: ExitStack) -> VaultUpkeep | None:
        """Starts the upkeep; returns None when another daemon tends the vault."""
        try:
            self._lock = stack.enter_context(
                DaemonLock(self.memory.vault.state.lock_file)
            )
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
        is_unchanged = self._watch.start()
        upkeep = VaultUpkeep(
            self.memory,
            self._watch,
            UpkeepOwner(
                note_change=self.syncing.heard,
                note_settled_text=self._owner.wake_embedding,
                progress=self._check_stop,
                idle_seconds=CHECK_SECONDS,
                prune_seconds=self._owner.prune_seconds,
                is_caught_up=self._owner.was_caught_up and is_unchanged,
            ),
        )
        stack.callback(upkeep.close)
        # The scan covers what the watch asks for, so that it need not be made twice.
        upkeep.begin(self._take_hints(upkeep))
        self._is_outdated = upkeep.is_outdated
        self._upkeep = upkeep
        self._calls = Calls(self)
        stack.callback(self._calls.close)
        table = {"changes": upkeep.changes.answer, **self._calls.table()}
        stack.enter_context(answered_here(self.memory.vault.state.socket, table))
        return upkeep

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
        self.upkeep.turn(self._take_hints(self.upkeep))
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
        if self.upkeep is None:
            return True
        return bool(self.upkeep.trouble) or self.upkeep.wait() >= UNFINISHED_SECONDS

    def is_caught_up(self) -> bool:
        """Whether the versions of all notes are stored."""
        return self.upkeep is not None and self.upkeep.is_caught_up

    def look_soon(self) -> None:
        """Plans a check of the drop folder and of pending writes."""
        if self.upkeep is not None:
            self.upkeep.look_soon()

    def night_turn(self) -> float:
        """Takes a turn of the nights. Returns the seconds until the next, if nothing is said."""
        self._heard = self._sessions_signature()
        self.nights.turn()
        # A second connection to the index for each vault would need too many files.
        self.nights.rest()
        return self.nights.idle_wait()

    def has_news(self) -> bool:
        """Whether conversations went on or ended since the last turn of the nights; cheap."""
        return self._heard != self._sessions_signature()

    def _sessions_signature(self) -> tuple[int, ...]:
        folder = self.memory.vault.state.path / SESSIONS
        try:
            with os.scandir(folder) as people:
                folders = [entry.path for entry in people]
        except OSError:
            return ()
        times = [_newest(path) for path in folders]
        return tuple(sorted(times))

    def embedding_turn(self) -> float:
        """Takes a turn of the embedding. Returns the seconds until the next."""
        self._build_outdated()
        is_stopping = self._owner.is_stopping
        seconds: float = self.embedding.turn(lambda: not is_stopping())
        self.embedding.rest()
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
        if self.nights.is_enabled:
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

    def _check_stop(
        self,
        completed: int,
        total: int,
    ) -> None:
        if self._owner.is_stopping():
            raise HostStops


def _newest(folder: str) -> int:
    """Returns when a folder or a file in it changed last."""
    newest = _modified(folder)
    try:
        with os.scandir(folder) as entries:
            times = [_modified(entry.path) for entry in entries]
    except OSError:
        return newest
    return max([newest, *times])


class Leftovers(NamedTuple):
    """Numbers that differ when another process left something in a state folder."""

    drops: int
    """of dropped turns"""
    journal: int
    """of writes that wait"""


def leftovers_in(state: Path) -> Leftovers:
    """Returns the numbers of a state folder; cheap."""
    return Leftovers(
        _modified(str(state / DROPS)), _modified(str(state / "journal.sqlite-wal"))
    )


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
