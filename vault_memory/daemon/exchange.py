"""One question to a daemon and its answer, as lines on its socket. Loads nothing that takes time."""

import json
import os
from collections.abc import Mapping
from stat import S_ISSOCK

from vault_memory import __version__

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

LONGEST_NAME = 100
"""The system takes socket names of up to 107 bytes"""
LONGEST_REQUEST = 1 << 20
"""Bytes of a request; a longer one is not sent, and the daemon reads no further"""
NOT_COMPARED = ("VAULT_MEMORY_VAULT", "VAULT_MEMORY_CONFIG", "VAULT_MEMORY_AUTOMATED")


class NotAnswered(Exception):
    """The daemon took the request and gave no answer: it may have carried it out."""


def exchange(
    path: str, call: str, arguments: "Mapping[str, Any]", seconds: float
) -> "Any":
    """The answer of the daemon behind the socket at `path`; None when none takes the request.

    Raises NotAnswered.
    """
    try:
        if not S_ISSOCK(os.stat(path).st_mode):
            return None
    except (OSError, ValueError):
        return None
    request = json.dumps({"call": call, "arguments": arguments}).encode() + b"\n"
    if len(request) > LONGEST_REQUEST:
        return None
    import socket  # only here: often nobody is there to ask

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        try:
            _connect(connection, path)
        except OSError:
            return None
        return _answer_to(connection, request)
    finally:
        connection.close()


def _connect(connection: "socket", path: str) -> None:
    if len(os.fsencode(path)) <= LONGEST_NAME:
        connection.connect(path)
        return
    folder, _, name = path.rpartition("/")
    fd = os.open(folder or "/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection.connect(f"/proc/self/fd/{fd}/{name}")
    finally:
        os.close(fd)


def _answer_to(connection: "socket", request: bytes) -> "Any":
    received = []
    try:
        connection.sendall(request)
        while block := connection.recv(1 << 16):
            received.append(block)
    except OSError as error:
        raise NotAnswered(str(error)) from None
    line = b"".join(received)
    if not line.endswith(b"\n"):
        raise NotAnswered("the daemon ended")
    return json.loads(line)


def setup_of(environment: Mapping[str, str]) -> "dict[str, Any]":
    """The version and the settings of a process: an edit means the same in another one with the same."""
    settings = {
        name: value
        for name, value in environment.items()
        if name.startswith("VAULT_MEMORY_") and name not in NOT_COMPARED
    }
    return {
        "version": __version__,
        "zone": environment.get("TZ", ""),
        "settings": settings,
    }
