"""The daemon's answers to questions, from an index that is up to date and with a loaded model."""

import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from vault_memory.api import json_contract, read_request
from vault_memory.contract import as_json
from vault_memory.contract.requests import ContextCall, SearchCall
from vault_memory.daemon.read_barrier import Behind
from vault_memory.daemon.socket_server import Call

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import ContextBlockJson, SearchAnswerJson
    from vault_memory.contract.setup_answers import SyncRequestedJson
    from vault_memory.contract.status_answers import (
        ScopesJson,
        StatusJson,
        SyncStatusJson,
        VitalsJson,
        WatcherJson,
    )
    from vault_memory.daemon.read_barrier import Barrier


class CallsOwner(Protocol):
    """The daemon of a vault, or what a host has for one of its vaults."""

    memory: "VaultMemory"

    @property
    def trouble(self) -> str:
        """Why the vault cannot be read now; empty when it can."""

    @property
    def barrier(self) -> "Barrier":
        """What a question waits for."""

    @property
    def syncing(self) -> "SyncOwner":
        """What answers about the sync."""

    def status(self) -> "WatcherJson":
        """Returns the state of the watcher."""


class SyncOwner(Protocol):
    """What syncs a vault."""

    def now(self, arguments: Mapping[str, Any] | None = None) -> "SyncRequestedJson":
        """Syncs soon."""

    def status(self) -> "SyncStatusJson | None":
        """Returns the state of the sync; None without one."""


class Calls:
    """The calls. They share a connection to the index, and run one at a time."""

    def __init__(self, daemon: CallsOwner) -> None:
        self._daemon = daemon
        self._memory = daemon.memory.fork(resident=True)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes the connection to the index; no call may run or come later."""
        with self._lock:
            self._memory.close()

    def shrink(self) -> None:
        """Gives back memory that the next call reads again."""
        with self._lock:
            self._memory.vault.shrink()

    def table(self) -> dict[str, Call]:
        """Returns the calls by name."""
        return {
            "search": self._search,
            "context": self._context,
            "status": self._status,
            "vitals": self._vitals,
            "scopes": self._scopes,
            "sync": self._daemon.syncing.now,
        }

    def _catch_up(self) -> None:
        """Waits until the index is up to date. Raises Behind: the caller answers by itself."""
        if not self._daemon.trouble and not self._daemon.barrier.passed():
            raise Behind(
                "the daemon has not caught up with the vault", hint="ask again, or without it"
            )

    def _mark_stale(self, freshness: "FreshnessJson", notes: Iterable[str]) -> None:
        """Names these notes as stale while the vault cannot be read."""
        if self._daemon.trouble:
            stale = {*freshness["stale_files"], *notes}
            freshness["stale_files"] = sorted(stale)

    def _search(self, arguments: Mapping[str, Any]) -> "SearchAnswerJson":
        call = read_request.read(arguments, SearchCall, "search")
        options = read_request.options(call) | {"refresh": False}
        self._catch_up()
        with self._lock:
            answer = json_contract.of_search(
                self._memory.searcher.search(call.query, call.scopes, options)
            )
        self._mark_stale(answer["freshness"], (hit["note"] for hit in answer["hits"]))
        return answer

    def _context(self, arguments: Mapping[str, Any]) -> "ContextBlockJson":
        call = read_request.read(arguments, ContextCall, "context")
        options = read_request.options(call) | {"refresh": False}
        self._catch_up()
        with self._lock:
            block = self._memory.context(call.prompt, scopes=call.scopes, **options)
        answer: ContextBlockJson = as_json(block)
        notes = [block["note"] for block in answer["parts"]]
        self._mark_stale(answer["freshness"], notes)
        return answer

    def _scopes(self, arguments: Mapping[str, Any]) -> "ScopesJson":
        self._catch_up()
        with self._lock:
            return {"scopes": self._memory.scopes()}

    def _vitals(self, arguments: Mapping[str, Any]) -> "VitalsJson":
        """Returns the parts of the status that cost nothing."""
        with self._lock:
            freshness = self._memory.searcher.freshness()
        return {
            "stale_files": len(freshness.stale_files),
            "semantic": freshness.semantic,
            "watcher": self._daemon.status(),
            "sync": self._daemon.syncing.status(),
        }

    def _status(self, arguments: Mapping[str, Any]) -> "StatusJson":
        if not self._daemon.trouble:
            # The status is given, too, when the index is behind: it names the reason.
            self._daemon.barrier.passed()
        with self._lock:
            status = self._memory.status(refresh=False)
        status["sync"] = self._daemon.syncing.status()
        status["watcher"] = self._daemon.status()
        status["daemon"] = {"running": True, "pid": os.getpid()}
        return status
