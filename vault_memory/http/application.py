"""The ASGI app: the checks of each request, the routes, and the mounted apps."""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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

from vault_memory.api.scoped_vault import ScopedVault
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import (
    CALLER,
    SingleVault,
    VaultService,
    VaultUnavailable,
    VaultUnknown,
    opened,
)
from vault_memory.config.server_sections import Serve
from vault_memory.contract.calls import ROUTES, Call
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http.auth import Access, Doorkeeper, unauthorised
from vault_memory.http.lifespan import running
from vault_memory.http.origin_check import Gate
from vault_memory.http.prometheus import Counting, Requests
from vault_memory.http.responses import broken, failure, refusal, reply, unavailable
from vault_memory.http.routes import open_routes
from vault_memory.http.tokens import Tokens
from vault_memory.rules.paths.caller import Caller
from vault_memory.search.open_vault import VaultClosed

logger = logging.getLogger(__name__)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

CORS_HEADERS = (
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "last-event-id",
)
"""Request headers that a web page may send"""
SEE = "`/openapi.json` describes the calls"


def application(
    memory: VaultMemory,
    tokens: Tokens,
    mounts: Mapping[str, ASGIApp] | None = None,
    *,
    local: Caller | None = None,
    settings: Serve | None = None,
) -> ASGIApp:
    """Returns an ASGI app for one vault.

    `mounts` get the requests below their path, after the same checks. A client without a token is
    `local`, if that is set: for a socket that only its owner can open. `settings` replace those of
    `[serve]`.
    """
    serve = settings or memory.vault.config.serve
    counts = Requests()
    without_token = open_routes(memory, serve, counts, for_local=local is not None)
    access = Access(tokens, serve, local)
    bot_app = BotApp(SingleVault(memory), access, counts, without_token, mounts or {})
    return calls_application(bot_app)


class BotApp(NamedTuple):
    """Everything that the app for bots serves."""

    service: VaultService
    access: Access
    counts: Requests
    without_token: Sequence[Route]
    """routes that check requests themselves"""
    mounts: Mapping[str, ASGIApp]
    after_token: Sequence[Middleware] = ()
    """checks of requests that have a caller"""


def calls_application(bot_app: BotApp) -> Starlette:
    """Returns the app for bots: the calls, the mounted apps and the open routes."""
    serve = bot_app.access.settings
    mounted = bot_app.mounts
    open_paths = {route.path for route in bot_app.without_token}
    call_paths = {call.path for call in ROUTES}
    mounted_paths = {*mounted, *(f"{path}/{{rest}}" for path in mounted)}
    middleware = [
        Middleware(
            Counting, requests=bot_app.counts, paths=open_paths | call_paths | mounted_paths
        ),
        Middleware(Gate, hosts=(serve.host, *serve.allowed_hosts), origins=serve.allowed_origins),
        *_cors(serve),
        Middleware(Doorkeeper, access=bot_app.access, open_paths=open_paths),
        *bot_app.after_token,
    ]
    calls = [_route(bot_app.service, call) for call in ROUTES]
    app = Starlette(
        routes=[*bot_app.without_token, *calls, *_mounted_routes(mounted)],
        middleware=middleware,
        lifespan=_lifespan_of(mounted.values()),
        exception_handlers={HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    return app


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


def _lifespan_of(apps: Iterable[ASGIApp]) -> Lifespan:
    """Starts these apps with the server, and stops them at its end."""

    @asynccontextmanager
    async def lifespan(server: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(running(app))
            yield

    return lifespan


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
        run = getattr(ScopedVault(memory, caller), call.name)
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
