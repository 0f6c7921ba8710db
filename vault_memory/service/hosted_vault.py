"""One vault of a host: closed while nothing happens, and opened when it is asked, due or changed.

All that opens, tends and closes it are turns of one job. So no two threads do it at the same time.
"""

import logging
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VaultUnavailable, VaultUnknown
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.service.background_turns import night_delay
from vault_memory.service.host_folder import has_more_notes
from vault_memory.service.resting_state import Leftovers, RestingState, journal_in, leftovers_in
from vault_memory.service.service_vault import (
    CHECK_SECONDS,
    OwnerChanged,
    ServiceVault,
    Stopping,
    VaultOwner,
    open_among_many,
)
from vault_memory.service.turn_lane import AT_ONCE, NEVER, TurnJob
from vault_memory.service.upkeep.edit_upkeep import PRUNE_SECONDS
from vault_memory.service.vault_catalog import CatalogEntry
from vault_memory.vault.watch.vault_watch import VaultWatch, WatchEnded

if TYPE_CHECKING:
    from vault_memory.service.vault_host import VaultHost

logger = logging.getLogger(__name__)

SHRINK_SECONDS = 2.0
"""Time after its last use until an open vault gives memory back"""
MANY_NOTES = 200
"""A new vault with more notes is read for so long that others would wait"""
CLOSING_SECONDS = 1.0
"""Time until a vault that has to be closed is looked at again"""
RETRY_SECONDS = 5.0
"""Pause after a vault could not be opened; doubled after each further failure"""
LONGEST_RETRY_SECONDS = 3600.0
RECENT_SECONDS = 5.0
"""A request that fails because of a failure so recent is not tried again at once"""


class HostedVault:
    """A vault of a host. Any thread may use it."""

    def __init__(self, entry: CatalogEntry, host: "VaultHost") -> None:
        self.entry = entry
        self.open_vault: ServiceVault | None = None
        """The open vault; only a turn of the upkeep sets it"""
        self.users = 0
        """Requests that use the vault now"""
        self.used_at = 0.0
        """When a request or a change came last, by the monotonic clock"""
        self.failure = OpeningFailure()
        """Why it could not be opened"""
        self.due_at = time.monotonic()
        """When a closed vault is opened although nothing happens"""
        self.opened = 0
        """How often it was opened"""
        self._state = host.states / entry.vault
        self._leftovers: Leftovers | None = None
        """What other processes had left in the state folder at the last look"""
        self._resting: RestingState | None = None
        """What was known of it when it was closed; None when the next opening has to scan it"""
        self._prune_at = 0.0
        """When old versions are deleted next, by the monotonic clock"""
        self._night_at = 0.0
        """When the nights are due although nothing is said, by the monotonic clock"""
        self._host = host
        self._open_root = ""
        self._opened_entry: CatalogEntry | None = None
        """What it was opened with last; None when it has to be opened again, with a scan"""
        self._lock = threading.Lock()
        self._watching = threading.Lock()
        """guards the entry and the watch, which is set again when the folder is another one"""
        self._waiting: list[Future[None]] = []
        self._must_close = False
        self._is_shrunk = False
        """Whether it gave memory back since the last request"""
        self._is_removed = False
        self._upkeep = TurnJob(self._upkeep_turn)
        self.watch = host.watcher.add(entry.root, host.config.watch, self.note_change)

    @property
    def is_open(self) -> bool:
        """Whether the vault is open."""
        return self.open_vault is not None

    @property
    def is_at_rest(self) -> bool:
        """Whether the vault is closed, and no turn is opening it."""
        return not self._upkeep.is_running and self.open_vault is None

    @property
    def _is_over(self) -> bool:
        """Whether the open vault has to be closed for good, or to be opened again."""
        is_outdated = self._is_removed or self._opened_entry is not self.entry
        return self.is_open and is_outdated

    # --- Requests ---

    def begin_use(self) -> Future[None]:
        """Counts a request. The future is done when the vault is open, or has its error."""
        future: Future[None] = Future()
        with self._lock:
            self.users += 1
            self.used_at = time.monotonic()
            self._is_shrunk = False
            # Fault: the answers of a vault that was moved would be those of an index that nothing
            # brings up to date, until it is opened in its new folder.
            if self.open_vault is not None and self._open_root == self.entry.root:
                future.set_result(None)
                return future
            if self.open_vault is not None or self._host.is_stopping:
                future.set_exception(VaultUnavailable())
                return future
            error = self.failure.recent_error
            if error is not None:
                future.set_exception(error)
                return future
            self._waiting.append(future)
        # Fault: lost events of all vaults plan a turn of each. Requests would wait for these.
        self._host.lanes.upkeep.plan(self._upkeep, AT_ONCE)
        return future

    def end_use(self) -> None:
        """Ends a request."""
        with self._lock:
            self.users -= 1
            self.used_at = time.monotonic()
        # A request may have recorded a turn of a conversation.
        open_vault = self.open_vault
        if open_vault is not None:
            open_vault.plan_night()
        must_close = self._must_close or self._is_over
        pause = 0.0 if must_close else self._idle_pause()
        self._host.lanes.upkeep.plan(self._upkeep, pause)

    def memory(self) -> VaultMemory:
        """Returns the open vault for a request that counts as its user."""
        assert self.open_vault is not None
        return self.open_vault.served

    def refuse_waiting(self) -> None:
        """Refuses the requests that wait for the opening, because the host ends."""
        # Fault: no turn begins any more, and the end of the server would wait for them.
        self._fail_waiting(VaultUnavailable())

    # --- The host ---

    def note_change(self) -> None:
        """Notes that the vault has hints to take, or changed while it was closed."""
        self._host.lanes.upkeep.plan(self._upkeep, AT_ONCE if self.users else 0.0)

    def look_for_leftovers(self) -> None:
        """Takes a turn if another process left something in the state folder."""
        leftovers = self._leftovers
        if leftovers is None:
            # The first visit has not come yet, and finds everything.
            return
        now = leftovers_in(self._state)
        vault = self.open_vault
        if vault is None and now != leftovers:
            self._leftovers = now
            self._resting = None
            self._host.lanes.upkeep.plan(self._upkeep)
        # An open vault writes its journal itself, and looks at it from time to time.
        elif vault is not None and now.drops != leftovers.drops:
            self._leftovers = now
            vault.look_soon()
            self._host.lanes.upkeep.plan(self._upkeep)

    def visit(self, seconds: float) -> None:
        """Opens the vault in so many seconds, to see what is due in it."""
        self._host.lanes.upkeep.plan(self._upkeep, seconds)

    def ask_to_close(self) -> None:
        """Closes the vault as soon as it is not in use and has no unfinished work."""
        self._must_close = True
        self._host.lanes.upkeep.plan(self._upkeep)

    def replace_entry(self, entry: CatalogEntry) -> None:
        """Uses another configuration or another folder from the next opening on."""
        with self._watching:
            if entry.root != self.entry.root:
                # Fault: the watch would follow the vault that is in the old folder now, and
                # take the events of that one.
                self._host.watcher.remove(self.watch)
            self.entry = entry
            self._is_removed = False
        self.failure.allow_try()

    def open_again(self) -> None:
        """Opens the vault with its new entry, as soon as it is not in use."""
        self._host.tell_reopening(self.entry.vault)
        self.visit(0.0)

    def remove(self) -> None:
        """Closes the vault for good: it is not below the folder any more."""
        with self._watching:
            self._is_removed = True
            self._host.watcher.remove(self.watch)
        self._host.tell_reopening(self.entry.vault)
        self.visit(0.0)

    # --- The turns of the upkeep, which also open and close ---

    def _upkeep_turn(self) -> float:
        if self.open_vault is None and self._announces_long_opening():
            return AT_ONCE if self._waiting else 0.0
        if self.open_vault is None and not self._open():
            return self._retry_seconds()
        vault = self.open_vault
        assert vault is not None
        # Fault: a vault that is opened again once nobody uses it would be tended meanwhile with
        # an owner or a state folder of before, and each turn would warn.
        seconds = self._tend(vault) if self._opened_entry else CLOSING_SECONDS
        if vault.may_tend():
            self._reopen()
        if self._may_close(vault) and self._close(vault):
            return self._seconds_until_due()
        return self._pause_after_turn(vault, seconds)

    def _tend(self, vault: ServiceVault) -> float:
        """Takes a turn of the upkeep of the open vault. Returns the seconds until the next."""
        vault.look_for_writes()
        try:
            return vault.tend_vault()
        except (VaultMemoryError, OwnerChanged) as error:
            # Fault (A26): the state folder was removed. It is made again, and the notes are
            # read again.
            logger.warning("the vault `%s` is opened again: %s", self.entry.root, error)
            self._reopen()
            return CLOSING_SECONDS

    def _pause_after_turn(self, vault: ServiceVault, seconds: float) -> float:
        """Returns the seconds until the next turn of an open vault, whose upkeep names `seconds`."""
        if self._must_close or self._is_over:
            seconds = min(seconds, CLOSING_SECONDS)
        if self.users:
            # The end of the last request plans the turn that closes the vault.
            return seconds
        self._shrink(vault)
        idle_at = self.used_at + self._idle_pause() - time.monotonic()
        return min(seconds, max(1.0, idle_at))

    def _idle_pause(self) -> float:
        """Returns how long the vault is unused when its next turn is due."""
        idle_seconds = self._host.config.host.idle_seconds
        return idle_seconds if self._is_shrunk else min(SHRINK_SECONDS, idle_seconds)

    def _shrink(self, vault: ServiceVault) -> None:
        """Lets an open vault give memory back, once after each time of use."""
        if self._is_shrunk or time.monotonic() < self.used_at + SHRINK_SECONDS:
            return
        with self._lock:
            # A request that comes now waits for the lock, and not for long.
            if not self.users:
                vault.shrink()
                self._is_shrunk = True

    def _reopen(self) -> None:
        """Lets the vault be closed and opened again, as soon as it is not in use."""
        if self._opened_entry is not None:
            self._opened_entry = None
            self._host.tell_reopening(self.entry.vault)

    def _begin_opening(self) -> tuple[CatalogEntry, VaultWatch]:
        """Returns what to open, and its watch. Raises VaultUnknown when the vault was removed."""
        with self._watching:
            if self._is_removed:
                raise VaultUnknown
            entry = self.entry
            if self.watch.is_removed or self.watch.root != entry.root:
                host = self._host
                host.watcher.remove(self.watch)
                self.watch = host.watcher.add(entry.root, host.config.watch, self.note_change)
                # Fault: nobody heard what happened between the two watches.
                self._opened_entry = None
            return entry, self.watch

    def _announces_long_opening(self) -> bool:
        """Lets the next turn count as long if it is the first opening of a large vault."""
        # Fault: the first scans of some new vaults would occupy all threads, and questions
        # about other vaults would wait.
        is_announced = self._upkeep.is_long
        self._upkeep.expects_long = not is_announced and self._is_large_and_new()
        return self._upkeep.expects_long

    def _is_large_and_new(self) -> bool:
        if (self._state / "index" / "current").exists():
            return False
        return has_more_notes(self.entry.root, MANY_NOTES)

    def _open(self) -> bool:
        """Opens the vault. Returns False when it cannot be opened."""
        self._must_close = False
        # Fault: turns that are dropped during the opening would be found an hour later.
        leftovers, self._leftovers = self._leftovers, leftovers_in(self._state)
        resting, self._resting = self._resting, None
        prune_seconds = max(0.0, self._prune_at - time.monotonic())
        try:
            entry, watch = self._begin_opening()
            owner = VaultOwner(
                lanes=self._host.lanes,
                is_stopping=lambda: self._host.is_stopping,
                progress=self._check_stop,
                idle_seconds=CHECK_SECONDS,
                prune_seconds=prune_seconds,
                resting=resting if self._is_untouched(entry, leftovers) else None,
                journal=self._leftovers.journal,
                night_at=self._night_at,
            )
            vault = open_among_many(entry, self._host.catalog.environment, watch, owner)
        except VaultUnknown as error:
            # Fault: a request that came just before would wait for ever.
            self._fail_waiting(error)
            return False
        except Stopping:
            self._fail_waiting(VaultUnavailable())
            return False
        except WatchEnded:
            # The vault was moved or removed meanwhile, and that planned the next turn.
            return False
        except (VaultMemoryError, DatabaseError, OSError) as error:
            self._note_failure(error)
            return False
        except Exception as error:
            # A bug must not leave requests waiting.
            logger.exception("the vault `%s` cannot be opened", self.entry.root)
            self._note_failure(error)
            return False
        if prune_seconds == 0:
            self._prune_at = time.monotonic() + PRUNE_SECONDS
        self.used_at = max(self.used_at, time.monotonic() - self._host.config.host.idle_seconds + 1)
        with self._lock:
            self.open_vault, self._opened_entry, self._open_root = vault, entry, entry.root
            self.failure.end()
            self.opened += 1
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
        vault.begin_turns()
        self._host.make_room()
        return True

    def _check_stop(self, completed: int, total: int) -> None:
        if self._host.is_stopping:
            raise Stopping

    def _is_untouched(self, entry: CatalogEntry, leftovers: Leftovers | None) -> bool:
        """Whether its configuration and its state folder are as they were when it was closed."""
        # Fault: a command beside the host may have indexed a save before its version was
        # stored. Another configuration may claim other notes.
        return entry is self._opened_entry and leftovers == self._leftovers

    def _note_failure(self, error: Exception) -> None:
        if str(error) != self.failure.reason:
            logger.warning("the vault `%s` cannot be opened: %s", self.entry.root, error)
        with self._lock:
            self.failure.note(error)
        self._fail_waiting(error)

    def _fail_waiting(self, error: Exception) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            # A client that went away has cancelled it.
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

    def _retry_seconds(self) -> float:
        if self._is_removed or self._host.is_stopping:
            return NEVER
        return self.failure.pause()

    def _may_close(self, vault: ServiceVault) -> bool:
        if self.users:
            return False
        if self._is_over:
            # Fault: a vault that syncs every few seconds always has a turn that is due soon. What
            # is unfinished goes on after the next opening.
            return not vault.is_taking_turn
        if not vault.is_quiet() or vault.has_due_turn():
            return False
        idle = time.monotonic() - self.used_at
        # A vault with a remote stays open: it asks its server every few seconds.
        is_idle = idle >= self._host.config.host.idle_seconds and not vault.tends_remote
        return is_idle or self._must_close

    def _close(self, vault: ServiceVault) -> bool:
        """Closes the vault. Returns False when it is in use, or has another turn now."""
        is_over = self._is_over
        with self._lock:
            is_used = self.users or (vault.has_new_writes() and not is_over)
            if is_used or not vault.end_turns():
                return False
            self.open_vault = None
        self._night_at = vault.night_at
        seconds = vault.closed_seconds(self._seconds_to_night())
        self._resting = vault.resting_state()
        if is_over:
            seconds = 0.0
        try:
            vault.close()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("the vault `%s`: %s", self.entry.root, error)
        if self.watch.wait() < NEVER:
            # No event reports a change of this vault.
            seconds = min(seconds, CHECK_SECONDS)
        if self._leftovers is not None:
            journal = journal_in(self._state)
            self._leftovers = self._leftovers._replace(journal=journal)
        self.due_at = time.monotonic() + seconds
        self._must_close = False
        return True

    def _seconds_to_night(self) -> float:
        """Returns when the vault is opened for its nights; those of all vaults are spread."""
        seconds = self._night_at - time.monotonic()
        return seconds + night_delay(self.entry.vault).total_seconds() if seconds > 0 else 0.0

    def _seconds_until_due(self) -> float:
        if self._is_removed:
            return NEVER
        if self._waiting:
            return 0.0
        return max(0.0, self.due_at - time.monotonic())

    def close_at_end(self) -> None:
        """Closes the vault at the end of the host, when no turn runs any more."""
        self._fail_waiting(VaultUnavailable())
        with self._lock:
            vault, self.open_vault = self.open_vault, None
        if vault is not None:
            vault.close()


# --- Opening failure ---


class OpeningFailure:
    """The last failure to open a vault, and how many came in a row; none at first."""

    def __init__(self) -> None:
        self.reason = ""
        """Why the vault could not be opened; empty when it could"""
        self.tries = 0
        """Failures to open it, in a row"""
        self._error: Exception | None = None
        self._failed_at = 0.0

    @property
    def recent_error(self) -> Exception | None:
        """The error that a request gets without another try; None when the vault may be tried."""
        # Fault: each request to a vault that is away would open it again.
        if time.monotonic() - self._failed_at > RECENT_SECONDS:
            return None
        return self._error

    def note(self, error: Exception) -> None:
        """Notes a failure."""
        self.reason, self._error = str(error), error
        self.tries += 1
        self._failed_at = time.monotonic()

    def end(self) -> None:
        """Notes that the vault could be opened."""
        self.reason, self.tries, self._error = "", 0, None

    def allow_try(self) -> None:
        """Lets the next request try again at once: the cause may be gone."""
        self._error = None

    def pause(self) -> float:
        """Returns the seconds from the failure until the next try without a request."""
        doublings = max(0, min(self.tries - 1, 12))
        return min(RETRY_SECONDS * (1 << doublings), LONGEST_RETRY_SECONDS)
