"""The routes that need no token of ours."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vault_memory.addons import table
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import Serve
from vault_memory.contract.calls import ROUTES
from vault_memory.http.prometheus import Requests, metrics_route
from vault_memory.http.responses import reply
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.http import openapi
else:
    openapi = lazy_module("vault_memory.http.openapi")


def open_routes(
    memory: VaultMemory, serve: Serve, requests: Requests, *, for_local: bool
) -> list[Route]:
    """The routes without a token of ours: they are open, or check requests themselves.

    The checks of host, origin and length apply to them, too. `for_local`: a client may come without
    a token.
    """
    talk = memory.vault.config.talk
    talk_routes: list[Route] = []
    if talk.secret_file:
        talk_routes = table.part("talk.webhook").talk_routes(memory, talk)
    return [
        *public_routes(),
        *talk_routes,
        *metrics_route(memory, requests, serve.metrics_token_file, for_local=for_local),
    ]


def public_routes() -> list[Route]:
    """The routes that answer anybody, and read no vault."""
    return [
        Route("/healthz", _health, methods=["GET"]),
        Route("/openapi.json", _document, methods=["GET"]),
    ]


async def _health(request: Request) -> Response:
    return reply({"ok": True})


async def _document(request: Request) -> Response:
    return reply(openapi.document(ROUTES))
