"""Leaving a server alone that fails again and again: after some failures it is not asked for a while, then once."""

import threading
import time
from collections.abc import Callable

FAILURES = 3
"""in a row, before it is left alone"""
REST = 300.0
"""Seconds"""


class Breaker:
    """Counts failures of one server. Closed: it may be asked. Open: it may not. Half open: one asks, others wait."""

    def __init__(
        self, *, rest: float = REST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rest, self._clock = rest, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def seconds_left(self) -> float:
        """0 when it may be asked now. Whoever gets 0 when the rest is just over is the one who tries."""
        with self._lock:
            if self._failures < FAILURES:
                return 0.0
            now = self._clock()
            if now < self._until:
                return self._until - now
            self._until = (
                now + self._rest
            )  # half open: until the trial is told of, nobody else asks
            return 0.0

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._rest


_breakers: dict[tuple[str, str], Breaker] = {}
_making = threading.Lock()


def breaker_of(url: str, model: str) -> Breaker:
    """The breaker of a server and model; one for the whole process, whoever asks."""
    with _making:
        return _breakers.setdefault((url, model), Breaker())
