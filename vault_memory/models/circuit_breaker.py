"""Stops requests to a server that fails repeatedly: a pause follows the failures, then one trial."""

import threading
import time
from collections.abc import Callable

FAILURES = 3
"""Consecutive failures that open the breaker"""
PAUSE_SECONDS = 300.0


class Breaker:
    """Counts the consecutive failures of one server.

    Closed: requests are allowed. Open: they are not. Half open: one caller tries, others wait.
    """

    def __init__(
        self, *, pause: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def seconds_left(self) -> float:
        """Return the seconds until the next request is allowed; 0 allows it now.

        The first caller after the pause gets 0 and makes the trial.
        """
        # Fault: two threads count the failures of one server at the same time.
        with self._lock:
            if self._failures < FAILURES:
                return 0.0
            now = self._clock()
            if now < self._until:
                return self._until - now
            # Half open: a second caller must not flood a server that just recovers, so the
            # pause starts again until the trial is recorded.
            self._until = now + self._pause
            return 0.0

    def record_success(self) -> None:
        """Close the breaker."""
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        """Count a failure and start the pause."""
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._pause


_breakers: dict[tuple[str, str], Breaker] = {}
_breakers_lock = threading.Lock()


def breaker_of(url: str, model: str) -> Breaker:
    """Return the breaker of a server and model; the whole process shares it."""
    with _breakers_lock:
        return _breakers.setdefault((url, model), Breaker())
