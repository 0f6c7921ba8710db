"""Vectors in the background: a thread of its own, with its own connection.

Its priority is that of the others: a thread that is scheduled late while it holds the interpreter would hold up all.
"""

import logging
import threading

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""For the batch at hand when the daemon ends; what is lost of it is embedded at the next start"""


class Embedding:
    """Embeds what is settled whenever it is woken, and tries a missing embedder again now and then."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._wake = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something has settled."""
        self._wake.set()

    def close(self) -> None:
        """End after the batch at hand; what is not embedded yet is at the next start."""
        self._stop = True
        self._wake.set()
        self._thread.join(PATIENCE_SECONDS)
        if not self._thread.is_alive():
            self._memory.close()

    def _run(self) -> None:
        while not self._stop:
            self._wake.clear()
            try:
                done = self._memory.searcher.embed(go_on=lambda: not self._stop)
                if done:
                    logger.info("embedded %d chunks", done)
            except VaultMemoryError as error:
                logger.warning("embedding: %s", error)
            except DatabaseError as error:
                logger.warning("embedding: %s", error)
                self._memory.vault.indexing.recover(
                    error
                )  # a damaged index is built anew
            except Exception:
                logger.exception("embedding failed")
            self._wake.wait(self._memory.vault.config.embedding.retry_seconds)
