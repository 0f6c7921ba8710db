"""The ASGI app of a host: many vaults behind one address, and a token opens one of them."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple
from weakref import WeakValueDictionary

from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vault_memory.api.vault_service import VAULT, VaultService
from vault_memory.config.server_sections import Serve
from vault_memory.http.application import Access, BotApp, calls_application
from vault_memory.http.page.beside_calls import page_beside_calls
from vault_memory.http.prometheus import Requests
from vault_memory.http.routes import public_routes
from vault_memory.http.tokens import TokenTable

MOST_CALLS = 4
"""Calls of one vault that are answered at once; the others wait for these"""


class HostRoutes(NamedTuple):
    """What a host serves beside the calls of its vaults."""

    page: ASGIApp | None = None
    """gets all requests that are none of bots"""
    mounts: Mapping[str, ASGIApp] = {}
    """get the requests below their path, after the same checks as the calls"""
    own: Sequence[Route] = ()
    """routes of the host itself, which check requests themselves"""


def many_vaults_application(
    service: VaultService,
    tokens: TokenTable,
    settings: Serve,
    routes: HostRoutes,
    counts: Requests,
) -> ASGIApp:
    """Returns an ASGI app for all vaults of a host.

    `settings` are those of the host: where it listens, and the limits for all vaults. `counts` get
    the number and duration of requests, which name no vault.
    """
    access = Access(tokens, settings)
    without_token = [*public_routes(), *routes.own]
    in_turn = [Middleware(VaultTurns)]
    bot_app = BotApp(service, access, counts, without_token, routes.mounts, in_turn)
    calls = calls_application(bot_app)
    return calls if routes.page is None else page_beside_calls(calls, routes.page)


class VaultTurns:
    """Answers only a few requests of one vault at once."""

    # Fault: all vaults share the threads. Slow calls of one vault would take every thread, and
    # the calls of the others would wait.

    def __init__(
        self,
        app: ASGIApp,
        most: int = MOST_CALLS,
    ) -> None:
        self._app = app
        self._most = most
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Vault → its turns, while a request has or awaits one"""

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        async with AsyncExitStack() as stack:
            vault = scope.get("state", {}).get(VAULT)
            if vault is not None:
                await stack.enter_async_context(self._turns_of(vault))
            await self._app(scope, receive, send)

    def _turns_of(self, vault: str) -> asyncio.Semaphore:
        turns = self._turns.get(vault)
        if turns is None:
            turns = asyncio.Semaphore(self._most)
            self._turns[vault] = turns
        return turns
