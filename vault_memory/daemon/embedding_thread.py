"""Computes vectors in the background: in a thread with its own connection to the index."""

import threading
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.turns.embedding_turns import EmbeddingTurns

PATIENCE_SECONDS = 2.0
"""How long the end of the daemon waits for the current batch; the next start embeds it again"""


class Embedding:
    """The thread. It embeds settled text when it is woken, and retries a missing embedder."""

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        """Each batch of embedded chunks is reported as a line."""
        # Fault: the system may suspend a thread of low priority while it holds the
        # interpreter lock, and all other threads would wait for it. So the thread keeps
        # the usual priority.
        self._turns = EmbeddingTurns(memory, tell=tell)
        self._wake = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Notes that text has settled."""
        self._wake.set()

    def close(self) -> None:
        """Ends after the current batch; the next start embeds the remaining text."""
        self._stop = True
        self._wake.set()
        self._thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        while not self._stop:
            self._wake.clear()
            pause = self._turns.turn(lambda: not self._stop)
            if not self._stop:
                self._wake.wait(pause)
        self._turns.close()
