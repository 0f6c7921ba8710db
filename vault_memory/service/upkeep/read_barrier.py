"""Read barrier: a question waits until the loop has indexed the saves before it."""

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch.change_queue import QueueMarker

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson
    from vault_memory.vault.watch.vault_watch import VaultWatch
    from vault_memory.vault.watch.watcher import Watcher


def watcher_status(watch: "Watcher | VaultWatch", trouble: str) -> "WatcherJson":
    """Returns the state of a watcher, a part of the `status` of a vault.

    `trouble` is why the vault cannot be read now; empty when it can.
    """
    return {
        "mode": watch.mode,
        "healthy": watch.healthy and not trouble,
        "reason": trouble or watch.reason,
    }


# --- Barrier ---

PATIENCE_SECONDS = 1.0
"""How long a question waits at most. Its caller then reads the vault without the daemon."""
GRACE_SECONDS = 0.1
"""How long a question waits for notes that are being saved. The answer names them as stale."""


class Behind(VaultMemoryError):
    """The daemon does not know yet whether its index is up to date."""


class Barrier:
    """Connects the threads that answer questions with the loop that reads files.

    The loop takes the hints of what was saved before a question earlier than the mark of the question.
    """

    def __init__(self, watch: "Watcher | VaultWatch") -> None:
        self._watch = watch
        self._reached: list[tuple[float, QueueMarker]] = []

    def passed(self) -> bool:
        """Waits in the thread of a question. Returns whether the index has all earlier saves.

        Notes whose saves it lacks are named as stale.
        """
        return self._watch.mark().wait(PATIENCE_SECONDS)

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """Notes that the loop took these marks, and so the hints of all earlier saves."""
        until = time.monotonic() + GRACE_SECONDS
        self._reached += [(until, mark) for mark in marks]

    def lift(self, soon: Collection[str]) -> None:
        """Answers the questions that need not wait for the notes that the loop reads `soon`."""
        now = time.monotonic()
        for until, mark in self._reached:
            if not soon or now >= until:
                mark.set()
        self._reached = [(until, mark) for until, mark in self._reached if not mark.is_set()]

    def wait(self) -> float:
        """Returns the seconds until the first question has waited long enough."""
        first = min((until for until, _ in self._reached), default=float("inf"))
        return max(0.0, first - time.monotonic())
