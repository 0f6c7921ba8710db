"""Computes vectors in the background: in a thread with its own connection to the index."""

import logging
import threading
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""How long the end of the daemon waits for the current batch; the next start embeds it again"""


class Embedding:
    """The thread. It embeds settled text when it is woken, and retries a missing embedder."""

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Each batch of embedded chunks is reported as a line."""
        # Fault: the system may suspend a thread of low priority while it holds the
        # interpreter lock, and all other threads would wait for it. So the thread keeps
        # the usual priority.
        self._memory = memory
        self._tell = tell
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
        if not self._thread.is_alive():
            self._memory.close()

    def _run(self) -> None:
        while not self._stop:
            self._wake.clear()
            try:
                count = self._memory.searcher.embed(go_on=lambda: not self._stop)
                if count:
                    logger.info("embedded %d chunks", count)
                    self._tell(f"embedded {count:,} chunks")
            except VaultMemoryError as error:
                logger.warning("embedding: %s", error)
            except DatabaseError as error:
                logger.warning("embedding: %s", error)
                # A damaged index is built again from the notes.
                self._memory.vault.indexing.recover(error)
            except Exception:
                logger.exception("embedding failed")
            self._wake.wait(self._memory.vault.config.embedding.retry_seconds)
