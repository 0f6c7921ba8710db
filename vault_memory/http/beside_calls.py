"""Serves the page beside the calls for bots, on one port."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

CALLS = (
    "v1 mcp healthz openapi.json metrics talk .well-known authorize token register revoke"
).split()
"""First parts of the paths that bots ask for"""


@dataclass(frozen=True, slots=True)
class _ByPath:
    """Passes a request to the calls or to the page."""

    calls: ASGIApp
    page: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = scope["path"].lstrip("/").partition("/")[0]
        app = self.calls if first in CALLS else self.page
        # Fault: the route of this app matched the complete path. Both apps would take it for a
        # parameter of their own routes, and the calls refuse unknown parameters.
        await app({**scope, "path_params": {}}, receive, send)


def page_beside_calls(calls: ASGIApp, page: ASGIApp) -> Starlette:
    """Returns an app with both. Each checks its requests itself."""

    route = Route("/{path:path}", _ByPath(calls, page))
    return Starlette(routes=[route], lifespan=lifespan_of((calls, page)))


# --- Lifespan ---

STARTED, STOPPED = "lifespan.startup.complete", "lifespan.shutdown.complete"
RETURNED = "returned"
"""The answer of an app without a lifespan, which returns at once"""


@asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[None]:
    """Starts the app, and stops it at the end. An app without a lifespan needs neither."""
    to_app: asyncio.Queue[Any] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()

    async def live() -> None:
        try:
            await app(
                {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}},
                to_app.get,
                from_app.put,
            )
        finally:
            await from_app.put({"type": RETURNED})

    task = asyncio.create_task(live())
    try:
        await to_app.put({"type": "lifespan.startup"})
        answer = await from_app.get()
        if answer["type"] != STARTED:
            # This raises the error of the app, if there was one.
            await task
            if answer["type"] != RETURNED:
                raise RuntimeError(answer.get("message") or "a mounted app did not start")
        yield
        if not task.done():
            await to_app.put({"type": "lifespan.shutdown"})
            while (await from_app.get())["type"] not in (STOPPED, RETURNED):
                pass
            await task
    finally:
        task.cancel()


def lifespan_of(
    apps: Iterable[ASGIApp],
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Starts these apps with the server, and stops them at its end."""

    @asynccontextmanager
    async def lifespan(server: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(running(app))
            yield

    return lifespan
