"""A host of a fleet: it holds vaults under leases, and gives back those that are idle.

Each held vault has a visit. Requests take vaults as they ask for them, and the host itself claims
those that are due. All leases are renewed by one statement. Threads do the work; a request waits
only for the vault that it asks for.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from vault_memory.addons.fleet.fleet_calls import erase_copy
from vault_memory.addons.fleet.fleet_errors import HostFull
from vault_memory.addons.fleet.ledger.contract import Holder, Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost, LedgerAway
from vault_memory.addons.fleet.scratch_room import ScratchRoom
from vault_memory.addons.fleet.serving.away_homes import AwayHomes
from vault_memory.addons.fleet.serving.held_vault import HeldLease, HeldVault, longest_unused
from vault_memory.addons.fleet.serving.host_counts import HostCounts
from vault_memory.addons.fleet.serving.night_pool import NightPool
from vault_memory.addons.fleet.serving.troubled_vault import give_back_troubled, logged_trouble
from vault_memory.addons.fleet.serving.vault_locks import VaultLocks
from vault_memory.addons.fleet.serving.vault_work import VaultWork
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.service.service_manager import Notify

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 5.0
"""An acknowledged operation goes home after so long"""
TURN_SECONDS = 1.0
"""Pause between two turns of the host: claims, flushes, idle vaults"""
CLAIMED_AT_ONCE = 4
"""Due vaults that are visited at once"""
RETURNED_AT_ONCE = 2
"""Vaults whose homes are asked at once whether they answer again"""
CLOSING_SECONDS = 20.0
"""For requests that still use a vault when the host ends"""
IDLE_SECONDS = 60.0
"""A vault without requests is given back after so long"""


# How a host appears in the ledger, and how much it holds.


class HostName(NamedTuple):
    """How the other hosts know this one."""

    name: str
    address: str
    most_open: int = 200
    idle_seconds: float = IDLE_SECONDS


class FleetHost:
    """The vaults that this host holds. Any thread may call it."""

    def __init__(
        self,
        ledger: Ledger,
        settings: VisitSettings,
        own: HostName,
        drained: Callable[[], None] = lambda: None,
    ) -> None:
        """`drained` is called once when the host was drained and holds nothing."""
        self.own = own
        self.ledger = ledger
        self._settings = settings
        self._drained = drained
        self._leased: dict[str, HeldVault] = {}
        self._arriving: dict[str, HeldLease] = {}
        """leases of vaults that are being opened"""
        self._changed = threading.Condition()
        self._room = ScratchRoom(
            settings.scratch, self._changed, lambda: {*self._leased, *self._arriving}
        )
        self._locks = VaultLocks(self._changed)
        self._work = VaultWork(self._changed)
        self._is_draining = False
        self._is_closed = threading.Event()
        self._notify = Notify(settings.environment)
        self._pool = ThreadPoolExecutor(CLAIMED_AT_ONCE, "visit")
        # Fault: homes that do not answer would take the threads of those that do.
        self._returns = ThreadPoolExecutor(RETURNED_AT_ONCE, "home")
        self._homes = AwayHomes(ledger, settings, own.name)
        self.nights = NightPool()
        self.counts = HostCounts()
        self._threads = [
            threading.Thread(target=self._renew_leases, name="leases"),
            threading.Thread(target=self._take_turns, name="fleet host"),
        ]

    def start(self) -> None:
        """Begin to claim vaults and to renew leases."""
        self.ledger.set_draining(self.own.name, False)
        for thread in self._threads:
            thread.start()

    def ready(self) -> None:
        """Tell the service manager that requests are answered."""
        self._notify.ready(self._doing())

    def _doing(self) -> str:
        """Return the state for the service manager, which every user of the machine may read."""
        state = "draining" if self._is_draining else "serving"
        return f"{state}, holding {len(self._leased)} vaults"

    def vaults(self) -> list[str]:
        """The ids of the vaults that this host holds."""
        with self._changed:
            return list(self._leased)

    # --- Requests ---

    def acquire(self, vault: str) -> HeldVault | Holder | None:
        """Use a vault for a request, or return who holds it; `release` ends the use.

        None: this host is draining, and no host holds the vault. Raises VaultUnavailable,
        LedgerAway.
        """
        with self._locks.lock(vault):
            entry = self._leased.get(vault)
            if entry is not None and entry.visit.lost:
                self._forget_held(vault, entry)
                entry = None
            if entry is None:
                began = time.monotonic()
                taken = self._take(vault)
                if not isinstance(taken, Lease):
                    return taken
                entry = self._opened(taken, began, is_asked=True)
            # Fault: without the ledger, another host may hold the vault by now.
            if not entry.is_current():
                raise LedgerAway("the lease of this vault ran out")
            with self._changed:
                entry.begin_use()
            return entry

    def release(self, entry: HeldVault) -> None:
        """End the use of a vault by a request."""
        with self._changed:
            entry.end_use()
            self._changed.notify_all()

    def _take(self, vault: str) -> Lease | Holder | None:
        if self._is_draining or self._is_closed.is_set():
            row = self.ledger.vault(vault)
            return row.holder
        if self._is_full():
            # Fault: another host may have this vault, however many this one has.
            holder = self.ledger.vault(vault).holder
            if holder is not None:
                return holder
            self._give_back_unused()
            if self._is_full():
                raise HostFull
        return self.ledger.take(vault, self.own.name, self.own.address)

    def _is_full(self) -> bool:
        with self._changed:
            return len(self._leased) + len(self._arriving) >= self.own.most_open

    def _give_back_unused(self) -> None:
        """Give back the vault that no request has used for longest."""
        with self._changed:
            occupied = self._locks.taken | self._work.busy
            entry = longest_unused(self._leased, occupied)
        if entry is not None:
            self._give_back(entry.lease.vault)

    def _opened(self, lease: Lease, began: float, *, is_asked: bool) -> HeldVault:
        """Open a vault that was leased after `began`. Raises VaultUnavailable.

        `is_asked`: a request waits for it. Without its home, it is opened for requests only.
        """
        # Fault: a large vault takes longer to arrive than a lease lasts.
        arriving = HeldLease(lease, began + self.ledger.lease_seconds)
        with self._changed:
            self._arriving[lease.vault] = arriving
        try:
            self._make_room()
            visit = self._homes.visit(lease, is_asked=is_asked)
            entry = HeldVault(visit, arriving.deadline)
            with self._changed:
                self._leased[lease.vault] = entry
            self.counts.add("opened")
        except Exception as error:
            self._give_up(lease, error)
            raise VaultUnavailable from None
        finally:
            with self._changed:
                del self._arriving[lease.vault]
        return entry

    def _make_room(self) -> None:
        """Erase local copies that nothing needs while the disk is nearly full."""
        for vault in self._room.make():
            self.ledger.erased(vault, self.own.name)

    def _give_up(self, lease: Lease, error: Exception) -> None:
        """Give a vault back that cannot be opened; it is tried again later."""
        if not isinstance(error, VaultMemoryError):
            logger.exception("a vault cannot be opened")
        trouble = getattr(error, "code", "internal")
        logger.warning("the vault %s cannot be opened: %s", lease.vault, trouble)
        self.counts.add("open_failed")
        give_back_troubled(self.ledger, lease, error)

    # --- Leases ---

    def _renew_leases(self) -> None:
        pause = self.ledger.lease_seconds / 3
        while not self._is_closed.wait(pause):
            try:
                self._renew()
            except VaultMemoryError as error:
                # Fault: the database is away. Reads go on until the leases end.
                logger.warning("leases are not renewed: %s", error.code)
            except Exception:
                # Fault: a bug would end the thread, and with it all leases of this host.
                logger.exception("leases are not renewed")

    def _renew(self) -> None:
        """Prolong all leases by one statement."""
        with self._changed:
            entries: list[HeldLease | HeldVault] = [
                *self._arriving.values(),
                *self._leased.values(),
            ]
        began = time.monotonic()
        renewed = self.ledger.renew([entry.lease for entry in entries])
        for entry in entries:
            if entry.lease.vault in renewed:
                entry.deadline = began + self.ledger.lease_seconds
            else:
                # Another host holds it, or this one has just given it back.
                entry.deadline = min(entry.deadline, began)

    # --- Turns ---

    def _take_turns(self) -> None:
        while not self._is_closed.wait(TURN_SECONDS):
            try:
                self._turn()
            except VaultMemoryError as error:
                logger.warning("the host waits for its ledger: %s", error.code)
            except Exception:
                logger.exception("a turn of the host failed")
            self._notify.report_state(self._doing())

    def _turn(self) -> None:
        self._is_draining = self.ledger.draining(self.own.name)
        with self._changed:
            entries = list(self._leased.items())
        for vault, entry in entries:
            self._tend(vault, entry)
        for vault in self.ledger.to_erase(self.own.name):
            self._submit(vault, partial(self._erase_copy, vault))
        if not self._is_draining:
            self._claim()
        elif not self._leased and not self._locks.taken and not self._work.busy:
            self._drained()

    def _tend(self, vault: str, entry: HeldVault) -> None:
        """Decide what a vault needs, and let the pool do it."""
        if entry.visit.lost or not entry.is_current():
            self._drop_if_lost(vault, entry)
        elif self._is_draining:
            self._submit(vault, partial(self._give_back, vault, CLOSING_SECONDS))
        elif entry.is_idle(self.own.idle_seconds):
            self._submit(vault, partial(self._give_back, vault))
        elif entry.visit.away is not None:
            if self._homes.is_time(entry):
                work = partial(self._return_home, vault, entry)
                self._submit(vault, work, self._returns)
        elif entry.needs_flush(FLUSH_SECONDS):
            self._submit(vault, partial(self._flush, entry))
        elif entry.needs_follow(self._settings.remote.poll_seconds):
            self._submit(vault, partial(self._flush, entry, follow=True))

    def _submit(
        self, vault: str, work: Callable[[], None], pool: ThreadPoolExecutor | None = None
    ) -> bool:
        """Let a pool work for a vault. Return False when one does so already."""
        return self._work.submit(vault, work, pool or self._pool)

    def _erase_copy(self, vault: str) -> None:
        """Delete the local copy of a vault that no visit uses, as the ledger asks."""
        # Fault: a request opens the vault at this moment.
        with self._locks.lock(vault):
            if vault not in self._leased:
                erase_copy(self.ledger, self.own.name, self._settings.scratch, vault)

    def entries(self) -> list[HeldVault]:
        """The vaults that this host holds."""
        with self._changed:
            return list(self._leased.values())

    def _claim(self) -> None:
        """Visit vaults that are due."""
        room = self.own.most_open - len(self._leased)
        most = min(room, CLAIMED_AT_ONCE - len(self._work.busy))
        # Fault: at night, each due vault has a night. Without a place for it, its visit does the
        # rest only, so that the others are not visited in vain all the time.
        if self.nights.is_full:
            most = min(most, 1)
        if most <= 0:
            return
        began = time.monotonic()
        for lease in self.ledger.claim(self.own.name, self.own.address, most):
            self.counts.add("claimed")
            if not self._submit(lease.vault, partial(self._visit, lease, began)):
                # Fault: the work that gave the vault back has not ended yet. Nobody would
                # renew or use this lease until it runs out.
                self.ledger.give_back(lease, datetime.now(UTC))

    def _visit(self, lease: Lease, began: float) -> None:
        """Do what is due in a vault: sessions that end, and nights."""
        with self._locks.lock(lease.vault):
            try:
                entry = self._opened(lease, began, is_asked=False)
                with self._changed:
                    entry.begin_use()
            except VaultMemoryError:
                return
        has_night = False
        try:
            with logged_trouble(), entry.visit.changing() as memory:
                memory.conversations.end_idle_sessions()
                has_night = bool(memory.learning.status()["due"])
            if has_night:
                has_night = self.nights.submit(partial(self._take_night, entry))
        finally:
            if not has_night:
                self._end_visit(entry)

    def _take_night(self, entry: HeldVault) -> None:
        """Learn in a vault that a visit has opened, and end the visit."""
        try:
            if self._is_draining or self._is_closed.is_set():
                return
            # Requests use the vault meanwhile, so the visit is not locked for so long.
            with logged_trouble(), entry.visit.changing() as memory:
                memory.sleep(due=True)
                self.counts.add("night")
        finally:
            self._end_visit(entry)

    def _end_visit(self, entry: HeldVault) -> None:
        """Give a due vault back, unless a request uses it: then it stays until it is idle."""
        self.release(entry)
        self._give_back(entry.lease.vault)

    def _return_home(self, vault: str, entry: HeldVault) -> None:
        """Open a vault again whose home answers again, under the same lease."""
        if not self._homes.has_returned(entry):
            return
        with self._locks.lock(vault):
            try:
                if self._leased.get(vault) is not entry or not entry.is_current():
                    return
                # Reads that take longer end with an error, and are asked again.
                self._is_unused(entry, CLOSING_SECONDS)
                entry.visit.close()
                began = entry.deadline - self.ledger.lease_seconds
                try:
                    current = self._opened(entry.lease, began, is_asked=True)
                except VaultMemoryError:
                    with self._changed:
                        self._leased.pop(vault, None)
                    return
                if current.visit.away is None:
                    self.counts.add("came_home")
                # What was kept meanwhile goes home soon.
                current.note_kept()
            except Exception:
                logger.exception("a vault is not brought back to its home")

    def _flush(self, entry: HeldVault, *, follow: bool = False) -> None:
        try:
            entry.flush(follow=follow)
            self.counts.add("flushed")
        except Exception as error:
            # The operations stay in the ledger until the home answers.
            self._note_unflushed(error)

    def _note_unflushed(self, error: Exception) -> None:
        self.counts.add("flush_failed")
        if isinstance(error, VaultMemoryError):
            logger.warning("a vault is not flushed: %s", error.code)
        else:
            logger.exception("a vault is not flushed")

    def _drop_if_lost(self, vault: str, entry: HeldVault) -> None:
        """Forget a vault whose lease is another host's. Without the ledger, it stays."""
        row = self.ledger.vault(vault)
        is_ours = row.epoch == entry.visit.lease.epoch
        if is_ours and not entry.visit.lost:
            self._renew()
            return
        self._forget_held(vault, entry)

    def _forget_held(self, vault: str, entry: HeldVault) -> None:
        with self._changed:
            # Fault: a request may have taken the vault again meanwhile. Its new entry must
            # stay, or nothing would renew that lease.
            if self._leased.get(vault) is entry:
                del self._leased[vault]
        entry.visit.close()

    def _give_back(self, vault: str, patience: float = 0.0) -> None:
        """Flush a vault that no request uses, and give it back."""
        with self._locks.lock(vault):
            try:
                entry = self._leased.get(vault)
                if entry is None or not self._is_unused(entry, patience):
                    return
                try:
                    entry.visit.leave()
                    self.counts.add("flushed")
                except LeaseLost:
                    logger.warning("another host holds the vault %s", vault)
                # Fault: a full disk. The visit has ended: kept, it would refuse each request.
                except Exception as error:
                    # The next holder has what was acknowledged.
                    self._note_unflushed(error)
                    give_back_troubled(self.ledger, entry.lease, error)
                with self._changed:
                    self._leased.pop(vault, None)
            except Exception:
                logger.exception("a vault cannot be given back")

    def _is_unused(self, entry: HeldVault, patience: float) -> bool:
        """Wait for the requests that use a vault, at most so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not entry.users, patience)

    def close(self) -> None:
        """Give all vaults back, after the requests that use them."""
        self._notify.stopping()
        self._is_closed.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        for vault in self.vaults():
            self._give_back(vault, CLOSING_SECONDS)
        self._pool.shutdown()
        self._returns.shutdown()
        self.nights.close()
        # A home may have come back meanwhile.
        for vault in self.vaults():
            self._give_back(vault)
