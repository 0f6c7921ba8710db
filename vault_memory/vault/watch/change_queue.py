"""Hints of change, gathered from the thread that hears them for the one that looks.

A hint says "look here", never "this is so": no event is believed for what it claims to have happened.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

MOST_PATHS = 20_000
"""More hints than that at once, and it is cheaper to look at everything."""
MOST_SUBTREES = 500

Mark = threading.Event
"""A place in the order of what happens. The taker of hints sets it when it has looked at all that came before it."""


@dataclass(frozen=True, slots=True)
class ChangeQueue:
    """Where to look."""

    paths: frozenset[str] = frozenset()
    """Notes that may have changed, come or gone."""
    closed: frozenset[str] = frozenset()
    """Those of them whose last event was a close, a rename or a removal: whoever wrote is done for the moment."""
    subtrees: frozenset[str] = frozenset()
    """Folders of which everything below is to be listed again."""
    rescan: bool = False
    """List everything again, and check that the vault is still the vault."""
    sweep: bool = False
    """This rescan is routine: a change it finds should have been announced, and is to be told to `note_missed`."""
    reason: str = ""
    """Why to rescan."""
    marks: tuple[Mark, ...] = ()
    """All that happened before these were asked for is among the hints up to here."""

    def __bool__(self) -> bool:
        return bool(self.paths or self.subtrees or self.rescan or self.marks)


class Inbox:
    """Where hints gather until they are taken. Any thread may put, one takes."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._paths: dict[str, bool] = {}
        self._subtrees: set[str] = set()
        self._reason = ""
        self._sweep = False
        self._woken = False
        self._asked: list[Mark] = []
        self._reached: list[Mark] = []
        self.lost: str = ""
        """Why the watches must be set anew; the taker does that and clears it."""
        self.failed: OSError | None = None
        """Why no more watches could be had."""

    def dirty(self, path: str, *, closed: bool | None) -> None:
        """A note may have changed; ``closed`` is None when the event says nothing about the writer's being done."""
        with self._ready:
            self._paths[path] = (
                self._paths.get(path, True) if closed is None else closed
            )
            if len(self._paths) > MOST_PATHS:
                self._rescan("a great many notes changed at once")
            self._ready.notify()

    def subtree(self, path: str) -> None:
        """Anything below a folder may have changed."""
        with self._ready:
            self._subtrees.add(path)
            if len(self._subtrees) > MOST_SUBTREES:
                self._rescan("a great many folders changed at once")
            self._ready.notify()

    def rescan(self, reason: str, *, sweep: bool = False) -> None:
        """Anything may have changed."""
        with self._ready:
            self._rescan(reason, sweep=sweep)
            self._ready.notify()

    def _rescan(self, reason: str, *, sweep: bool = False) -> None:
        self._sweep = sweep and (self._sweep or not self._reason)
        self._reason = reason if not sweep or not self._reason else self._reason
        if (
            not self._sweep
        ):  # a sweep takes its time; these folders are to be listed now
            self._subtrees.clear()
        if len(self._paths) > MOST_PATHS:
            self._paths.clear()

    def lose(self, reason: str, error: OSError | None = None) -> None:
        """Events were or will be lost."""
        with self._ready:
            self.lost = self.lost or reason
            self.failed = self.failed or error
            self._ready.notify()

    def ask(self, mark: Mark) -> None:
        """Let the taker find out where in the order of events we are now."""
        with self._ready:
            self._asked.append(mark)
            self._ready.notify()

    def take_asked(self) -> list[Mark]:
        """The marks that are not placed yet; they are forgotten here."""
        with self._ready:
            asked, self._asked = self._asked, []
            return asked

    def reach(self, marks: Iterable[Mark]) -> None:
        """All that happened before these were asked for is here."""
        with self._ready:
            self._reached += marks
            self._ready.notify()

    def wake(self) -> None:
        """Let the taker return though nothing happened."""
        with self._ready:
            self._woken = True
            self._ready.notify()

    def wait(self, seconds: float, *, heed_lost: bool) -> bool:
        """Until something is there, or was woken, or time is up; whether it was woken."""
        with self._ready:
            lost = heed_lost and self.lost
            marks = self._asked or (self._reached and not self.lost)
            if not (
                self._paths
                or self._subtrees
                or self._reason
                or lost
                or marks
                or self._woken
            ):
                self._ready.wait(max(0.0, seconds))
            woken, self._woken = self._woken, False
            return woken

    def take(self) -> ChangeQueue:
        """All hints so far; they are gone afterwards. While events are lost, no mark counts as reached."""
        with self._ready:
            marks = [] if self.lost else self._reached
            hints = ChangeQueue(
                frozenset(self._paths),
                frozenset(path for path, closed in self._paths.items() if closed),
                frozenset(self._subtrees),
                bool(self._reason),
                self._sweep,
                self._reason,
                tuple(marks),
            )
            self._reached = self._reached[len(marks) :]
            self._paths, self._subtrees, self._reason, self._sweep = (
                {},
                set(),
                "",
                False,
            )
            return hints

    def take_lost(self) -> tuple[str, OSError | None]:
        """Why watches must be set anew, if so; it is forgotten afterwards."""
        with self._ready:
            lost, failed = self.lost, self.failed
            self.lost, self.failed = "", None
            return lost, failed
