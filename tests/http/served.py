"""`serve` as its users have it: a real server on a real socket, asked by a real client."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.types import ASGIApp

from tests.scenarios.outside import until
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import SingleVault
from vault_memory.config.server_sections import Serve
from vault_memory.http.application import ServedRoutes, application, vault_routes
from vault_memory.http.auth import Access
from vault_memory.http.connections import Limits
from vault_memory.http.listen import Server, at_address, at_socket
from vault_memory.http.prometheus import Requests
from vault_memory.http.tokens import Callers, Tokens, TokenTable, token_digest
from vault_memory.rules.paths.scopes import Caller

MIRA = "mira-" + "a" * 40
TOMAS = "tomas-" + "b" * 40
CALLERS = {MIRA: Caller("mira"), TOMAS: Caller("tomas")}
PATIENCE_SECONDS = 120


@dataclass
class Served:
    """A vault that is served, and clients of it."""

    memory: VaultMemory
    url: str
    server: Server
    uds: str | None = None
    clients: list[httpx.Client] = field(default_factory=list)

    def connections(self) -> int:
        """How many are open."""
        return len(self.server.server_state.connections)

    def trusted(self) -> int:
        """How many of them have shown a good token."""
        return sum(one.trusted for one in list(self.server.connections()))

    def client(self, token: str | None = MIRA, **headers: str) -> httpx.Client:
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        transport = httpx.HTTPTransport(uds=self.uds)
        client = httpx.Client(
            base_url=self.url, headers=headers, transport=transport, timeout=PATIENCE_SECONDS
        )
        self.clients.append(client)
        return client


def app_of(
    memory: VaultMemory,
    access: Access,
    mounts: Mapping[str, ASGIApp] | None = None,
    page: ASGIApp | None = None,
) -> Starlette:
    """The application of one vault."""
    requests = Requests()
    routes = ServedRoutes(page, mounts or {}, vault_routes(memory, access, requests))
    return application(SingleVault(memory), access, routes, requests)


def digests_of(callers: Mapping[str, Caller]) -> Callers:
    """The callers of tokens, by the digests of these."""
    return {token_digest(token): caller for token, caller in callers.items()}


def tokens_of(callers: Mapping[str, Caller]) -> Tokens:
    """The tokens of the only vault of a server."""
    return Tokens({"": digests_of(callers)})


def access_of(tokens: TokenTable, settings: dict[str, Any], local: Caller | None = None) -> Access:
    """Access with settings of `[serve]`, and with limits of requests."""
    own = settings.keys() & {"requests_per_minute", "max_body_bytes"}
    limits = {name: settings.pop(name) for name in own}
    return Access(tokens, Serve(**settings), local, **limits)


@contextlib.contextmanager
def running(server: Server, listening: socket.socket) -> Iterator[None]:
    """A server in a thread of this process, until the end of a test."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(
            lambda: server.started or not thread.is_alive(),
            pause=0.002,
            says="the server does not start",
        )
        yield
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        listening.close()
        assert not thread.is_alive()


@contextlib.contextmanager
def serving(
    memory: VaultMemory,
    callers: Mapping[str, Caller] = CALLERS,
    *,
    mounts: Mapping[str, ASGIApp] | None = None,
    local: Caller | None = None,
    uds: Path | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """A server in a thread of this process, on a port of its own or a Unix socket."""
    app = app_of(memory, access_of(tokens_of(callers), settings, local), mounts)
    listening = at_socket(uds) if uds else at_address("127.0.0.1", 0)
    server = Server(app, limits=limits)
    url = "http://localhost" if uds else f"http://127.0.0.1:{listening.getsockname()[1]}"
    served = Served(memory, url, server, str(uds) if uds else None)
    with running(server, listening):
        try:
            yield served
        finally:
            for client in served.clients:
                client.close()
