"""Runs due learning cycles in a thread with connections of its own, so that nothing waits for them.

Where a language model is configured, the thread also learns from conversations soon after they end.
"""

import threading
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.turns.night_turns import NightTurns

FIRST_SECONDS = 2.0
"""Pause at the start, which has other work to do"""
PATIENCE_SECONDS = 2.0
"""How long the end of the daemon waits for the current step; the night continues there next time"""


class Nights:
    """The thread that runs due nights and learns from ended conversations."""

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        """Each night and each conversation is reported as a line."""
        self._turns = NightTurns(memory, tell=tell)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nights", daemon=True)
        if self._turns.is_enabled:
            self._thread.start()
        else:
            self._turns.close()

    def close(self) -> None:
        """Ends soon. The next start finishes an interrupted night."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        pause = FIRST_SECONDS
        while not self._stop.wait(pause):
            pause = self._turns.turn()
        self._turns.close()
