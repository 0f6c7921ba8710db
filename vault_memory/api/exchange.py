"""Sends one question to a daemon, and receives the answer: a line each on its socket.

A daemon sends `SIGN` as soon as it has read a question. Without it the daemon hangs: nobody waits
for such an answer, and this process does not ask again for a while.

It imports nothing that loads slowly: each hook needs it.
"""

import json
import os
import time
from collections.abc import Mapping
from stat import S_ISSOCK

from vault_memory.vault import socket_names

# `typing` has the same name, but would cost each hook 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any


LONGEST_NAME = 100
"""Bytes; the limit of Linux for socket names is 107, that of macOS 103"""
LONGEST_REQUEST = 1 << 20
"""Bytes of a request: a client sends no longer one, and the daemon reads no further"""
SIGN = b" "
"""The first byte of each answer; JSON begins with any number of blanks"""
SIGN_SECONDS = 2.0
"""How long a client waits for the sign; a busy computer needs a part of it"""
LEAST_SECONDS = 0.01
"""How long a client waits at least for the rest of an answer"""
SILENT_SECONDS = 15.0
"""How long a process does not ask a daemon that hung"""
NOT_COMPARED = ("VAULT_MEMORY_VAULT", "VAULT_MEMORY_CONFIG", "VAULT_MEMORY_AUTOMATED")


_silent: dict[str, float] = {}
"""Path of the socket of a daemon that hung → when it may be asked again"""


class NotAnswered(Exception):
    """The daemon received the request and gave no answer: it may have carried it out."""


def exchange(path: str, call: str, arguments: "Mapping[str, Any]", seconds: float) -> "Any":
    """Returns the answer of the daemon behind the socket at `path`; None without such a daemon.

    None, too, shortly after the daemon hung. Raises NotAnswered.
    """
    if time.monotonic() < _silent.get(path, 0.0):
        return None
    try:
        # Fault: another file may be at this path. Only a socket can be a daemon.
        if not S_ISSOCK(os.stat(path).st_mode):
            return None
    except (OSError, ValueError):
        # Fault: a daemon that was killed leaves its socket, and nothing listens.
        return None
    request = json.dumps({"call": call, "arguments": arguments}).encode() + b"\n"
    # Fault: the daemon reads no further, and would take the beginning of the request
    # for all of it.
    if len(request) > LONGEST_REQUEST:
        return None
    # Often no daemon runs, and the import would be wasted.
    import socket

    begun = time.monotonic()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(min(seconds, SIGN_SECONDS))
        try:
            _connect(connection, path)
        except OSError:
            # A daemon that was killed leaves its socket, and nothing listens.
            return None
        try:
            sign = _sign_of(connection, request)
        except TimeoutError:
            _silent[path] = time.monotonic() + SILENT_SECONDS
            raise NotAnswered("the daemon hangs") from None
        remaining = begun + seconds - time.monotonic()
        connection.settimeout(max(remaining, LEAST_SECONDS))
        return _answer_from(connection, sign)
    finally:
        connection.close()


def _connect(connection: "socket", path: str) -> None:
    if len(os.fsencode(path)) <= LONGEST_NAME:
        connection.connect(path)
        return
    with socket_names.short_name(path) as name:
        connection.connect(name)


def _sign_of(connection: "socket", request: bytes) -> bytes:
    """Sends a request, and returns what the daemon sends first. Raises TimeoutError."""
    try:
        connection.sendall(request)
        return connection.recv(1 << 16)
    except TimeoutError:
        raise
    except OSError as error:
        raise NotAnswered(str(error)) from None


def _answer_from(connection: "socket", first: bytes) -> "Any":
    received = [first]
    try:
        while block := connection.recv(1 << 16):
            received.append(block)
    except OSError as error:
        raise NotAnswered(str(error)) from None
    line = b"".join(received)
    # Fault (B33): the daemon was killed while it answered. The edit may be done, and
    # must not be repeated blindly.
    if not line.endswith(b"\n"):
        raise NotAnswered("the daemon ended")
    return json.loads(line)


def setup_of(version: str, environment: Mapping[str, str]) -> "dict[str, Any]":
    """Returns the version of this package and the settings of a process.

    An edit has the same effect in another process with the same ones.
    """
    settings = {
        name: value
        for name, value in environment.items()
        if name.startswith("VAULT_MEMORY_") and name not in NOT_COMPARED
    }
    return {"version": version, "zone": environment.get("TZ", ""), "settings": settings}
