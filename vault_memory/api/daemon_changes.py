"""Waits for changes of a vault, which its daemon sees first: a saved note, an op, an audit record.

feed = ChangeFeed(memory)
changes = feed.ask()
while changes is not None:
    changes = feed.ask(changes.id, 15)
"""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.vault.socket_names import short_name

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

PATIENCE_SECONDS = 5.0
"""How long the daemon may take to answer, after the wait that it was asked for"""
LONGEST_ANSWER = 1 << 24
"""Bytes; a ring of changes has at most 1000 paths"""


class Changes(NamedTuple):
    """What changed after an id."""

    id: str
    """For the next question"""
    notes: tuple[str, ...]
    """Paths of files that changed: notes, INBOX pages, audit files; of any scope"""
    lost: bool
    """Anything may have changed: the daemon is another one, or too much happened since"""


class ChangeFeed:
    """Asks the daemon of one vault. One thread asks, and any thread may close."""

    def __init__(self, memory: "VaultMemory") -> None:
        self._path = memory.vault.state.socket
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_closed = False

    def ask(self, since: str = "", wait: float = 0.0) -> Changes | None:
        """Return the changes after `since`; wait for one, at most `wait` seconds (up to 15).

        Without `since` it returns the present id. None without a daemon, with one that does not
        know this call, and after `close`.
        """
        question = {"call": "changes", "arguments": {"since": since, "wait": wait}}
        try:
            line = self._exchange(json.dumps(question).encode() + b"\n", wait)
        except OSError:
            # No daemon listens, or it ended while this waited.
            return None
        return _changes_of(line)

    def close(self) -> None:
        """End a call that waits. Each later call returns None."""
        with self._lock:
            self._is_closed = True
            connection = self._connection
            if connection is not None:
                # Fault: the other thread would wait until the daemon answers.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _exchange(self, request: bytes, wait: float) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(wait + PATIENCE_SECONDS)
            _connect(connection, self._path)
            if not self._set_connection(connection):
                return b""
            try:
                connection.sendall(request)
                return _line(connection)
            finally:
                self._set_connection(None)

    def _set_connection(self, connection: socket.socket | None) -> bool:
        """Sets the connection that `close` ends. Returns False after `close`."""
        with self._lock:
            self._connection = connection
            return not self._is_closed


def changes(memory: "VaultMemory", since: str = "", wait: float = 0.0) -> Changes | None:
    """Ask once; see `ChangeFeed.ask`."""
    return ChangeFeed(memory).ask(since, wait)


def _connect(connection: socket.socket, path: Path) -> None:
    with short_name(path) as name:
        connection.connect(name)


def _line(connection: socket.socket) -> bytes:
    received = bytearray()
    while len(received) < LONGEST_ANSWER:
        block = connection.recv(1 << 16)
        if not block:
            break
        received += block
    return bytes(received)


def _changes_of(line: bytes) -> Changes | None:
    """Reads an answer; None for an error and for a line that ends too soon."""
    # Fault: a daemon that was killed leaves an incomplete line.
    if not line.endswith(b"\n"):
        return None
    try:
        answer: dict[str, Any] = json.loads(line)
        return Changes(answer["id"], tuple(answer["notes"]), bool(answer["lost"]))
    except (ValueError, KeyError, TypeError):
        # An older daemon answers with an error: it does not know the call.
        return None
