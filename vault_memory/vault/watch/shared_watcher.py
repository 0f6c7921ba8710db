"""Watches many vaults with one inotify instance and one thread.

The system gives a user 128 inotify instances, so a process with many vaults cannot have one for
each. Each vault has a `VaultWatch`, which its owner opens and closes. Trouble of one vault is its
own, and lost events concern all.
"""

import sys
import threading
import time
from collections.abc import Callable

from vault_memory.config.sections import Watch
from vault_memory.vault.watch.inotify import EventReader
from vault_memory.vault.watch.mounts import MOUNTS, MountKinds
from vault_memory.vault.watch.vault_watch import VaultWatch

NO_EVENTS = "events are used on Linux only"


class SharedReader(EventReader):
    """The inotify instance of many vaults, and the thread that reads it."""

    def __init__(self, tell_loss: Callable[[str], None]) -> None:
        super().__init__("vaults-watch")
        self._tell_loss = tell_loss

    def report_loss(self, reason: str) -> None:
        """Reports that events of all vaults were lost."""
        self._tell_loss(reason)


class SharedWatcher:
    """The watches of many vaults. Any thread may use it."""

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        mounts: str = MOUNTS,
    ) -> None:
        self.now = now
        self.wall = wall
        self._mounts = MountKinds(mounts=mounts, now=now)
        self._lock = threading.Lock()
        self._reader: SharedReader | None = None
        self._watches: set[VaultWatch] = set()

    def add(self, root: str, settings: Watch, tell_change: Callable[[], None]) -> VaultWatch:
        """Watches a vault, which is closed at first.

        `tell_change` is called in the thread that reads events: when an open vault has hints to
        take, and once when a closed vault changed. It must return at once.
        """
        watch = VaultWatch(root, settings, self, tell_change)
        with self._lock:
            self._watches.add(watch)
        watch.arm()
        return watch

    def remove(self, watch: VaultWatch) -> None:
        """Ends the watch of a vault."""
        with self._lock:
            self._watches.discard(watch)
        watch.remove()

    def stop(self) -> None:
        """Ends all watches and the thread."""
        with self._lock:
            watches, self._watches = self._watches, set()
            reader, self._reader = self._reader, None
        for watch in watches:
            watch.remove()
        if reader is not None:
            reader.shut()

    # --- For the watches ---

    def reader(self) -> EventReader:
        """Returns the running reader of events. Raises OSError."""
        with self._lock:
            # Fault (C58): the thread may have ended by an error. A new one begins, and
            # each vault sets its watches again.
            reader = self._reader
            if reader is not None and reader.is_alive():
                return reader
            if reader is not None:
                reader.shut()
            self._reader = SharedReader(self._tell_loss)
            self._reader.start()
            return self._reader

    def obstacle(self, root: str) -> str | None:
        """Returns why a vault has no reliable events; None when it has."""
        if sys.platform != "linux":
            return NO_EVENTS
        return self._mounts.watchable(root)

    def _tell_loss(self, reason: str) -> None:
        with self._lock:
            watches = list(self._watches)
        for watch in watches:
            watch.lose(reason)
