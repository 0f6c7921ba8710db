"""Starts and stops a mounted app together with the app that it is mounted in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp

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
