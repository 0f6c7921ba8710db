"""Takes new connections from a listening socket, a few at a time, and copes when the descriptors run out.

asyncio's own server goes on accepting when there are none left: a hundred tracebacks a second in the log.
"""

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Callable

from vault_memory.http.connections import Connection, Limits, drop_some
from vault_memory.http.log_filter import QUIET_SECONDS

logger = logging.getLogger(__name__)

BATCH = 16
"""Connections that are taken before those that are open have their turn"""
PAUSE_SECONDS = 0.5
"""Before the next attempt when a connection could not be taken"""
SPARE = 16
"""Descriptors that are set free when there are none left: an answer reads files"""
RECOVERY_SECONDS = 60.0
"""Without trouble, until as many connections are taken as before"""
FEWEST = 8
"""Connections that are taken also when descriptors are very few"""


def limits_of_process() -> Limits:
    """At most half of the descriptors go to connections; the rest is for files."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    standard = Limits()
    if soft == resource.RLIM_INFINITY:
        return standard
    most = max(FEWEST, min(standard.most, soft // 2))
    return Limits(
        most=most,
        most_of_address=max(FEWEST, min(standard.most_of_address, most - most // 4)),
    )


class Acceptor:
    """Stands where uvicorn has a server of asyncio's."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], Connection],
        limits: Limits,
        open_ones: Callable[[], list[Connection]],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make = make
        self._limits = limits
        self._standard_most = limits.most
        self._recovers_at = 0.0
        self._open = open_ones
        self._starting: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._next_line = 0.0
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Nothing is left to wait for: connections are uvicorn's to end."""

    def _accept(self) -> None:
        if (
            self._limits.most < self._standard_most
            and time.monotonic() >= self._recovers_at
        ):
            self._limits.most = (
                self._standard_most
            )  # the trouble may have been another program's
        for _ in range(BATCH):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            connection.setblocking(False)
            starting = self._loop.create_task(self._start(connection))
            self._starting.add(starting)
            starting.add_done_callback(self._starting.discard)

    async def _start(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, connection)
        except OSError as error:  # the client is gone already
            connection.close()
            logger.debug("a client went away: %s", error)

    def _pause(self, error: OSError) -> None:
        """There are no descriptors: strangers go, fewer are taken for a while, and the log hears of it once."""
        self._loop.remove_reader(self._listening)
        connections = self._open()
        drop_some(connections, SPARE)
        self._limits.most = max(
            FEWEST, min(self._limits.most, len(connections) - SPARE)
        )
        self._retry = self._loop.call_later(
            PAUSE_SECONDS, self._loop.add_reader, self._listening, self._accept
        )
        now = time.monotonic()
        self._recovers_at = now + RECOVERY_SECONDS
        if now >= self._next_line:
            self._next_line = now + QUIET_SECONDS
            logger.warning(
                "no client can be taken for a moment: %s; the limit of open files is low",
                error.strerror,
            )
