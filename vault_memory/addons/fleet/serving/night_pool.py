"""The threads for nights: a few, because each night asks a model, often for minutes."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from vault_memory.service.vault_host import NIGHT_THREADS

MOST_NIGHTS = 2 * NIGHT_THREADS
"""Nights that run or wait; each holds its vault"""


class NightPool:
    """Runs nights. Any thread may call it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(NIGHT_THREADS, "night")
        self._lock = threading.Lock()
        self._nights = 0

    @property
    def nights(self) -> int:
        """How many nights run or wait."""
        return self._nights

    @property
    def is_full(self) -> bool:
        """Whether no further night may wait."""
        return self._nights >= MOST_NIGHTS

    def submit(self, night: Callable[[], None]) -> bool:
        """Run a night when a thread is free. False: it has no place now, and does not run."""
        with self._lock:
            if self.is_full:
                return False
            self._nights += 1

        def run() -> None:
            try:
                night()
            finally:
                with self._lock:
                    self._nights -= 1

        try:
            self._pool.submit(run)
        except RuntimeError:
            # The host ends at this moment.
            with self._lock:
                self._nights -= 1
            return False
        return True

    def close(self) -> None:
        """Wait for the nights that were submitted."""
        self._pool.shutdown()
