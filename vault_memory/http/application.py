"""The ASGI app: the checks of each request, the routes, and the mounted apps."""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import dataclass
from functools import partial
from typing import Any

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

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.server_sections import Serve
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http.auth import Doorkeeper
from vault_memory.http.lifespan import running
from vault_memory.http.origin_check import Gate
from vault_memory.http.prometheus import Counting, Requests
from vault_memory.http.responses import broken, failure, refusal, reply
from vault_memory.http.routes import ENDPOINTS, Endpoint, open_routes
from vault_memory.http.tokens import Tokens
from vault_memory.rules.paths.caller import Caller

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
    mounted = dict(mounts or {})
    counts = Requests()
    without_token = open_routes(memory, serve, counts, for_local=local is not None)
    open_paths = {route.path for route in without_token}
    call_paths = {endpoint.path for endpoint in ENDPOINTS}
    mounted_paths = {*mounted, *(f"{path}/{{rest}}" for path in mounted)}
    middleware = [
        Middleware(
            Counting, requests=counts, paths=open_paths | call_paths | mounted_paths
        ),
        Middleware(
            Gate,
            hosts=(serve.host, *serve.allowed_hosts),
            origins=serve.allowed_origins,
        ),
        *_cors(serve),
        Middleware(
            Doorkeeper,
            tokens=tokens,
            settings=serve,
            local=local,
            open_paths=open_paths,
        ),
    ]
    calls = [_route(memory, endpoint) for endpoint in ENDPOINTS]
    app = Starlette(
        routes=[*without_token, *calls, *_mounted_routes(mounted)],
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
    """An app that gets requests unchanged."""

    app: ASGIApp

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        await self.app(scope, receive, send)


def _route(
    memory: VaultMemory,
    endpoint: Endpoint,
) -> Route:
    async def answer(request: Request) -> Response:
        caller: Caller = request.scope["state"]["caller"]
        try:
            payload = await _payload(request, endpoint)
            # Vaults are files, and files block: the call runs in a thread.
            return reply(
                await anyio.to_thread.run_sync(
                    partial(endpoint.call, memory, caller, payload)
                )
            )
        except HTTPException:
            raise
        except VaultMemoryError as error:
            return failure(error, memory)
        except (DatabaseError, OSError) as error:
            logger.warning("%s: %s", endpoint.name, error)
            return refusal(
                503,
                "system",
                "the disk or the index does not answer now",
                "try again later",
            )
        except Exception:
            logger.exception("%s failed", endpoint.name)
            return broken()

    return Route(
        endpoint.path.replace("}", ":path}"),
        answer,
        methods=[endpoint.method],
        name=endpoint.name,
    )


async def _payload(
    request: Request,
    endpoint: Endpoint,
) -> Any:
    """The request in its shape of the contract. Raises UsageError."""
    try:
        if endpoint.method == "GET":
            parameters = {**request.query_params, **request.path_params}
            return msgspec.convert(parameters, endpoint.takes, strict=False)
        content_type = request.headers.get("content-type", "").partition(";")[0]
        # Fault: a web page may send a form to any server without asking. It cannot send
        # JSON without the server's consent.
        if content_type.strip().lower() != "application/json":
            raise HTTPException(415)
        return msgspec.json.decode(await request.body(), type=endpoint.takes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the request is not understood: {error}", hint=SEE) from None


ERRORS = {
    404: ("not_found", "there is nothing at this path", SEE),
    405: ("wrong_method", "this path has no such method", SEE),
    415: ("not_json", "a body must be JSON", "send `Content-Type: application/json`"),
}
"""Code, message and hint of the errors that the router raises"""


async def _http_error(
    request: Request,
    error: Exception,
) -> Response:
    assert isinstance(error, HTTPException)
    code, message, hint = ERRORS.get(error.status_code, ("refused", error.detail, SEE))
    return refusal(error.status_code, code, message, hint, error.headers)
