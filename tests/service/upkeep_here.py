"""A vault whose upkeep is in this process, as a host has it: no socket, and one thread that takes turns."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vault_memory.api.daemon_client import answered_here
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.daemon_lock import DaemonLock
from vault_memory.service.service_vault import ServiceVault, VaultOwner
from vault_memory.service.turn_lane import Lanes
from vault_memory.vault.watch.watcher import Watcher


@contextmanager
def upkeep_here(memory: VaultMemory) -> Iterator[ServiceVault]:
    """Keeps the index up to date, and answers for the socket of the vault."""
    own = memory.fork()
    watcher = Watcher(own.root, own.vault.config.watch)
    lanes = Lanes.with_threads(upkeep=0, sync=1, nights=1, embedding=1)
    owner = VaultOwner(lanes=lanes, is_stopping=lambda: False, is_alone=True)
    lock = DaemonLock(own.vault.state.lock_file)
    vault = ServiceVault(own, watcher, owner, lock)
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            vault.tend_vault(0.2)

    with lock, ExitStack() as stack:
        vault.open(stack)
        vault.begin()
        thread = threading.Thread(target=run)
        thread.start()
        try:
            with answered_here(own.vault.state.socket, vault.calls.table()):
                yield vault
        finally:
            is_over.set()
            thread.join(30)
