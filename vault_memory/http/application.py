"""The whole of it: the gate, the door, the routes, and what is mounted beside them."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
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
from vault_memory.config.sections import Serve
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.http.auth import Doorkeeper
from vault_memory.http.lifespan import awake
from vault_memory.http.origin_check import Gate
from vault_memory.http.prometheus import Counting, Requests
from vault_memory.http.responses import broken, failure, refusal, reply
from vault_memory.http.routes import ENDPOINTS, Endpoint, with_own_door
from vault_memory.http.tokens import Tokens
from vault_memory.rules.paths.caller import Caller

logger = logging.getLogger(__name__)

ASKED_BY_BROWSERS = (
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "last-event-id",
)
SEE = "`/openapi.json` describes the calls"


def application(
    memory: VaultMemory,
    tokens: Tokens,
    mounts: Mapping[str, ASGIApp] | None = None,
    *,
    local: Caller | None = None,
    settings: Serve | None = None,
) -> ASGIApp:
    """An ASGI app for one vault. `mounts` get the requests below their path, unchanged, behind the same door.

    Whoever comes without a token is `local`, if that is given: for a socket that only its owner can open.
    `settings` are those of `[serve]`, unless others are given.
    """
    serve, mounted, requests = (
        settings or memory.vault.config.serve,
        dict(mounts or {}),
        Requests(),
    )
    own_door = with_own_door(memory, serve, requests, for_local=local is not None)
    names = {route.path for route in own_door}
    known = {
        *names,
        *(one.path for one in ENDPOINTS),
        *mounted,
        *(f"{path}/{{rest}}" for path in mounted),
    }
    doors = [Middleware(Counting, requests=requests, paths=known)]
    doors += [
        Middleware(
            Gate,
            hosts=(serve.host, *serve.allowed_hosts),
            origins=serve.allowed_origins,
        )
    ]
    if serve.allowed_origins:
        methods, origins = ("GET", "POST", "DELETE"), serve.allowed_origins
        doors.append(
            Middleware(
                CORSMiddleware,
                allow_origins=origins,
                allow_methods=methods,
                allow_headers=ASKED_BY_BROWSERS,
            )
        )
    doors.append(
        Middleware(
            Doorkeeper, tokens=tokens, settings=serve, local=local, own_door=names
        )
    )

    @asynccontextmanager
    async def alive(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for one in mounted.values():
                await stack.enter_async_context(awake(one))
            yield

    routes = [*own_door, *(_route(memory, endpoint) for endpoint in ENDPOINTS)]
    for path, one in mounted.items():
        routes += [
            Route(path, _Mounted(one)),
            Route(path + "/{rest:path}", _Mounted(one)),
        ]
    app = Starlette(
        routes=routes,
        middleware=doors,
        lifespan=alive,
        exception_handlers={HTTPException: _not_there},
    )
    app.router.redirect_slashes = False
    return app


@dataclass(frozen=True, slots=True)
class _Mounted:
    """An app that is given requests as they came."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def _route(memory: VaultMemory, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        caller: Caller = request.scope["state"]["caller"]
        try:
            asked = await _asked(request, endpoint)
            # the one crossing: vaults are files, and files block
            return reply(
                await anyio.to_thread.run_sync(
                    partial(endpoint.call, memory, caller, asked)
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


async def _asked(request: Request, endpoint: Endpoint) -> Any:
    """What the request says, checked. Raises UsageError."""
    try:
        if endpoint.method == "GET":
            return msgspec.convert(
                {**request.query_params, **request.path_params},
                endpoint.takes,
                strict=False,
            )
        if (
            request.headers.get("content-type", "").partition(";")[0].strip().lower()
            != "application/json"
        ):
            raise HTTPException(415)
        return msgspec.json.decode(await request.body(), type=endpoint.takes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the request is not understood: {error}", hint=SEE) from None


REASONS = {
    404: ("not_found", "there is nothing at this path", SEE),
    405: ("wrong_method", "this path has no such method", SEE),
    415: ("not_json", "a body is JSON", "send `Content-Type: application/json`"),
}


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, message, hint = REASONS.get(error.status_code, ("refused", error.detail, SEE))
    return refusal(error.status_code, code, message, hint, error.headers)
