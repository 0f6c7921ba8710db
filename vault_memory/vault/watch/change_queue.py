"""A queue of hints of change, from the thread that reads events to the thread that looks.

A hint says "look here", never "this is so": events may be late, doubled, or lost.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

MOST_PATHS = 20_000
"""Hints at once above which a look at everything is cheaper"""
MOST_SUBTREES = 500

QueueMarker = threading.Event
"""A place in the order of events. The consumer sets it when it has looked at everything before."""


@dataclass(frozen=True, slots=True)
class ChangeHints:
    """Where to look."""

    paths: frozenset[str] = frozenset()
    """Notes that may have changed, appeared or disappeared"""
    closed: frozenset[str] = frozenset()
    """Those of them whose last event was a close, a rename or a removal: the save is complete"""
    subtrees: frozenset[str] = frozenset()
    """Folders that must be listed again with everything below"""
    rescan: bool = False
    """List everything again, and check that the vault is still the same vault"""
    sweep: bool = False
    """This rescan is routine: report a change that it finds to `Watcher.note_missed`"""
    reason: str = ""
    """Why to rescan"""
    marks: tuple[QueueMarker, ...] = ()
    """Everything that happened before these were requested is among the hints up to here"""

    def __bool__(self) -> bool:
        return bool(self.paths or self.subtrees or self.rescan or self.marks)


class ChangeQueue:
    """The queue of hints. Any thread may put, one thread takes."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._paths: dict[str, bool] = {}
        """Path → whether its last event ended a save"""
        self._subtrees: set[str] = set()
        self._reason = ""
        self._sweep = False
        self._woken = False
        self._requested: list[QueueMarker] = []
        self._reached: list[QueueMarker] = []
        self.lost: str = ""
        """Why the watches must be set again; the consumer does that and clears it"""
        self.failed: OSError | None = None
        """Why no more watches are available"""

    # --- Producers ---

    def dirty(self, path: str, *, closed: bool | None) -> None:
        """Adds a note that may have changed; `closed`: whether the save ended, None if unclear."""
        with self._ready:
            # Fault: a change of attributes must not end the wait for a save that is
            # under way.
            if closed is None:
                closed = self._paths.get(path, True)
            self._paths[path] = closed
            if len(self._paths) > MOST_PATHS:
                self._rescan("a great many notes changed at once")
            self._ready.notify()

    def subtree(self, path: str) -> None:
        """Adds a folder below which anything may have changed."""
        with self._ready:
            self._subtrees.add(path)
            if len(self._subtrees) > MOST_SUBTREES:
                self._rescan("a great many folders changed at once")
            self._ready.notify()

    def rescan(self, reason: str, *, sweep: bool = False) -> None:
        """Requests a look at everything."""
        with self._ready:
            self._rescan(reason, sweep=sweep)
            self._ready.notify()

    def _rescan(self, reason: str, *, sweep: bool = False) -> None:
        # Fault: a routine sweep must not hide that another rescan has a cause.
        has_cause = bool(self._reason)
        self._sweep = sweep and (self._sweep or not has_cause)
        if not (sweep and has_cause):
            self._reason = reason
        # A sweep may take its time, but these folders must be listed now.
        if not self._sweep:
            self._subtrees.clear()
        if len(self._paths) > MOST_PATHS:
            self._paths.clear()

    def lose(self, reason: str, error: OSError | None = None) -> None:
        """Reports that events were lost, or will be."""
        with self._ready:
            self.lost = self.lost or reason
            self.failed = self.failed or error
            self._ready.notify()

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """Adds markers: everything that happened before their request is in the queue."""
        with self._ready:
            self._reached += marks
            self._ready.notify()

    # --- Requests to the consumer ---

    def ask(self, mark: QueueMarker) -> None:
        """Requests that the consumer places a marker behind all events so far."""
        with self._ready:
            self._requested.append(mark)
            self._ready.notify()

    def wake(self) -> None:
        """Makes the consumer return although nothing happened."""
        with self._ready:
            self._woken = True
            self._ready.notify()

    # --- The consumer ---

    def take_asked(self) -> list[QueueMarker]:
        """Returns the markers that are not placed yet, and forgets them."""
        with self._ready:
            requested, self._requested = self._requested, []
            return requested

    def wait(self, seconds: float, *, heed_lost: bool) -> bool:
        """Waits for a hint, a wake-up or the time-out. Returns whether it was a wake-up."""
        with self._ready:
            if not self._has_work(heed_lost=heed_lost):
                self._ready.wait(max(0.0, seconds))
            woken, self._woken = self._woken, False
            return woken

    def end_wake(self) -> None:
        """Notes that the consumer returns: a wake-up so far has had its effect."""
        with self._ready:
            self._woken = False

    def has_work(self, *, heed_lost: bool) -> bool:
        """Whether `wait` would return at once."""
        with self._ready:
            return self._has_work(heed_lost=heed_lost)

    def _has_work(self, *, heed_lost: bool) -> bool:
        causes = (
            self._paths,
            self._subtrees,
            self._reason,
            self._woken,
            self._requested,
            self._reached and not self.lost,
            heed_lost and self.lost,
        )
        return any(causes)

    def take(self) -> ChangeHints:
        """Returns all hints so far, and forgets them."""
        with self._ready:
            # Fault (C52): the events before a marker may be among the lost ones. It
            # waits for the rescan.
            marks = [] if self.lost else self._reached
            hints = ChangeHints(
                frozenset(self._paths),
                frozenset(path for path, closed in self._paths.items() if closed),
                frozenset(self._subtrees),
                bool(self._reason),
                self._sweep,
                self._reason,
                tuple(marks),
            )
            self._reached = self._reached[len(marks) :]
            self._paths = {}
            self._subtrees = set()
            self._reason = ""
            self._sweep = False
            return hints

    def take_lost(self) -> tuple[str, OSError | None]:
        """Returns why watches must be set again, if they must, and forgets it."""
        with self._ready:
            lost, failed = self.lost, self.failed
            self.lost, self.failed = "", None
            return lost, failed
