"""A vault whose upkeep is in this process, as a host has it: no socket, and one thread that takes turns."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from vault_memory.api.daemon_client import answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.socket_calls import Calls
from vault_memory.service.sync_turns import SyncTurns
from vault_memory.service.upkeep.read_barrier import Barrier
from vault_memory.service.upkeep.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.vault.watch.watcher import Watcher


class Upkeep:
    """What answers for one vault."""

    def __init__(self, memory: VaultMemory) -> None:
        self.memory = memory
        self.syncing = SyncTurns(memory.fork())
        self.watcher = Watcher(memory.root, memory.vault.config.watch)
        self.upkeep = VaultUpkeep(memory, self.watcher, UpkeepOwner())
        self.is_over = threading.Event()

    @property
    def trouble(self) -> str:
        return self.upkeep.trouble

    @property
    def barrier(self) -> Barrier:
        return self.upkeep.barrier

    def status(self):
        return self.upkeep.status()

    def run(self) -> None:
        while not self.is_over.is_set():
            hints = self.watcher.take(min(0.2, self.upkeep.wait()))
            self.upkeep.turn(hints)


@contextmanager
def upkeep_here(memory: VaultMemory) -> Iterator[Upkeep]:
    """Keeps the index up to date, and answers for the socket of the vault."""
    owner = Upkeep(memory.fork())
    owner.watcher.start()
    owner.upkeep.begin()
    thread = threading.Thread(target=owner.run)
    thread.start()
    calls = {"changes": owner.upkeep.changes.answer, **Calls(owner).table()}
    try:
        with answered_here(memory.vault.state.socket, calls):
            yield owner
    finally:
        owner.is_over.set()
        thread.join(30)
        owner.upkeep.close()
        owner.watcher.stop()
