"""The ASGI app of a host: many vaults behind one address, and a token opens one of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vault_memory.api.vault_service import VAULT, VaultService
from vault_memory.config.server_sections import Serve
from vault_memory.http.application import BotApp, calls_application
from vault_memory.http.auth import Access, busy
from vault_memory.http.beside_calls import page_beside_calls
from vault_memory.http.prometheus import Requests
from vault_memory.http.routes import public_routes
from vault_memory.http.tokens import TokenTable

MOST_CALLS = 4
"""Calls of one vault that are answered at once; the others wait for these"""
MOST_WAITING = 32
"""Calls of one vault that wait; more are refused"""
VAULT_SHARE = 8
"""One vault gets an eighth of the room for bodies"""


class HostRoutes(NamedTuple):
    """What a host serves beside the calls of its vaults."""

    page: ASGIApp | None = None
    """gets all requests but those of bots"""
    mounts: Mapping[str, ASGIApp] = {}
    """get the requests below their path, after the same checks as the calls"""
    own: Sequence[Route] = ()
    """routes of the host itself, which check requests themselves"""


def many_vaults_application(
    service: VaultService, tokens: TokenTable, settings: Serve, routes: HostRoutes, counts: Requests
) -> ASGIApp:
    """Returns an ASGI app for all vaults of a host.

    `settings` are those of the host: where it listens, and the limits for all vaults. `counts` get
    the number and duration of requests, which name no vault.
    """
    access = Access(tokens, settings, vault_share=VAULT_SHARE)
    without_token = [*public_routes(), *routes.own]
    in_turn = [Middleware(VaultTurns)]
    bot_app = BotApp(service, access, counts, without_token, routes.mounts, in_turn)
    calls = calls_application(bot_app)
    return calls if routes.page is None else page_beside_calls(calls, routes.page)


class Turns:
    """The turns of one vault, and how many requests have or await one."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(MOST_CALLS)
        self.requests = 0


class VaultTurns:
    """Answers only a few requests of one vault at once."""

    # Fault: all vaults share the threads. Slow calls of one vault would take every thread, and
    # the calls of the others would wait.

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns: dict[str, Turns] = {}
        """Vault → its turns, while a request has or awaits one"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = scope.get("state", {}).get(VAULT)
        if vault is None:
            await self._app(scope, receive, send)
            return
        turns = self._turns.setdefault(vault, Turns())
        # Fault: each request that waits occupies a connection, which bots of other vaults need.
        if turns.requests >= MOST_CALLS + MOST_WAITING:
            await busy()(scope, receive, send)
            return
        turns.requests += 1
        try:
            async with turns.free:
                await self._app(scope, receive, send)
        finally:
            turns.requests -= 1
            if not turns.requests:
                del self._turns[vault]
