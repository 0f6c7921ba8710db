"""Answers other processes over the private socket: the daemon has a loaded model and a new index."""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vault_memory.api.exchange import LONGEST_REQUEST, SIGN
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.service.daemon_lock import inode_of
from vault_memory.service.upkeep.waiting_clients import MOST_WAITING
from vault_memory.vault.socket_names import short_name

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""How long a client may take to send its request, and again to receive the answer"""
PAUSE_SECONDS = 0.5
"""Pause after a client could not be accepted"""
MOST_CLIENTS = 64 + MOST_WAITING
"""Clients that are served at the same time; more of them wait"""
QUIET_SECONDS = 60.0
"""Time between two lines in the log about clients that cannot be accepted"""

Call = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class SocketServer:
    """Listens until it is closed. Each client has a thread for its one request."""

    def __init__(self, path: Path, calls: Mapping[str, Call]) -> None:
        self.path = path
        self._calls = calls
        self._closed = threading.Event()
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        self._next_warning = 0.0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Fault: a killed daemon leaves its socket. No other one listens: this one has
        # the lock.
        path.unlink(missing_ok=True)
        # Fault: between `bind` and a `chmod`, other users of the computer could connect
        # and read the memory.
        before = os.umask(0o177)
        try:
            with short_name(path) as name:
                self._socket.bind(name)
        finally:
            os.umask(before)
        self._socket.listen(64)
        self._inode = inode_of(path)
        self._thread = threading.Thread(target=self._accept, name="server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops to listen, and removes the socket."""
        self._closed.set()
        # Fault: in a new state folder, another daemon may listen at the same path.
        if inode_of(self.path) == self._inode:
            self.path.unlink(missing_ok=True)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            if not self._places.acquire(timeout=PAUSE_SECONDS):
                continue
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                # Fault (C65): the socket was closed, or the process has no descriptor
                # left at the moment.
                self._places.release()
                if not self._closed.wait(PAUSE_SECONDS):
                    self._warn(error)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _warn(self, error: OSError) -> None:
        # Fault (C65): without descriptors each attempt fails. A line for each would
        # fill the disk.
        now = time.monotonic()
        if now >= self._next_warning:
            self._next_warning = now + QUIET_SECONDS
            logger.warning("no client can be answered: %s", error)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                line = _line(connection)
                connection.settimeout(PATIENCE_SECONDS)
                # A client tells by this that the daemon works, however long the answer takes.
                connection.sendall(SIGN)
                connection.sendall(json.dumps(self._answer(line)).encode() + b"\n")
        except OSError as error:
            # A client that stops waiting must not end the thread with a traceback.
            logger.info("a client went away: %s", error)
        finally:
            self._places.release()

    def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            call, arguments = self._parse(line)
            return call(arguments)
        except VaultMemoryError as error:
            return {"error": {**error.as_json(), "exit_code": error.exit_code}}
        except Exception as error:
            logger.exception("a call failed")
            return {
                "error": {
                    "code": "internal",
                    "message": f"the daemon failed: {error}",
                    "hint": "see its log",
                }
            }

    def _parse(self, line: bytes) -> tuple[Call, dict[str, Any]]:
        """Returns the call of a request, and its arguments. Raises UsageError."""
        try:
            request = json.loads(line)
            name, arguments = str(request["call"]), request["arguments"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(f"the request is not understood: {error}") from None
        if name not in self._calls:
            raise UsageError(
                f"the daemon knows no call `{name}`", hint="is it of the same version?"
            )
        if not isinstance(arguments, dict):
            raise UsageError("the arguments of a call are an object")
        return self._calls[name], arguments


def _line(connection: socket.socket) -> bytes:
    """Reads the request of a client. Raises OSError."""
    # Fault: a client that sends a byte at a time would occupy its place for ever. So
    # the deadline is for the complete line.
    deadline = time.monotonic() + PATIENCE_SECONDS
    received = bytearray()
    while b"\n" not in received and len(received) < LONGEST_REQUEST:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        block = connection.recv(65_536)
        if not block:
            break
        received += block
        if time.monotonic() > deadline:
            raise TimeoutError("the request did not arrive in time")
    line, end, _ = received.partition(b"\n")
    return bytes(line + end)
