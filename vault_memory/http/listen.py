"""Listens at an address of this machine or on a Unix socket, until a signal ends the server."""

import asyncio
import logging
import os
import resource
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from vault_memory.config.server_sections import Serve
from vault_memory.errors import ConfigError, Locked
from vault_memory.http.connections import LONGEST_HEAD, Connection, Limits, drop_some

LONGEST_NAME = 103 if sys.platform == "darwin" else 107
"""Bytes; the limit of the system for names of sockets"""
GRACE_SECONDS = 10
"""For open requests when the server ends"""
LOOK_SECONDS = 0.4
"""Pause between two looks at whether the server has to end"""


LOOPBACK = ("127.", "::1", "localhost")
"""Beginnings of the addresses that only this machine reaches"""
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
QUIET_SECONDS = 60.0
"""Time between two lines in the log about the same problem"""


class CannotListen(ConfigError):
    """The server cannot listen on this address or socket."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens."""

    socket: socket.socket
    address: str
    """for people: a URL, or the path of a socket"""


def is_local(host: str) -> bool:
    """Returns whether only this machine reaches an address."""
    return host.startswith(LOOPBACK)


def listening_of(settings: Serve) -> Listening:
    """Opens the address of these settings. Raises CannotListen, Locked."""
    if settings.socket:
        path = Path(settings.socket).expanduser()
        return Listening(at_socket(path), str(path))
    opened = at_address(settings.host, settings.port)
    return Listening(opened, url_of(settings.host, opened.getsockname()[1]))


def url_of(host: str, port: int) -> str:
    """Returns the URL of a server; an address of IPv6 gets its brackets."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def at_address(host: str, port: int) -> socket.socket:
    """Listens on an address; port 0 takes any that is free. Raises CannotListen."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListen(
            f"`{host}:{port}` is not an address: {error}", hint="change `serve.host`"
        ) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        # The port is in use, or only root may open it.
        listening.close()
        raise CannotListen(
            f"nothing can listen on {host}:{port}: {error.strerror}",
            hint="choose another with `--host` and `--port`",
        ) from None
    return listening


def at_socket(path: Path) -> socket.socket:
    """Listens on a Unix socket that only its owner can open. Raises CannotListen, Locked."""
    if len(os.fsencode(path)) > LONGEST_NAME:
        raise CannotListen(
            f"`{path}` is too long for the name of a socket", hint="choose a shorter one"
        )
    _make_room(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Fault: between `bind` and a `chmod`, other users could connect.
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CannotListen(
            f"`{path}` cannot be made: {error.strerror}", hint="see `serve.socket`"
        ) from None
    finally:
        os.umask(before)
    return listening


def _make_room(path: Path) -> None:
    """Removes a socket that has no listener, and nothing else. Raises CannotListen, Locked."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise CannotListen(f"`{path}` exists and is not a socket", hint="choose another name")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            # Fault: a server that was killed leaves its socket.
            path.unlink(missing_ok=True)
            return
    raise Locked(f"another process listens on `{path}`", hint="stop it, or choose another name")


class Server(uvicorn.Server):
    """uvicorn with limits for connections.

    It calls `stopping` when it has to end, before it waits for the open answers.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits | None = None,
        ready: Callable[[], None] = lambda: None,
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        self._stopping = stopping
        self._limits = limits or limits_of_process()
        self._ready = ready
        quieten()
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                # Fault: any client can send `X-Forwarded-For`, and would escape the
                # limit of its address.
                proxy_headers=False,
                ws="none",
                lifespan="on",
                loop="asyncio",
                http=H11Protocol,
                h11_max_incomplete_event_size=LONGEST_HEAD,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn starts the app; our acceptors read the sockets.
        await super().startup([])
        if not self.started:
            return
        for listening in sockets or []:
            acceptor = Acceptor(listening, self._connection, self._limits, self.connections)
            self.servers.append(acceptor)  # type: ignore[arg-type]
        self._ready()

    async def main_loop(self) -> None:
        # uvicorn itself looks ten times a second, which is most of what an idle server costs.
        while not await self.on_tick(0):
            await asyncio.sleep(LOOK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Fault: a stream of events never ends by itself, and uvicorn waits for it.
        self._stopping()
        await super().shutdown(sockets)

    def _connection(self) -> Connection:
        return Connection(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            limits=self._limits,
        )

    def connections(self) -> list[Connection]:
        """The open connections."""
        return [
            connection
            for connection in self.server_state.connections
            if isinstance(connection, Connection)
        ]


def listen(
    app: ASGIApp,
    listening: socket.socket,
    ready: Callable[[], None],
    stopping: Callable[[], None] = lambda: None,
    limits: Limits | None = None,
) -> None:
    """Answers requests until SIGTERM or SIGINT, and then the open ones.

    `stopping` ends the answers that would never end by themselves.
    """
    server = Server(app, limits=limits, ready=ready, stopping=stopping)

    def end(*_: object) -> None:
        server.should_exit = True

    # uvicorn catches the signals while it runs, and passes them on to these handlers at its end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    name = listening.getsockname()
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
        if listening.family == socket.AF_UNIX:
            Path(name).unlink(missing_ok=True)


# --- Acceptor ---

# Accepts new connections from a listening socket, and recovers when descriptors run out.
#
# Without descriptors, asyncio's own server goes on accepting, and logs a hundred tracebacks a
# second.


def limits_of_process() -> Limits:
    """Returns the limits, or fewer connections where this process may not have so many."""
    # Fault (C65): answers read files. So connections get at most half of the
    # descriptors.
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    standard = Limits()
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


# --- Log filter ---

# Filters the log of the server, because any client could cause warnings without end.


class Repeats(logging.Filter):
    """Lets each kind of warning through once a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        # Fault: the arguments are not part of the kind. A client could vary them
        # without end.
        kind = str(record.msg)
        now = time.monotonic()
        if now < self._next.get(kind, 0.0):
            return False
        self._next[kind] = now + QUIET_SECONDS
        return True


OF_SERVER = Repeats()


def quieten() -> None:
    """Adds the filter to the log of the server; a second call changes nothing."""
    logging.getLogger("uvicorn.error").addFilter(OF_SERVER)
