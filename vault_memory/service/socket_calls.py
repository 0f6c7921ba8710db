"""The daemon's answers to questions, from an index that is up to date and with a loaded model."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory import __version__
from vault_memory.api import json_contract, read_request
from vault_memory.api.exchange import setup_of
from vault_memory.contract import as_json
from vault_memory.contract.calls import SOCKET_CALLS
from vault_memory.contract.requests import (
    ChangesCall,
    ContextCall,
    EditCall,
    NoArguments,
    RecordCall,
    SearchCall,
)
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.search import scope_names
from vault_memory.service.socket_server import Call
from vault_memory.service.upkeep.waiting_clients import Behind

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import ContextBlockJson, RecordedJson, SearchAnswerJson
    from vault_memory.contract.edit_answers import EditJson
    from vault_memory.contract.setup_answers import SyncRequestedJson
    from vault_memory.contract.status_answers import ChangesJson, ScopesJson, StatusJson, VitalsJson
    from vault_memory.service.sync_turns import SyncTurns
    from vault_memory.service.upkeep.vault_upkeep import VaultUpkeep


class Calls:
    """The calls: each of `SOCKET_CALLS` is a method, which takes its request.

    They share a connection to the index, and run one at a time.
    """

    def __init__(self, memory: "VaultMemory", upkeep: "VaultUpkeep", syncing: "SyncTurns") -> None:
        self._memory = memory.fork(resident=True)
        self._upkeep = upkeep
        self._syncing = syncing
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
        return {name: partial(self._answer, name) for name in SOCKET_CALLS}

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self, name)(read_request.read(arguments, SOCKET_CALLS[name], name))

    def _catch_up(self) -> None:
        """Waits until the index is up to date. Raises Behind: the caller answers by itself."""
        if not self._upkeep.trouble and not self._upkeep.barrier.passed():
            raise Behind(
                "the daemon has not caught up with the vault", hint="ask again, or without it"
            )

    def _mark_stale(self, freshness: "FreshnessJson", notes: Iterable[str]) -> None:
        """Names these notes as stale while the vault cannot be read."""
        if self._upkeep.trouble:
            stale = {*freshness["stale_files"], *notes}
            freshness["stale_files"] = sorted(stale)

    def search(self, call: SearchCall) -> "SearchAnswerJson":
        """Finds lines."""
        options = read_request.options(call) | {"refresh": False}
        self._catch_up()
        with self._lock:
            answer = json_contract.of_search(
                self._memory.searcher.search(call.query, call.scopes, options)
            )
        self._mark_stale(answer["freshness"], (hit["note"] for hit in answer["hits"]))
        return answer

    def context(self, call: ContextCall) -> "ContextBlockJson":
        """Composes the memory block for a prompt."""
        options = read_request.options(call) | {"refresh": False}
        self._catch_up()
        with self._lock:
            block = self._memory.context(call.prompt, scopes=call.scopes, **options)
        answer: ContextBlockJson = as_json(block)
        notes = [block["note"] for block in answer["parts"]]
        self._mark_stale(answer["freshness"], notes)
        return answer

    def changes(self, call: ChangesCall) -> "ChangesJson":
        """Waits for the next change; other calls are answered meanwhile."""
        return self._upkeep.changes.answer(call)

    def sync(self, call: NoArguments) -> "SyncRequestedJson":
        """Requests a pass of sync."""
        return self._syncing.now()

    def scopes(self, call: NoArguments) -> "ScopesJson":
        """Returns the names of all scopes."""
        self._catch_up()
        with self._lock:
            return {"scopes": self._memory.scopes()}

    def vitals(self, call: NoArguments) -> "VitalsJson":
        """Returns the parts of the status that cost nothing."""
        with self._lock:
            freshness = self._memory.searcher.freshness()
        return {
            "stale_files": len(freshness.stale_files),
            "semantic": freshness.semantic,
            "watcher": self._upkeep.status(),
            "sync": self._syncing.status(),
        }

    def status(self, call: NoArguments) -> "StatusJson":
        """Returns the status of the vault and of its daemon."""
        if not self._upkeep.trouble:
            # The status is given, too, when the index is behind: it names the reason.
            self._upkeep.barrier.passed()
        with self._lock:
            status = self._memory.status(refresh=False)
        status["sync"] = self._syncing.status()
        status["watcher"] = self._upkeep.status()
        status["daemon"] = {"running": True, "pid": os.getpid()}
        return status


# --- Edit requests ---

# Calls that change the vault: the daemon carries them out for a command, which then loads nothing.
#
# The daemon refuses a command that has other settings. Such a command runs by itself.

MemoryCall = Callable[["VaultMemory", Mapping[str, Any]], Mapping[str, Any]]
"""A call, such as that of a hook, with the memory that it works on"""


class OtherSetup(VaultMemoryError):
    """The command runs with other settings than the daemon."""


class EditRequests:
    """The table of calls. Each has its own connection to the index, and runs once at a time."""

    # With one connection for all, a hook would wait for an op that waits for a note.

    def __init__(
        self, memory: "VaultMemory", upkeep: "VaultUpkeep", more: Mapping[str, MemoryCall]
    ) -> None:
        self._origin = memory
        self._upkeep = upkeep
        self._calls: dict[str, MemoryCall] = {
            "apply": _apply,
            "record": record_turn,
            "known": _unknown_names,
            **more,
        }
        self._config = _stamp(memory.vault.config_file)
        """State of the configuration file when the daemon read it"""

    def table(self) -> dict[str, Call]:
        """Returns the calls by name."""
        return {name: self._guarded(call) for name, call in self._calls.items()}

    def _guarded(self, call: MemoryCall) -> Call:
        lock = threading.Lock()
        # The first call opens it: many vaults are only searched.
        opened: list[VaultMemory] = []

        def answer(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            self._check(arguments.get("setup"))
            with lock:
                if not opened:
                    opened.append(self._origin.fork())
                    opened[0].vault.indexing.is_fresh = self._upkeep.is_caught_up
                return call(opened[0], arguments)

        return answer

    def _check(self, setup: object) -> None:
        """Raises OtherSetup for a command that would do something else by itself."""
        memory = self._origin
        if not isinstance(setup, dict):
            raise UsageError("a change needs the settings of the command")
        # Fault (C56): another vault may have the same path as before. Inodes tell the
        # two apart.
        root = os.stat(memory.root)
        own = {
            **setup_of(__version__, memory.vault.environment),
            "vault": [root.st_dev, root.st_ino],
        }
        of_command = {name: setup.get(name) for name in own}
        config = setup.get("config") or os.path.realpath(memory.vault.state.config_file)
        has_other_config = config != _named(memory.vault.config_file)
        if of_command != own or has_other_config:
            raise OtherSetup(
                "the daemon runs with other settings", hint="run the command by itself"
            )
        # Fault: commands read a changed configuration at once, and the daemon only at
        # its start. An edit would follow rules that a person has changed.
        if _stamp(memory.vault.config_file) != self._config:
            raise OtherSetup("the configuration has changed", hint="start the daemon again")
        # Fault: what is said just after the owner was named would go to the name of before.
        if memory.vault.has_other_owner:
            raise OtherSetup("the notes have another owner now", hint="run the command by itself")


def _apply(memory: "VaultMemory", arguments: Mapping[str, Any]) -> "EditJson":
    call = read_request.read(arguments, EditCall, "apply")
    edit = memory.apply(
        call.note,
        call.ops,
        source=call.source,
        expected=call.expected,
        merge=call.merge,
        dry_run=call.dry_run,
        now=call.now,
    )
    answer: EditJson = as_json(edit)
    return answer


def record_turn(memory: "VaultMemory", arguments: Mapping[str, Any]) -> "RecordedJson":
    """Records a turn once: a second call with the same `moment` and `again` changes nothing."""
    call = read_request.read(arguments, RecordCall, "record")
    seconds, chance = call.moment
    turn = memory.record_turn(
        session=call.session,
        role=call.role,
        text=call.text,
        user=call.user,
        channel=call.channel,
        source=call.source,
        origin=call.origin,
        silent=call.silent,
        automated=call.automated,
        now=datetime.fromtimestamp(seconds).astimezone(),
        chance=chance,
        again=call.again,
    )
    answer: RecordedJson = as_json(turn)
    return answer


def _unknown_names(memory: "VaultMemory", arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the scopes that no folder and no note has. Raises NameUnclear."""
    scopes = map(str, arguments["scopes"])
    return {"unknown": scope_names.unknown_names(memory.searcher, scopes)}


def _named(file: Path | None) -> str:
    return os.path.realpath(file) if file is not None else ""


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Returns a value that changes with a file; None without a file."""
    if file is None:
        return None
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
