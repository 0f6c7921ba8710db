"""The vaults of a host, and which of them are open: those in use, and the last used ones."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VAULT, RequestState, VaultUnknown
from vault_memory.config.sections import Config
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.turn_lane import Lanes
from vault_memory.service.vault_catalog import CatalogChanges, VaultCatalog, VaultTroubled
from vault_memory.vault.state_dir import state_root
from vault_memory.vault.watch.shared_watcher import SharedWatcher

UPKEEP_THREADS = 4
SYNC_THREADS = 4
NIGHT_THREADS = 2
EMBEDDING_THREADS = 1
VISIT_SECONDS = 0.05
"""Pause between the first visits of two vaults after the start"""
MEGABYTE = 1 << 20
FILES_OF_VAULT = 16
"""Open files that an open vault may need at once"""
OTHER_FILES = 200
"""Files for connections and for the host itself"""
CLOSED_SHARE = 10
"""When the memory is full, a tenth of the open vaults is closed at once"""


class Residents:
    """The vaults of the catalog. Any thread may use it."""

    def __init__(self, catalog: VaultCatalog, config: Config, watcher: SharedWatcher) -> None:
        self.catalog = catalog
        self.settings = config.host
        self.watching = config.watch
        """How a closed vault is watched"""
        self.watcher = watcher
        self.lanes = Lanes.with_threads(
            UPKEEP_THREADS, SYNC_THREADS, NIGHT_THREADS, EMBEDDING_THREADS
        )
        self.states = state_root(catalog.environment)
        """The folder of all state folders"""
        self._vaults: dict[str, HostedVault] = {}
        self._leaving: dict[str, HostedVault] = {}
        """Removed vaults that are still open"""
        self.tell_reopening: Callable[[str], None] = lambda vault: None
        """Receives the id of a vault that is closed once nobody uses it"""
        self.is_stopping = False

    # --- For requests ---

    @asynccontextmanager
    async def vault(self, state: RequestState) -> AsyncIterator[VaultMemory]:
        """Opens the vault that `state` names; it counts as in use until the end.

        Raises VaultUnknown, VaultTroubled, and what opening it raises.
        """
        vault = self._vaults.get(state[VAULT])
        if vault is None:
            if reason := self.catalog.trouble(state[VAULT]):
                raise VaultTroubled(reason)
            raise VaultUnknown
        opening = vault.begin_use()
        try:
            # A large vault is read for minutes when it is first opened. No thread waits for it.
            await asyncio.wrap_future(opening)
            yield vault.memory()
        finally:
            vault.end_use()

    def state_folder(self, vault: str) -> Path | None:
        """Returns the state folder of a vault of this host, without opening it."""
        # Fault: a browser that is signed in would be signed out, and not told what is wrong.
        is_known = vault in self._vaults or self.catalog.trouble(vault)
        return self.states / vault if is_known else None

    # --- For the host ---

    def vaults(self) -> list[HostedVault]:
        """Returns all vaults that are served."""
        return list(self._vaults.values())

    def find(self, vault: str) -> HostedVault | None:
        """Returns a vault by its id."""
        return self._vaults.get(vault)

    def open_vaults(self) -> list[HostedVault]:
        """Returns the open vaults, the longest unused first."""
        return sorted(
            (vault for vault in self.vaults() if vault.is_open), key=lambda vault: vault.used_at
        )

    def start(self) -> None:
        """Starts the threads."""
        self.lanes.start()

    def take_changes(self, changes: CatalogChanges) -> None:
        """Takes over what a renewal of the catalog found."""
        for vault_id in changes.removed:
            self._leaving[vault_id] = self._vaults.pop(vault_id)
            self._leaving[vault_id].remove()
        changed = [self._vaults[vault_id] for vault_id in changes.changed]
        # The watches of all old folders end before a new one begins.
        for vault in changed:
            self._replace_entry(vault)
        for vault in changed:
            vault.open_again()
        for number, vault_id in enumerate(sorted(changes.added)):
            self._add(vault_id, VISIT_SECONDS * number)
        self._leaving = {
            vault_id: vault for vault_id, vault in self._leaving.items() if not vault.is_at_rest
        }

    def _add(self, vault_id: str, seconds: float) -> None:
        """Serves a vault, and visits it in so many seconds."""
        entry = self.catalog.entry(vault_id)
        if entry is None:
            return
        vault = self._leaving.pop(vault_id, None)
        if vault is None:
            vault = HostedVault(entry, self)
        else:
            # Fault: beside a second object for a vault that is still open, the host would take
            # itself for another daemon, and tend the vault no more.
            vault.replace_entry(entry)
        self._vaults[vault_id] = vault
        # Its files may have changed while no host ran.
        vault.visit(seconds)

    def _replace_entry(self, vault: HostedVault) -> None:
        entry = self.catalog.entry(vault.entry.vault)
        if entry is not None:
            vault.replace_entry(entry)

    def note_left(self) -> None:
        """Visits the vaults in whose state folders other processes left something."""
        for vault in self.vaults():
            vault.look_for_leftovers()

    def check_limits(self) -> None:
        """Closes the vaults that were not used for longest, if there are too many or too large.

        Fault: a vault that was in use when others were closed for a new one stays open
        although the limit is exceeded.
        """
        self.make_room()
        limit = self.settings.memory_mb * MEGABYTE
        if limit and memory_in_use() > limit:
            open_vaults = self.open_vaults()
            self._ask_to_close(open_vaults, max(1, len(open_vaults) // CLOSED_SHARE))

    def make_room(self) -> None:
        most = min(self.settings.most_open, _most_by_files())
        excess = sum(vault.is_open for vault in self.vaults()) - most
        if excess > 0:
            self._ask_to_close(self.open_vaults(), excess)

    def _ask_to_close(self, open_vaults: list[HostedVault], count: int) -> None:
        unused = [vault for vault in open_vaults if not vault.users]
        for vault in unused[:count]:
            vault.ask_to_close()

    def begin_stop(self) -> None:
        """Lets no further turn begin, and ends those that run soon."""
        self.is_stopping = True
        for vault in self._all():
            vault.refuse_waiting()
            if vault.open_vault is not None:
                vault.open_vault.syncing.stop()
        self.lanes.stop()

    def stop(self, seconds: float) -> bool:
        """Ends all turns and closes all vaults. Returns False when a turn takes longer."""
        self.begin_stop()
        is_over = self.lanes.join(seconds)
        if is_over:
            for vault in self._all():
                vault.close_at_end()
        return is_over

    def _all(self) -> list[HostedVault]:
        """Returns the vaults that are served, and those that are still open."""
        return [*self._vaults.values(), *self._leaving.values()]


def _most_by_files() -> int:
    """Returns how many vaults the system's limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, (soft - OTHER_FILES) // FILES_OF_VAULT)


def memory_in_use() -> int:
    """Returns the bytes of memory that this process uses."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        # Systems without `/proc` tell only the most that was ever used.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
