"""Loads the embedder on demand. Without it search uses keywords; loading is retried later."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.config.sections import SWITCHED_OFF, EmbeddingSettings
from vault_memory.contract import SemanticState
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.models.base import Embedder
    from vault_memory.models.embedding import shared_embedders
else:
    shared_embedders = lazy_module("vault_memory.models.embedding.shared_embedders")

Notify = Callable[[str, int, int], None]


class Semantic:
    """At most one embedder. Any thread may read it; the thread that calls `warm` loads it.

    Other vaults of the process may use the same embedder: `drop` concerns only this vault.
    """

    def __init__(self, config: EmbeddingSettings, cache: Path, *, reason: str, vault: Path) -> None:
        self._config = config
        self._vault = vault
        self.cache = cache
        self._lock = threading.Lock()
        self._tried = float("-inf")
        self.embedder: Embedder | None = None
        self.reason = SWITCHED_OFF if config.kind == "off" else reason
        self.loading = False

    @property
    def state(self) -> SemanticState:
        """`ready`: a query can be embedded. The index knows whether all notes are."""
        if self.embedder is not None:
            return "ready"
        return "warming" if self.loading else "off"

    def warm(self, progress: Notify | None = None) -> "Embedder | None":
        """Loads the embedder if it is missing. Returns None, and sets `reason`, when that fails."""
        # Fault: two threads would load the model twice, and fill the memory.
        with self._lock:
            if self.embedder is not None or self._config.kind == "off":
                return self.embedder
            # A server that is down must not delay every search by a timeout.
            if time.monotonic() - self._tried < self._config.retry_seconds:
                return None
            self._load(progress)
            return self.embedder

    def drop(self, reason: str) -> None:
        """Goes on without the embedder after a failure. A later `warm` tries again."""
        with self._lock:
            self.embedder = None
            self.reason = reason
            # Fault: the wall clock may be set back, which would keep the model away for long.
            self._tried = time.monotonic()

    def _load(self, progress: Notify | None) -> None:
        self.loading = True
        self.reason = "the model is being loaded"
        try:
            self.embedder = shared_embedders.shared_embedder(
                self._config, cache=self.cache, progress=progress, vault=self._vault
            )
            self.reason = "" if self.embedder else SWITCHED_OFF
        except VaultMemoryError as error:
            self.reason = error.message
            self._tried = time.monotonic()
        finally:
            self.loading = False
