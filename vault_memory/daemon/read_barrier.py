"""Who saves and then asks is answered from what was saved: a question waits until the loop has come as far."""

import time
from collections.abc import Collection, Iterable

from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch.change_queue import QueueMarker
from vault_memory.vault.watch.watcher import Watcher

PATIENCE_SECONDS = 1.0
"""For a question to wait; then whoever asks looks at the vault without the daemon"""
GRACE_SECONDS = 0.1
"""For notes that are just being written; then a question is answered, and they are named as stale"""


class Behind(VaultMemoryError):
    """The daemon cannot say yet whether its index is up to date."""


class Barrier:
    """Between the threads that answer and the one loop that looks at files.

    What happened before a question was asked comes to the loop before the question's mark does.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._reached: list[tuple[float, QueueMarker]] = []

    def passed(self) -> bool:
        """Wait, in the thread of a question; whether all that was saved before is in the index or named as stale."""
        return self._watcher.mark().wait(PATIENCE_SECONDS)

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """The loop has these marks in hand, and with them hints of all that came before."""
        until = time.monotonic() + GRACE_SECONDS
        self._reached += [(until, mark) for mark in marks]

    def lift(self, soon: Collection[str]) -> None:
        """The loop has looked wherever it could: let pass whoever need not wait for the notes it looks at `soon`."""
        now = time.monotonic()
        for until, mark in self._reached:
            if not soon or now >= until:
                mark.set()
        self._reached = [
            (until, mark) for until, mark in self._reached if not mark.is_set()
        ]

    def wait(self) -> float:
        """Seconds until somebody has waited long enough."""
        return max(
            0.0,
            min((until for until, _ in self._reached), default=float("inf"))
            - time.monotonic(),
        )
