"""Apps that are mounted live as long as the whole: they are told of the beginning and of the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp

STARTED, STOPPED = "lifespan.startup.complete", "lifespan.shutdown.complete"


@asynccontextmanager
async def awake(app: ASGIApp) -> AsyncIterator[None]:
    """The app is started, and stopped afterwards; one that has nothing to start is left alone."""
    told: asyncio.Queue[Any] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def live() -> None:
        try:
            await app(
                {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}},
                told.get,
                heard.put,
            )
        finally:
            await heard.put({"type": "over"})

    life = asyncio.create_task(live())
    try:
        await told.put({"type": "lifespan.startup"})
        first = await heard.get()
        if first["type"] != STARTED:
            await life  # its own error, when it failed by one
            if first["type"] != "over":
                raise RuntimeError(
                    first.get("message") or "a mounted app did not start"
                )
        yield
        if not life.done():
            await told.put({"type": "lifespan.shutdown"})
            while (await heard.get())["type"] not in (STOPPED, "over"):
                pass
            await life
    finally:
        life.cancel()
