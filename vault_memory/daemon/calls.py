"""What the daemon answers: the same calls as without it, on an index that is fresh and with a model that is warm."""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.app import contract
from vault_memory.daemon.server import Call
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.daemon.loop import Daemon


class Calls:
    """The table of calls, over a connection to the index of its own. One call at a time."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._memory = daemon.memory.fork(resident=True)
        self._lock = threading.Lock()

    def table(self) -> dict[str, Call]:
        return {
            "search": self._search,
            "context": self._context,
            "status": self._status,
            "vitals": self._vitals,
            "scopes": self._scopes,
            "sync": self._daemon.syncing.now,
        }

    def _search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = contract.search_arguments(arguments)
        if not isinstance(wanted.get("query"), str) or not isinstance(wanted.get("scopes"), list):
            raise UsageError("a search needs a query and a list of scopes")
        with self._lock:
            return contract.of_search(self._memory.search(refresh=False, **wanted))

    def _context(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = contract.context_arguments(arguments)
        if "scopes" not in wanted:
            raise UsageError("a memory block needs a list of scopes")
        with self._lock:
            return contract.of_context(self._memory.context(refresh=False, **wanted))

    def _scopes(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            return {"scopes": self._memory.scopes()}

    def _vitals(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What of the status costs nothing."""
        with self._lock:
            fresh = self._memory.freshness()
        told = {"stale_files": len(fresh.stale_files), "semantic": fresh.semantic}
        return {**told, "watcher": self._daemon.status(), "sync": self._daemon.syncing.status()}

    def _status(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            found = self._memory.status(refresh=False)
        found["sync"] = self._daemon.syncing.status()
        return {**found, "watcher": self._daemon.status(), "daemon": {"running": True, "pid": os.getpid()}}
