"""What the daemon answers: the same calls as without it, on an index that is fresh and with a model that is warm."""

import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract, read_request
from vault_memory.contract.requests import ContextCall, SearchCall
from vault_memory.daemon.read_barrier import Behind
from vault_memory.daemon.socket_server import Call

if TYPE_CHECKING:
    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson
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

    def _mark_stale(self, freshness: "FreshnessJson", notes: Iterable[str]) -> None:
        """What comes of these notes may be old while the vault is out of reach."""
        if self._daemon.trouble:
            stale = {*freshness["stale_files"], *notes}
            freshness["stale_files"] = sorted(stale)

    def _search(self, arguments: Mapping[str, Any]) -> "SearchAnswerJson":
        call = read_request.read(arguments, SearchCall, "search")
        options = read_request.search_options(call)._replace(
            now=call.now, refresh=False
        )
        self._catch_up()
        with self._lock:
            answer = json_contract.of_search(
                self._memory.searcher.search(call.query, call.scopes, options)
            )
        self._mark_stale(answer["freshness"], (hit["note"] for hit in answer["hits"]))
        return answer

    def _context(self, arguments: Mapping[str, Any]) -> "ContextBlockJson":
        call = read_request.read(arguments, ContextCall, "context")
        options = read_request.context_options(call)._replace(
            private=call.private, now=call.now, refresh=False
        )
        self._catch_up()
        with self._lock:
            answer = json_contract.of_context(
                self._memory.context(
                    call.prompt, scopes=call.scopes, **options._asdict()
                )
            )
        self._mark_stale(
            answer["freshness"], (part["note"] for part in answer["parts"])
        )
        return answer

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
