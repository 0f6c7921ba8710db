"""What the daemon answers: the same calls as without it, on an index that is fresh and with a model that is warm."""

import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract
from vault_memory.daemon.read_barrier import Behind
from vault_memory.daemon.socket_server import Call
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

    def _catch_up(self) -> None:
        """Raises Behind: whoever asks then looks without the daemon. A vault out of reach is not waited for."""
        if not self._daemon.trouble and not self._daemon.barrier.passed():
            raise Behind(
                "the daemon has not caught up with the vault",
                hint="ask again, or without it",
            )

    def _mark_stale(
        self, answer: dict[str, Any], notes: Iterable[str]
    ) -> dict[str, Any]:
        """What comes of these notes may be old while the vault is out of reach."""
        if self._daemon.trouble:
            fresh = answer["freshness"]
            fresh["stale_files"] = sorted({*fresh["stale_files"], *notes})
        return answer

    def _search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = json_contract.search_arguments(arguments)
        if not isinstance(wanted.get("query"), str) or not isinstance(
            wanted.get("scopes"), list
        ):
            raise UsageError("a search needs a query and a list of scopes")
        self._catch_up()
        with self._lock:
            answer = json_contract.of_search(
                self._memory.search(refresh=False, **wanted)
            )
        return self._mark_stale(answer, (hit["note"] for hit in answer["hits"]))

    def _context(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = json_contract.context_arguments(arguments)
        if "scopes" not in wanted:
            raise UsageError("a memory block needs a list of scopes")
        self._catch_up()
        with self._lock:
            answer = json_contract.of_context(
                self._memory.context(refresh=False, **wanted)
            )
        return self._mark_stale(answer, (part["note"] for part in answer["parts"]))

    def _scopes(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._catch_up()
        with self._lock:
            return {"scopes": self._memory.scopes()}

    def _vitals(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What of the status costs nothing."""
        with self._lock:
            fresh = self._memory.searcher.freshness()
        told = {"stale_files": len(fresh.stale_files), "semantic": fresh.semantic}
        return {
            **told,
            "watcher": self._daemon.status(),
            "sync": self._daemon.syncing.status(),
        }

    def _status(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not self._daemon.trouble:
            self._daemon.barrier.passed()  # and when not, the status is where one looks for the reason
        with self._lock:
            found = self._memory.status(refresh=False)
        found["sync"] = self._daemon.syncing.status()
        return {
            **found,
            "watcher": self._daemon.status(),
            "daemon": {"running": True, "pid": os.getpid()},
        }
