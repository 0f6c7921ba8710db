"""Syncs the vault in the background: a thread of its own, with its own connections and index.

The loop never waits for it, and a failing server disturbs nothing else.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.turns.sync_turns import SyncTurns

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import SyncRequestedJson
    from vault_memory.contract.status_answers import SyncStatusJson
    from vault_memory.sync.pass_report import PassReport

LOOK_SECONDS = 2.0
"""Time between two checks of the configuration and the password file"""
PATIENCE_SECONDS = 0.8
"""How long the end of the daemon waits for the current request"""


class Syncing:
    """The thread that syncs one vault with its remote whenever a pass is due."""

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[["PassReport"], None] = lambda report: None
    ) -> None:
        self._woken = threading.Event()
        self._stop = threading.Event()
        self._turns = SyncTurns(memory, tell=tell, wake=self._woken.set)
        self._thread = threading.Thread(target=self._run, name="syncing", daemon=True)
        self._thread.start()

    def heard(self) -> None:
        """Notes that something in the vault may have changed. Any thread may call it."""
        self._turns.heard()

    def now(self, arguments: Mapping[str, Any] | None = None) -> "SyncRequestedJson":
        """Requests a pass as soon as possible. Returns the status until then."""
        return self._turns.now(arguments)

    def status(self) -> "SyncStatusJson | None":
        """Returns the status of sync; None without a remote."""
        return self._turns.status()

    def close(self) -> None:
        """Ends the thread, between two requests if that is soon enough."""
        self._stop.set()
        self._turns.stop()
        self._woken.set()
        self._thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            wait = self._turns.turn()
            self._woken.wait(min(wait, LOOK_SECONDS))
            self._woken.clear()
        self._turns.close()
