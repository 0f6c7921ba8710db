"""When to look at the vault again. A watcher that cannot watch polls, and says so.

Everything it gives is a hint; the listing and the bytes are the truth. Watches are set before the vault is listed
(arm, then scan), so that no change falls between. Whenever events may have been lost (the queue ran over, the folder
was replaced, the computer slept, the thread died, a change came unannounced) all watches are set anew, and the whole
vault is to be listed again.
"""

import errno
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from vault_memory.lazy import lazy_module
from vault_memory.vault.watch.change_queue import ChangeQueue, Inbox, Mark
from vault_memory.vault.watch.mounts import MOUNTS, watchable

if TYPE_CHECKING:
    from vault_memory.vault.watch import inotify
    from vault_memory.vault.watch.inotify import FolderEvents
else:
    inotify = lazy_module("vault_memory.vault.watch.inotify")

logger = logging.getLogger(__name__)

SLEPT = 5.0
"""Seconds by which the wall clock may run ahead of the monotonic one before it counts as sleep."""
DEAF_AFTER = 3
"""Sweeps that found what no event announced, until polling is the better way."""
_PATIENCE = 1.0
"""Seconds an event may come after the sweep that found its change."""
_MEMORY = 10.0
"""Seconds for which it is remembered what was hinted at."""
_WAKE = 5.0
"""Longest wait in one piece, so that sleep is noticed."""

Mode = Literal["inotify", "polling"]

_WORDS = {
    errno.ENOSPC: "the system's limit of inotify watches is reached (fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit of open files or inotify instances is reached (fs.inotify.max_user_instances)",
    errno.ENFILE: "the system has no more open files to give",
    errno.ENOMEM: "the system has no memory for more watches",
    errno.ENOENT: "the vault's folder is not there",
    errno.ENOTDIR: "the vault's folder is not there",
}


class Watcher:
    """Watches one vault for one taker of hints."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        poll_seconds: float = 5.0,
        sweep_seconds: float = 60.0,
        mounts: str = MOUNTS,
    ) -> None:
        self.root = os.path.abspath(root)
        self.mode: Mode = "polling"
        self.reason = "not started"
        """Why it polls, or what was last amiss; "" when all is well."""
        self.healthy = False
        """False while changes may be found later than promised."""
        self._now, self._wall = now, wall
        self._poll_seconds, self._sweep_seconds = poll_seconds, sweep_seconds
        self._inbox = Inbox()
        self._events: FolderEvents | None = None
        self._mounts = mounts
        self._never = ""
        """Why events are not to be had here at all."""
        self._next_look = self._next_arm = 0.0
        self._ahead = wall() - now()
        self._root_id: tuple[int, int] | None = None
        self._recent: dict[str, float] = {}
        self._missed: dict[str, float] = {}
        self._heard_all = 0.0
        self._deaf = self._refused = 0

    @property
    def folders(self) -> int:
        """How many folders are watched by events."""
        return self._events.folders if self._events else 0

    def start(self) -> None:
        """Set the watches; the first hints ask for a rescan."""
        elsewhere = "" if sys.platform == "linux" else "events are used on Linux only"
        self._never = watchable(self.root, mounts=self._mounts) or elsewhere
        self._set("the watch began")

    def stop(self) -> None:
        """Let go of all watches; `take` returns."""
        self._close()
        self.mode, self.healthy, self.reason = "polling", False, "stopped"
        self._inbox.wake()

    def wake(self) -> None:
        """Let a `take` that waits in another thread return."""
        self._inbox.wake()

    def mark(self) -> Mark:
        """A mark that comes among the hints, once all that happened before this call has; any thread may ask."""
        mark = Mark()
        self._inbox.ask(mark)
        return mark

    def take(self, timeout: float) -> ChangeQueue:
        """The next hints, as soon as there are any; empty ones when the time is up."""
        deadline = self._now() + timeout
        while True:
            self._tend()
            self._place(self._inbox.take_asked())
            if hints := self._inbox.take():
                self._remember(hints)
                return hints
            now = self._now()
            if now >= deadline:
                return ChangeQueue()
            until = min(deadline, self._next_tending(now))
            if self._inbox.wait(until - now, heed_lost=now >= self._next_arm):
                return ChangeQueue()

    def note_missed(self, path: str) -> None:
        """A sweep found a change of this note. Unless an event about it comes, the watch is deaf."""
        self._missed.setdefault(path, self._now())

    def _place(self, marks: list[Mark]) -> None:
        """Behind the events so far; where there are none, behind a look at everything."""
        unplaced = [
            mark
            for mark in marks
            if self._events is None or not self._events.mark(mark)
        ]
        if unplaced:
            self._inbox.rescan("somebody asks")
            self._inbox.reach(unplaced)

    def _remember(self, hints: ChangeQueue) -> None:
        now = self._now()
        for path in (*hints.paths, *hints.subtrees):
            self._recent[path] = now
        if hints.rescan and not hints.sweep:
            self._heard_all = now
        if len(self._recent) > 1000:
            self._recent = {
                path: at for path, at in self._recent.items() if at > now - _MEMORY
            }

    def _next_tending(self, now: float) -> float:
        dues = [self._next_look, now + _WAKE]
        if self._missed:
            dues.append(min(self._missed.values()) + _PATIENCE)
        if self._inbox.lost:
            dues.append(self._next_arm)
        return min(dues)

    def _tend(self) -> None:
        """What is due apart from waiting: sleep, lost watches, deafness, the sweep."""
        now = self._now()
        ahead = self._wall() - now
        if abs(ahead - self._ahead) > SLEPT:
            self._inbox.rescan("the computer slept, or its clock was set")
        self._ahead = ahead
        self._judge_missed(now)
        if self._inbox.lost and now >= self._next_arm:
            lost, error = self._inbox.take_lost()
            logger.info("watching anew: %s", lost)
            if error is not None and error.errno in _WORDS:
                self._poll(error)
            else:
                self._set(lost)
        if now >= self._next_look:
            self._look(now)

    def _look(self, now: float) -> None:
        """The sweep, or the next poll."""
        if self._root_moved():
            self._set("the vault's folder was replaced")
        elif self.mode == "polling" and not self._never and now >= self._next_arm:
            self._set("events can be had again")
        polling = self.mode == "polling"
        self._next_look = now + (self._poll_seconds if polling else self._sweep_seconds)
        self._inbox.rescan("polling" if polling else "sweep", sweep=not polling)

    def _root_moved(self) -> bool:
        try:
            return self._events is not None and _identity(self.root) != self._root_id
        except OSError:
            return True

    def _judge_missed(self, now: float) -> None:
        waited = [
            path for path, found in self._missed.items() if found + _PATIENCE <= now
        ]
        if not waited:
            return
        unheard = [
            path for path in waited if not self._heard_of(path, self._missed[path])
        ]
        for path in waited:
            del self._missed[path]
        if unheard and self.mode == "inotify":
            self._deaf += 1
            if self._deaf >= DEAF_AFTER:
                self._never = f"{self._deaf} times changes came without an event, last of `{unheard[0]}`"
            self._inbox.lose(f"`{unheard[0]}` changed without an event")

    def _heard_of(self, path: str, found: float) -> bool:
        since = found - min(_MEMORY, self._sweep_seconds / 2)
        if self._heard_all > since:
            return True
        while path:
            if self._recent.get(path, since) > since:
                return True
            path = path.rpartition("/")[0]
        return False

    def _set(self, reason: str) -> None:
        """Set all watches anew, or poll; either way everything is to be listed again."""
        began = self._now()
        self._close()
        try:
            self._root_id = _identity(self.root)
            if not self._never:
                self._arm()
        except OSError as error:
            self._poll(error)
            return
        self.mode, self.reason = (
            ("polling", self._never) if self._never else ("inotify", "")
        )
        self.healthy = self._deaf < DEAF_AFTER
        self._refused = 0
        now = self._now()
        self._next_arm = now + max(
            0.5, 10 * (now - began)
        )  # a storm of lost events must not become a storm of arming
        self._next_look = now + (
            self._poll_seconds if self._never else self._sweep_seconds
        )
        self._inbox.rescan(reason)

    def _arm(self) -> None:
        self._events = inotify.FolderEvents(self.root, self._inbox)
        self._events.start()
        self._events.arm()

    def _poll(self, error: OSError) -> None:
        self._close()
        self.mode, self.healthy = "polling", False
        self.reason = _WORDS.get(error.errno or 0) or error.strerror or str(error)
        logger.warning("polling every %g s: %s", self._poll_seconds, self.reason)
        now = self._now()
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            self._next_arm = now + self._poll_seconds
        else:
            self._next_arm = now + self._sweep_seconds * 2**self._refused
            self._refused = min(self._refused + 1, 6)
        self._next_look = now + self._poll_seconds
        self._inbox.rescan(self.reason)

    def _close(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.stop()
            if events.is_alive():
                events.join()
            self._inbox.reach(
                events.marks()
            )  # whoever closes has everything listed again
        self._inbox.take_lost()


def _identity(root: str) -> tuple[int, int]:
    found = os.stat(root)
    return found.st_dev, found.st_ino
