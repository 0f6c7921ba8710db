"""Says when to look at the vault again. A watcher that cannot watch polls, and reports why.

Its hints prove nothing; the listing and the bytes do. Watches are set before the vault is listed,
so that no change falls between. Events may be lost: the queue overflows, the folder is replaced,
the computer sleeps, the thread dies, a change comes without an event. Then all watches are set
again, and the whole vault must be listed.
"""

import errno
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Literal, Protocol

from vault_memory.config.sections import Watch
from vault_memory.vault.watch import inotify
from vault_memory.vault.watch.change_queue import ChangeHints, ChangeQueue, QueueMarker
from vault_memory.vault.watch.mounts import MOUNTS, watchable

logger = logging.getLogger(__name__)

SLEPT = 5.0
"""Seconds by which the wall clock may run ahead of the monotonic one before it counts as sleep"""
DEAF_AFTER = 3
"""Sweeps that found changes without events, after which polling is the better way"""
_PATIENCE = 1.0
"""Seconds that an event may come after the sweep that found its change"""
_MEMORY = 10.0
"""Seconds for which hints are remembered"""
_MOST_RECENT = 1000
"""Remembered hints above which the old ones are dropped"""
_WAKE = 5.0
"""Longest wait in one step, so that sleep is noticed"""
_LEAST_PAUSE = 0.5
"""Seconds between two settings of all watches"""
_MOST_REFUSALS = 6
"""Doublings of the time until watches are tried again"""

_DEFAULTS = Watch()

Mode = Literal["inotify", "polling"]

_WORDS = {
    errno.ENOSPC: "the system's limit of inotify watches is reached (fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit of open files or inotify instances is reached"
    " (fs.inotify.max_user_instances)",
    errno.ENFILE: "the system has no more open files to give",
    errno.ENOMEM: "the system has no memory for more watches",
    errno.ENOENT: "the vault's folder is not there",
    errno.ENOTDIR: "the vault's folder is not there",
}


class EventSource(Protocol):
    """The watches of one vault, which put hints into a queue. `FolderEvents` is one."""

    @property
    def folders(self) -> int: ...

    def start(self) -> None: ...

    def arm(self) -> None: ...

    def mark(self, mark: QueueMarker) -> bool: ...

    def marks(self) -> list[QueueMarker]: ...

    def stop(self) -> None: ...

    def is_alive(self) -> bool: ...

    def join(self) -> None: ...


class EventSystem(Protocol):
    """Opens the events of a vault."""

    def obstacle(self, root: str) -> str | None:
        """Returns why a vault has no reliable events; None when it has."""

    def open(self, root: str, queue: ChangeQueue) -> EventSource:
        """Returns the events of a vault, before they start. Raises OSError."""


class OwnEvents:
    """Opens an inotify instance for each vault."""

    def __init__(self, mounts: str = MOUNTS) -> None:
        self._mounts = mounts

    def obstacle(self, root: str) -> str | None:
        """Returns why a vault has no reliable events; None when it has."""
        return watchable(root, mounts=self._mounts)

    def open(self, root: str, queue: ChangeQueue) -> EventSource:
        """Returns the events of a vault, before they start. Raises OSError."""
        return inotify.FolderEvents(root, queue)


class Watcher:
    """Watches one vault for one consumer of hints."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        settings: Watch = _DEFAULTS,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        system: EventSystem | None = None,
    ) -> None:
        """Without `system`, the vault has an inotify instance and a thread of its own."""
        self.root = os.path.abspath(root)
        self.mode: Mode = "polling"
        self.reason = "not started"
        """Why it polls, or the last trouble; "" without trouble"""
        self.healthy = False
        """False while changes may be found later than promised"""
        self._now = now
        self._wall = wall
        self._poll_seconds = settings.poll_seconds
        self._sweep_seconds = settings.sweep_seconds
        self._queue = ChangeQueue()
        self._events: EventSource | None = None
        self._system = system or OwnEvents()
        self._never = ""
        """Why this vault has no reliable events at all"""
        self._next_look = 0.0
        self._next_arm = 0.0
        self._ahead = wall() - now()
        """Seconds by which the wall clock is ahead of the monotonic one"""
        self._root_id: tuple[int, int] | None = None
        self._recent: dict[str, float] = {}
        """Path → when it was last hinted at"""
        self._missed: dict[str, float] = {}
        """Path → when a sweep found its change"""
        self._last_rescan = 0.0
        self._deaf = 0
        """Sweeps that found changes without events"""
        self._refused = 0
        """Tries in a row that got no watches"""

    @property
    def folders(self) -> int:
        """The number of folders that are watched by events."""
        return self._events.folders if self._events else 0

    @property
    def queue(self) -> ChangeQueue:
        """Where its events put their hints."""
        return self._queue

    @property
    def is_deaf(self) -> bool:
        """Whether it polls because changes came without an event."""
        return self._deaf >= DEAF_AFTER

    # --- For the consumer ---

    def start(self, *, is_unchanged: bool = False) -> None:
        """Sets the watches. The first hints ask for a rescan, unless the vault `is_unchanged`.

        A vault is unchanged when its events of all the time before are known, and none came.
        """
        no_events = "" if sys.platform == "linux" else "events are used on Linux only"
        self._never = self._system.obstacle(self.root) or no_events
        is_set = self._try_watches()
        if is_set and not (is_unchanged and self.mode == "inotify"):
            self._queue.rescan("the watch began")

    def stop(self) -> None:
        """Removes all watches; makes `take` return."""
        self._close()
        self.mode, self.healthy, self.reason = "polling", False, "stopped"
        self._queue.wake()

    def wake(self) -> None:
        """Makes a `take` return that waits in another thread."""
        self._queue.wake()

    def mark(self) -> QueueMarker:
        """Returns a marker that comes among the hints after everything that happened so far.

        Any thread may call it.
        """
        mark = QueueMarker()
        self._queue.ask(mark)
        return mark

    def take(self, timeout: float) -> ChangeHints:
        """Returns the next hints as soon as there are any; empty ones after `timeout` seconds."""
        deadline = self._now() + timeout
        while True:
            self._process_due()
            self._place(self._queue.take_asked())
            if hints := self._queue.take():
                self._remember(hints)
                return hints
            now = self._now()
            if now >= deadline:
                self._queue.end_wake()
                return ChangeHints()
            until = min(deadline, self._next_due(), now + _WAKE)
            if self._queue.wait(until - now, heed_lost=now >= self._next_arm):
                return ChangeHints()

    def wait(self) -> float:
        """Returns for how many seconds `take` has nothing to do, if no hint comes."""
        now = self._now()
        if self._queue.has_work(heed_lost=now >= self._next_arm):
            return 0.0
        return max(0.0, self._next_due() - now)

    def note_missed(self, path: str) -> None:
        """Notes that a sweep found a change of this note, whose event should have come."""
        self._missed.setdefault(path, self._now())

    def _place(self, marks: list[QueueMarker]) -> None:
        """Places markers behind the events so far; without events, behind a rescan."""
        unplaced = [mark for mark in marks if self._events is None or not self._events.mark(mark)]
        if unplaced:
            self._queue.rescan("a caller waits for the index")
            self._queue.reach(unplaced)

    def _remember(self, hints: ChangeHints) -> None:
        now = self._now()
        self._recent.update(dict.fromkeys((*hints.paths, *hints.subtrees), now))
        if hints.rescan and not hints.sweep:
            self._last_rescan = now
        if len(self._recent) > _MOST_RECENT:
            self._recent = {
                path: moment for path, moment in self._recent.items() if moment > now - _MEMORY
            }

    # --- What is due besides waiting ---

    def _next_due(self) -> float:
        moments = [self._next_look]
        if self._missed:
            moments.append(min(self._missed.values()) + _PATIENCE)
        if self._queue.lost:
            moments.append(self._next_arm)
        return min(moments)

    def _process_due(self) -> None:
        now = self._now()
        self._notice_sleep(now)
        self._judge_missed(now)
        if self._queue.lost and now >= self._next_arm:
            self._replace_lost_watches()
        if now >= self._next_look:
            self._look(now)

    def _notice_sleep(self, now: float) -> None:
        # Fault (B51): a computer that sleeps drops the events of other computers and of
        # a remounted disk. The monotonic clock stops meanwhile.
        ahead = self._wall() - now
        if abs(ahead - self._ahead) > SLEPT:
            self._queue.rescan("the computer slept, or its clock was set")
        self._ahead = ahead

    def _replace_lost_watches(self) -> None:
        lost, error = self._queue.take_lost()
        logger.info("setting all watches again: %s", lost)
        if error is not None and error.errno in _WORDS:
            self._poll(error)
        else:
            self._set_watches(lost)

    def _look(self, now: float) -> None:
        """Requests the sweep, or the next poll."""
        # Fault (C56): some programs replace the folder by a mount, of which inotify
        # says nothing.
        if self._root_moved():
            self._set_watches("the vault's folder was replaced")
        elif self.mode == "polling" and not self._never and now >= self._next_arm:
            self._set_watches("events may be available again")
        is_polling = self.mode == "polling"
        self._next_look = now + self._look_seconds(is_polling=is_polling)
        reason = "polling" if is_polling else "sweep"
        self._queue.rescan(reason, sweep=not is_polling)

    def _look_seconds(self, *, is_polling: bool) -> float:
        return self._poll_seconds if is_polling else self._sweep_seconds

    def _root_moved(self) -> bool:
        try:
            return self._events is not None and root_identity(self.root) != self._root_id
        except OSError:
            # The folder disappeared: its disk was unmounted, or a program replaces it.
            return True

    def _judge_missed(self, now: float) -> None:
        """Counts the sweeps that found changes without events; polls after some of them."""
        overdue = {
            path: moment for path, moment in self._missed.items() if moment + _PATIENCE <= now
        }
        unheard = [path for path, moment in overdue.items() if not self._has_hint(path, moment)]
        for path in overdue:
            del self._missed[path]
        if not unheard or self.mode != "inotify":
            return
        # Fault (C62, C68): a memory map and some container mounts change files without
        # an event.
        self._deaf += 1
        if self.is_deaf:
            self._never = (
                f"{self._deaf} times changes came without an event, last of `{unheard[0]}`"
            )
        self._queue.lose(f"`{unheard[0]}` changed without an event")

    def _has_hint(self, path: str, moment: float) -> bool:
        """Whether a hint at this path, or at a folder above it, came about that moment."""
        since = moment - min(_MEMORY, self._sweep_seconds / 2)
        if self._last_rescan > since:
            return True
        while path:
            if self._recent.get(path, since) > since:
                return True
            path = path.rpartition("/")[0]
        return False

    # --- Watches ---

    def _set_watches(self, reason: str) -> None:
        """Sets all watches again, or polls; either way requests a rescan."""
        if self._try_watches():
            self._queue.rescan(reason)

    def _try_watches(self) -> bool:
        """Sets all watches again. Returns False after an error, which requests a rescan."""
        began = self._now()
        self._close()
        try:
            self._root_id = root_identity(self.root)
            if not self._never:
                self._arm()
        except OSError as error:
            self._poll(error)
            return False
        self.mode = "polling" if self._never else "inotify"
        self.reason = self._never
        self.healthy = not self.is_deaf
        self._refused = 0
        now = self._now()
        # Fault (C52): a storm of lost events must not become a storm of setting
        # watches.
        self._next_arm = now + max(_LEAST_PAUSE, 10 * (now - began))
        self._next_look = now + self._look_seconds(is_polling=bool(self._never))
        return True

    def _arm(self) -> None:
        self._events = self._system.open(self.root, self._queue)
        self._events.start()
        self._events.arm()

    def _poll(self, error: OSError) -> None:
        """Polls because of an error, and tries watches again later, ever more seldom."""
        self._close()
        self.mode, self.healthy = "polling", False
        self.reason = trouble_of(error)
        logger.warning("polling every %g s: %s", self._poll_seconds, self.reason)
        now = self._now()
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            # Fault (C57): the disk may be mounted again at any time.
            self._next_arm = now + self._poll_seconds
        else:
            self._next_arm = now + self._sweep_seconds * 2**self._refused
            self._refused = min(self._refused + 1, _MOST_REFUSALS)
        self._next_look = now + self._poll_seconds
        self._queue.rescan(self.reason)

    def _close(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.stop()
            if events.is_alive():
                events.join()
            # Fault (C58): the thread will not reach these markers, and their callers
            # would wait for ever. Every caller requests a rescan anyway.
            self._queue.reach(events.marks())
        # Fault: the old thread's trouble must not end the new watches.
        self._queue.take_lost()


def root_identity(root: str) -> tuple[int, int]:
    """Returns the device and the inode of a folder. Raises OSError."""
    status = os.stat(root)
    return status.st_dev, status.st_ino


def trouble_of(error: OSError) -> str:
    """Returns why watches are refused, in the words of the user."""
    return _WORDS.get(error.errno or 0) or error.strerror or str(error)
