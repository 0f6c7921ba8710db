"""Serves the page beside the calls for bots, on one port."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vault_memory.http.lifespan import running

CALLS = ("v1", "mcp", "healthz", "openapi.json", "metrics", "talk")
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

    @asynccontextmanager
    async def lifespan(server: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in (calls, page):
                await stack.enter_async_context(running(app))
            yield

    route = Route("/{path:path}", _ByPath(calls, page))
    return Starlette(routes=[route], lifespan=lifespan)
