"""`record` through the daemon: a bot runs it for each turn, and the full command line takes time.

`--mode incognito` is left to the full command: the daemon would keep the session in mind.
"""

import os
import sys
import time
from collections.abc import Sequence

from vault_memory.api import exchange, vault_memory
from vault_memory.cli import quick_start, terminal
from vault_memory.command_line import Arguments, NotPlain, parse
from vault_memory.service import socket_calls

TYPE_CHECKING = False  # as in `typing`, which would cost each start 10 ms
if TYPE_CHECKING:
    from typing import Any


TEXTS = ("session", "role", "user", "channel", "source", "origin")
FLAGS = ("silent", "automated")
VALUES = ("vault", "config", *TEXTS)
ALL_FLAGS = ("json", "quiet", *FLAGS)
AUTOMATED = "VAULT_MEMORY_AUTOMATED"
SECONDS = 10.0


def record(words: Sequence[str]) -> int | None:
    """Record a turn through the daemon; None when the full command has to do it."""
    try:
        arguments = parse(words, VALUES, ALL_FLAGS)
    except NotPlain:
        return None
    # The full command reads what this variable says, and writes for a terminal.
    if os.environ.get(AUTOMATED) or sys.stdout.isatty():
        return None
    socket = quick_start.socket_of(arguments)
    if socket is None or len(arguments.arguments) != 1:
        return None
    if _has_unknown_name(arguments, socket):
        return None
    chance = int.from_bytes(os.urandom(4), "big") >> 2
    turn = _turn(arguments) | {"moment": [time.time(), chance]}
    try:
        answer = quick_start.ask(arguments, socket, "record", turn, SECONDS)
    except exchange.NotAnswered:
        # Fault: the daemon may have recorded the turn. A second one would double it.
        answer = _record_again(arguments, turn)
    except (OSError, ValueError):
        return None
    if answer is None:
        return None
    return _show(arguments, answer)


def _has_unknown_name(arguments: Arguments, socket: str) -> bool:
    """Return whether a name belongs to no note of the vault; the full command looks closer."""
    scopes = quick_start.scopes_without_folder(arguments)
    if not scopes:
        return False
    try:
        answer = quick_start.ask(arguments, socket, "known", {"scopes": scopes}, SECONDS)
    except (OSError, ValueError, exchange.NotAnswered):
        return True
    return answer is None or bool(answer["unknown"])


def _turn(arguments: Arguments) -> "dict[str, Any]":
    """Return the turn; what the command line leaves out is left to the defaults."""
    turn: dict[str, Any] = {"text": arguments.arguments[0]}
    for name in TEXTS:
        if name in arguments.options:
            turn[name] = arguments.last(name)
    for name in FLAGS:
        if name in arguments.options:
            turn[name] = True
    return turn


def _record_again(arguments: Arguments, turn: "dict[str, Any]") -> "dict[str, Any]":
    """Record the turn in this process, unless the daemon did."""
    vault = arguments.last("vault") or None
    with vault_memory.VaultMemory.open(vault, arguments.last("config") or None) as memory:
        return dict(socket_calls.record_turn(memory, {**turn, "again": True}))


def _show(arguments: Arguments, answer: "dict[str, Any]") -> int:
    id_, note = answer["id"], answer["note"]
    text = f"{id_}  {note}" if id_ else ""
    if "json" in arguments.options:
        text = terminal.json_text(answer)
    remarks = [] if id_ else ["not recorded"]
    return quick_start.show(arguments, f"{terminal.escaped(text)}\n", remarks)
