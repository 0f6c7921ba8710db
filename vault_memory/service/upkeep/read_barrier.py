"""Read barrier: a question waits until the loop has indexed the saves before it."""

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch.change_queue import QueueMarker
from vault_memory.vault.watch.watcher import Mode

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson


class WatchState(Protocol):
    """What people and programs are told of a watcher."""

    @property
    def mode(self) -> Mode:
        """Whether events report changes, or the vault is polled."""

    @property
    def healthy(self) -> bool:
        """False while changes may be found later than promised."""

    @property
    def reason(self) -> str:
        """Why the vault is polled, or the last trouble; "" without trouble."""


class UpkeepWatch(WatchState, Protocol):
    """The part of a watcher that is not the taking of hints: its owner does that.

    `Watcher` is one. A host has one for each vault, over a single instance of inotify.
    """

    def mark(self) -> QueueMarker:
        """Returns a marker that comes among the hints after everything that happened so far."""

    def wake(self) -> None:
        """Makes the owner take hints soon, although nothing happened. Any thread may call it."""

    def note_missed(self, path: str) -> None:
        """Notes that a sweep found a change of this note, whose event should have come."""


def watcher_status(watch: WatchState, trouble: str) -> "WatcherJson":
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

    def __init__(self, watch: UpkeepWatch) -> None:
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
