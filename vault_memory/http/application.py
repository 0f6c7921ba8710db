"""The ASGI app: the checks of each request, the routes, and the mounted apps."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vault_memory.addons import table
from vault_memory.api.metrics import Metrics
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import (
    CALLER,
    VAULT,
    VaultService,
    VaultUnavailable,
    VaultUnknown,
    opened,
)
from vault_memory.config.server_sections import Serve
from vault_memory.contract.calls import ROUTES, Call
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http import openapi
from vault_memory.http.auth import Access, Doorkeeper, Gate, busy, unauthorised
from vault_memory.http.beside_calls import lifespan_of, page_beside_calls
from vault_memory.http.prometheus import Counting, Requests, metrics_route, vitals
from vault_memory.http.responses import broken, failure, refusal, reply, unavailable
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search.open_vault import VaultClosed

logger = logging.getLogger(__name__)

CORS_HEADERS = (
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "last-event-id",
)
"""Request headers that a web page may send"""
SEE = "`/openapi.json` describes the calls"
MOST_CALLS = 4
"""Calls of one of many vaults that are answered at once; the others wait for these"""
MOST_WAITING = 32
"""Calls of one of many vaults that wait; more are refused"""


class ServedRoutes(NamedTuple):
    """What is served beside the calls."""

    page: ASGIApp | None = None
    """gets all requests but those of bots"""
    mounts: Mapping[str, ASGIApp] = {}
    """get the requests below their path, after the same checks as the calls"""
    own: Sequence[Route] = ()
    """routes that check requests themselves"""


def application(
    service: VaultService, access: Access, routes: ServedRoutes, counts: Requests
) -> Starlette:
    """Returns an ASGI app for one vault, or for many behind one address: a token opens one of them.

    The settings of `access` are those of the server: where it listens, and the limits for all
    vaults. `counts` get the number and duration of requests, which name no vault.
    """
    serve = access.settings
    without_token = [*public_routes(), *routes.own]
    open_paths = {route.path for route in without_token}
    call_paths = {call.path for call in ROUTES}
    mounted_paths = {*routes.mounts, *(f"{path}/{{rest}}" for path in routes.mounts)}
    middleware = [
        Middleware(Counting, requests=counts, paths=open_paths | call_paths | mounted_paths),
        Middleware(Gate, hosts=(serve.host, *serve.allowed_hosts), origins=serve.allowed_origins),
        *_cors(serve),
        Middleware(Doorkeeper, access=access, open_paths=open_paths),
        Middleware(VaultTurns),
    ]
    calls = [_route(service, call) for call in ROUTES]
    app = Starlette(
        routes=[*without_token, *calls, *_mounted_routes(routes.mounts)],
        middleware=middleware,
        lifespan=lifespan_of(routes.mounts.values()),
        exception_handlers={HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    return app if routes.page is None else page_beside_calls(app, routes.page)


def _cors(serve: Serve) -> list[Middleware]:
    """Lets the configured web pages read answers."""
    if not serve.allowed_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=serve.allowed_origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=CORS_HEADERS,
        )
    ]


def _mounted_routes(mounted: Mapping[str, ASGIApp]) -> list[Route]:
    routes = []
    for path, app in mounted.items():
        routes.append(Route(path, _Mounted(app)))
        routes.append(Route(path + "/{rest:path}", _Mounted(app)))
    return routes


@dataclass(frozen=True, slots=True)
class _Mounted:
    """An app that gets requests unchanged, and raises what a vault cannot be opened for."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except (VaultUnknown, VaultUnavailable) as error:
            await _without_vault(error)(scope, receive, send)


def _without_vault(error: VaultUnknown | VaultUnavailable) -> Response:
    """Returns the answer to a request whose vault is not open."""
    # Fault: another answer than for an unknown token would tell that this vault was served.
    if isinstance(error, VaultUnknown):
        return unauthorised(has_token=True)
    return unavailable(error)


def _route(service: VaultService, call: Call) -> Route:
    async def answer(request: Request) -> Response:
        try:
            async with opened(service, request.scope["state"]) as memory:
                return await _answer(memory, call, request)
        except HTTPException:
            raise
        except (VaultUnknown, VaultUnavailable) as error:
            return _without_vault(error)
        except VaultClosed:
            return unavailable(VaultUnavailable())
        except Exception:
            logger.exception("%s failed", call.name)
            return broken()

    return Route(call.path.replace("}", ":path}"), answer, methods=[call.method], name=call.name)


async def _answer(memory: VaultMemory, call: Call, request: Request) -> Response:
    """Returns the answer of a call, or its error for people."""
    caller: Caller = request.scope["state"][CALLER]
    try:
        payload = await _payload(request, call)
        run = getattr(memory.as_seen_by(caller), call.name)
        # Vaults are files, and files block: the call runs in a thread.
        return reply(await anyio.to_thread.run_sync(run, payload))
    except VaultUnavailable:
        # Its answer says when to ask again.
        raise
    except VaultMemoryError as error:
        _check_open(memory)
        return failure(error, memory)
    except (DatabaseError, OSError) as error:
        logger.warning("%s: %s", call.name, error)
        return refusal(
            503, "system", "the disk or the index does not answer now", "try again later"
        )


def _check_open(memory: VaultMemory) -> None:
    """Raises VaultUnavailable for a vault that was closed while a call used it."""
    # Fault: the lease of a fleet was lost, and another host has the vault. That is no mistake of
    # the caller, and no bug.
    if memory.vault.is_closed:
        raise VaultUnavailable


async def _payload(request: Request, call: Call) -> Any:
    """The request in its shape of the contract. Raises UsageError."""
    try:
        if request.method == "GET":
            parameters = {**request.query_params, **request.path_params}
            return msgspec.convert(parameters, call.takes, strict=False)
        content_type = request.headers.get("content-type", "").partition(";")[0]
        # Fault: a web page may send a form to any server without asking. It cannot send
        # JSON without the server's consent.
        if content_type.strip().lower() != "application/json":
            raise HTTPException(415)
        return msgspec.json.decode(await request.body(), type=call.takes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the request is not understood: {error}", hint=SEE) from None


ERRORS = {
    404: ("not_found", "there is nothing at this path", SEE),
    405: ("wrong_method", "this path has no such method", SEE),
    415: ("not_json", "a body must be JSON", "send `Content-Type: application/json`"),
}
"""Code, message and hint of the errors that the router raises"""


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, message, hint = ERRORS.get(error.status_code, ("refused", error.detail, SEE))
    return refusal(error.status_code, code, message, hint, error.headers)


# --- Vault turns ---


class Turns:
    """The turns of one vault, and how many requests have or await one."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(MOST_CALLS)
        self.requests = 0


class VaultTurns:
    """Answers only a few requests of one of many vaults at once."""

    # Fault: all vaults share the threads. Slow calls of one vault would take every thread, and
    # the calls of the others would wait.

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns: dict[str, Turns] = {}
        """Vault → its turns, while a request has or awaits one"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = scope.get("state", {}).get(VAULT)
        # A server with one vault names none.
        if not vault:
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


# --- Open routes ---

# The routes that need no token of ours. The checks of host, origin and length apply to them, too.


def vault_routes(memory: VaultMemory, access: Access, requests: Requests) -> list[Route]:
    """The routes of one vault that check requests themselves. Raises TokenUnsafe."""
    talk = memory.vault.config.talk
    talk_routes: list[Route] = []
    if talk.secret_file:
        talk_routes = table.part("talk.webhook").talk_routes(memory, talk)
    numbers = metrics_route(
        Metrics(memory, partial(vitals, memory)).families,
        requests,
        "serve.metrics_token_file",
        access.settings.metrics_token_file,
        memory.root,
        for_local=access.local is not None,
    )
    return [*talk_routes, *numbers]


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
