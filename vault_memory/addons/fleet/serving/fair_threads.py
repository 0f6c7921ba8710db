"""Threads for calls that may take long: calls of one kind leave threads to the others."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio

WAIT_SECONDS = 1.0
"""For a thread, where the caller can look again whether the call is still needed"""


class NoThread(Exception):
    """All threads for calls of this kind are in use."""


class FairThreads:
    """Runs calls in threads. Only the event loop may ask it."""

    def __init__(self, most: int, most_of_a_kind: int) -> None:
        """At most so many calls run at once, and so many of one kind."""
        self._most = most
        self._most_of_a_kind = most_of_a_kind
        self._all: anyio.CapacityLimiter | None = None
        self._kinds: dict[str, anyio.CapacityLimiter] = {}
        """for kinds with calls that run or wait"""

    async def run(
        self,
        kind: str,
        call: Callable[..., Any],
        *arguments: object,
        patience: float = float("inf"),
    ) -> Any:
        """Run a call. Raises NoThread when its kind has none for so many seconds."""
        if self._all is None:
            self._all = anyio.CapacityLimiter(self._most)
        if kind not in self._kinds:
            self._kinds[kind] = anyio.CapacityLimiter(self._most_of_a_kind)
        of_a_kind = self._kinds[kind]
        owner = object()
        try:
            with anyio.move_on_after(patience) as waiting:
                await of_a_kind.acquire_on_behalf_of(owner)
            if waiting.cancelled_caught:
                raise NoThread
            try:
                return await anyio.to_thread.run_sync(partial(call, *arguments), limiter=self._all)
            finally:
                of_a_kind.release_on_behalf_of(owner)
        finally:
            usage = of_a_kind.statistics()
            if not usage.borrowed_tokens and not usage.tasks_waiting:
                self._kinds.pop(kind, None)
