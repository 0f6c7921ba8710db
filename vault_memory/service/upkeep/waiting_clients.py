"""What clients wait for: an index that has the saves before a question, and the next change.

A question waits at a barrier until the loop has indexed what was saved before it. A client that
follows the vault, such as an open page, waits at a ring of changes.
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable
from itertools import islice
from typing import TYPE_CHECKING

from vault_memory.contract.requests import ChangesCall
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch.change_queue import QueueMarker

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import ChangesJson, WatcherJson
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


# --- Change ring ---

# The loop stages each path that changed, and publishes the staged paths at the end of its turn. A
# note is staged when search finds its new text. Without clients this costs a few bytes a change.

MOST_CHANGES = 1000
"""Changes to remember; a client that missed more of them reads everything again"""
MOST_WAITING = 16
"""Clients that wait at the same time; any further client is answered at once"""
ASKED_SECONDS = 60.0
"""Time after a question for which clients count as interested"""


class ChangeRing:
    """A bounded log of changed paths. The loop adds to it, and threads of the socket read it.

    An id is the name of this ring and the number of a change. Another daemon has another name, so
    it recognises the ids of an earlier daemon.
    """

    def __init__(self) -> None:
        self._name = secrets.token_hex(4)
        self._ready = threading.Condition()
        self._paths: deque[str] = deque(maxlen=MOST_CHANGES)
        self._last = 0
        """The number of the newest change"""
        self._staged: dict[str, None] = {}
        self._is_loss_staged = False
        self._waiting = 0
        self._is_closed = False
        self._asked_at = float("-inf")

    # --- The loop ---

    def stage(self, paths: Iterable[str]) -> None:
        """Adds paths that changed to the next publication."""
        self._staged.update(dict.fromkeys(paths))

    def stage_loss(self) -> None:
        """Notes for the next publication that anything may have changed."""
        self._is_loss_staged = True

    def publish(self) -> None:
        """Passes the staged changes to the clients that wait."""
        if not self._staged and not self._is_loss_staged:
            return
        with self._ready:
            if self._is_loss_staged:
                # No id from before this number is in the ring any more.
                self._paths.clear()
                self._last += 1
            self._paths.extend(self._staged)
            self._last += len(self._staged)
            self._ready.notify_all()
        self._staged.clear()
        self._is_loss_staged = False

    def is_asked(self) -> bool:
        """Whether a client asked recently, or waits."""
        return time.monotonic() - self._asked_at < ASKED_SECONDS

    def close(self) -> None:
        """Answers all clients that wait, and any later one at once."""
        with self._ready:
            self._is_closed = True
            self._ready.notify_all()

    # --- The socket ---

    def answer(self, call: ChangesCall) -> "ChangesJson":
        """Returns the changes after the id `since`; waits for one, at most `wait` seconds.

        Without `since` it returns the present id at once.
        """
        with self._ready:
            self._asked_at = time.monotonic()
            since = self._number_of(call.since)
            # Fault: each waiting client occupies a thread, which other calls may need.
            if since == self._last and call.since and self._waiting < MOST_WAITING:
                self._wait(call.wait)
            return self._changes_after(since)

    def _wait(self, seconds: float) -> None:
        """Waits for a change or the end. The caller holds the lock."""
        present = self._last
        self._waiting += 1
        try:
            self._ready.wait_for(lambda: self._is_closed or self._last != present, seconds)
        finally:
            self._waiting -= 1

    def _number_of(self, change_id: str) -> int | None:
        """Returns the number of an id; None for the id of another daemon."""
        if not change_id:
            return self._last
        name, _, number = change_id.rpartition("-")
        # Fault: `int` takes signs, spaces and digits of all scripts.
        if name != self._name or not (number.isascii() and number.isdigit()):
            return None
        # Fault: `int` raises for a number of thousands of digits.
        if len(number) > len(str(self._last)):
            return None
        return int(number)

    def _changes_after(self, since: int | None) -> "ChangesJson":
        notes: list[str] = []
        oldest = self._last - len(self._paths)
        is_lost = since is None or not oldest <= since <= self._last
        if since is not None and not is_lost:
            # A note that was saved twice is one change for a client.
            newer = islice(self._paths, since - oldest, None)
            notes = list(dict.fromkeys(newer))
        return {"id": f"{self._name}-{self._last}", "notes": notes, "lost": is_lost}
