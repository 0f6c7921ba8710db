"""Calls that change the vault: the daemon carries them out for a command, which then loads nothing.

The daemon refuses a command that has other settings. Such a command runs by itself.
"""

import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.api import read_request
from vault_memory.api.exchange import setup_of
from vault_memory.contract import as_json
from vault_memory.contract.requests import EditCall, RecordCall
from vault_memory.daemon.socket_server import Call
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.answers import RecordedJson
    from vault_memory.contract.edit_answers import EditJson
    from vault_memory.search import scope_names
else:
    scope_names = lazy_module("vault_memory.search.scope_names")

MemoryCall = Callable[["VaultMemory", Mapping[str, Any]], Mapping[str, Any]]
"""A call, such as that of a hook, with the memory that it works on"""


class OtherSetup(VaultMemoryError):
    """The command runs with other settings than the daemon."""


class EditRequests:
    """The table of calls. Each has its own connection to the index, and runs once at a time."""

    # With one connection for all, a hook would wait for an op that waits for a note.

    def __init__(self, memory: "VaultMemory", more: Mapping[str, MemoryCall]) -> None:
        self._origin = memory
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
        return {
            "setup": self._compare,
            **{name: self._guarded(call) for name, call in self._calls.items()},
        }

    def _compare(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answers a command that has the settings of this daemon. Raises OtherSetup."""
        self._check(arguments.get("setup"))
        return {}

    def _guarded(self, call: MemoryCall) -> Call:
        lock = threading.Lock()
        # The first call opens it: many vaults are only searched.
        opened: list[VaultMemory] = []

        def answer(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            self._check(arguments.get("setup"))
            with lock:
                if not opened:
                    opened.append(self._origin.fork())
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
        own = {**setup_of(memory.vault.environment), "vault": [root.st_dev, root.st_ino]}
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
