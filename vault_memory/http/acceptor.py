"""Accepts new connections from a listening socket, and recovers when descriptors run out.

Without descriptors, asyncio's own server goes on accepting, and logs a hundred tracebacks a second.
"""

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Callable
from dataclasses import replace

from vault_memory.http.connections import Connection, Limits, drop_some
from vault_memory.http.log_filter import QUIET_SECONDS

logger = logging.getLogger(__name__)

BATCH = 16
"""Connections to accept before the open ones continue"""
PAUSE_SECONDS = 0.5
"""Before the next attempt after a connection could not be accepted"""
SPARE = 16
"""Descriptors to free when none is left: an answer reads files"""
RECOVERY_SECONDS = 60.0
"""Without a failure, until the limit of connections is the usual one again"""
FEWEST = 8
"""Connections to accept even with very few descriptors"""


def limits_of_process(standard: Limits | None = None) -> Limits:
    """Returns these limits, as far as this process may have so many connections."""
    # Fault (C65): answers read files. So connections get at most half of the
    # descriptors.
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    standard = standard or Limits()
    if soft == resource.RLIM_INFINITY:
        return standard
    most = max(FEWEST, min(standard.most, soft // 2))
    most_of_address = max(FEWEST, min(standard.most_of_address, most - most // 4))
    return replace(standard, most=most, most_of_address=most_of_address)


class Acceptor:
    """Has the methods of an asyncio server that uvicorn calls."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], Connection],
        limits: Limits,
        open_connections: Callable[[], list[Connection]],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make = make
        self._limits = limits
        self._standard_most = limits.most
        self._recovers_at = 0.0
        self._open_connections = open_connections
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
        """Return at once: uvicorn ends the connections."""

    def _accept(self) -> None:
        is_reduced = self._limits.most < self._standard_most
        if is_reduced and time.monotonic() >= self._recovers_at:
            # Another program may have used up the descriptors.
            self._limits.most = self._standard_most
        for _ in range(BATCH):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                # All waiting clients are accepted, or one gave up before its turn.
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
        except OSError as error:
            # The client closed the connection already.
            connection.close()
            logger.debug("a client went away: %s", error)

    def _pause(self, error: OSError) -> None:
        """Accepts fewer connections for a while, after descriptors ran out."""
        self._loop.remove_reader(self._listening)
        connections = self._open_connections()
        # Fault (C65): the clients that are connected wait for answers, and each answer
        # needs descriptors for the notes.
        drop_some(connections, SPARE)
        self._limits.most = max(FEWEST, min(self._limits.most, len(connections) - SPARE))
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
