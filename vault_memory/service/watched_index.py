"""Keeps the index fresh by the events of the vault, in a process that serves it and is no daemon."""

import threading
from typing import TYPE_CHECKING

from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

PATIENCE_SECONDS = 1.0
"""How long a request waits for the events of earlier saves, before it looks at the whole vault"""
NONE = (0, 0)


class WatchedIndex:
    """Reads what changed since the last request. Any thread may ask."""

    def __init__(self, memory: "VaultMemory") -> None:
        self._memory = memory.fork()
        self._watcher = Watcher(memory.root, memory.vault.config.watch)
        self._lock = threading.Lock()
        self._generation = NONE
        """The generation of the index that was complete; `NONE` when all must be looked at"""
        # The first hint asks for a look at everything.
        self._watcher.start()

    def close(self) -> None:
        """Removes the watches; no request may come later."""
        self._watcher.stop()
        self._memory.close()

    def is_fresh(self) -> bool:
        """Brings the index up to date with all that was saved before, and returns whether it has it.

        Raises VaultUnreachable.
        """
        vault = self._memory.vault
        with self._lock:
            # Fault (C57): of a folder that was unmounted or replaced, the index would answer.
            vault.check_identity()
            paths = self._changed_paths()
            indexing = vault.indexing
            if paths is None or self._generation != indexing.generation_in_use:
                self._generation = NONE
                self._memory.refresh(briefly=True)
                is_complete = not indexing.behind
            else:
                is_complete = self._read(paths)
            self._generation = indexing.generation if is_complete else NONE
            return is_complete

    def _changed_paths(self) -> set[str] | None:
        """Returns the notes and folders of which events told; None when any may have changed."""
        mark = self._watcher.mark()
        paths: set[str] = set()
        is_certain = True
        while True:
            hints = self._watcher.take(PATIENCE_SECONDS)
            paths |= hints.paths | hints.subtrees
            is_certain = is_certain and not hints.rescan
            if mark in hints.marks:
                return paths if is_certain and self._watcher.mode == "inotify" else None
            if not hints:
                return None

    def _read(self, paths: set[str]) -> bool:
        """Reads these notes and folders; returns whether that was enough."""
        if not paths:
            return True
        ingest = self._memory.vault.indexing.ingest()
        # Audits and ledgers tell of other notes.
        if any(path.endswith(".jsonl") and not ingest.wants(path) for path in paths):
            return False
        try:
            report = ingest.scan(within=sorted(paths))
        except (DatabaseError, VaultMemoryError, OSError):
            # A look at everything reports it, or does without.
            return False
        return not (report.doubtful or report.left)
