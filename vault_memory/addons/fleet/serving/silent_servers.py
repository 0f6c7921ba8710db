"""Servers of homes that did not answer a moment ago, so that not each vault waits for them."""

import threading
import time

from vault_memory.addons.fleet.visit_settings import server_of
from vault_memory.remote.remote_errors import RemoteBusy, RemoteError

SILENT_SECONDS = 5.0
"""A server is asked again after so long"""


class SilentServers:
    """Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._silent: dict[str, tuple[float, RemoteError]] = {}
        """Server → when it was asked last, and what came of it"""

    def note(self, home: str, error: RemoteError) -> None:
        """The server of a home did not answer."""
        # A server may be busy for one account only, and it says so at once.
        if isinstance(error, RemoteBusy):
            return
        with self._lock:
            self._silent[server_of(home)] = time.monotonic(), error

    def forget(self, home: str) -> None:
        """The server of a home answers."""
        with self._lock:
            self._silent.pop(server_of(home), None)

    def reason(self, home: str) -> RemoteError | None:
        """Return why the server of a home need not be asked now; None: ask it."""
        server = server_of(home)
        now = time.monotonic()
        with self._lock:
            if server not in self._silent:
                return None
            asked_at, error = self._silent[server]
            if now - asked_at < SILENT_SECONDS:
                return error
            # Fault: a server that hangs would let all callers wait. This one asks for them.
            self._silent[server] = now, error
            return None
