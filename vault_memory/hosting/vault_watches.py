"""Watches of the vaults of a host: each tells the host when its vault has hints to take."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from vault_memory.config.sections import Watch
from vault_memory.daemon.upkeep.upkeep_watch import UpkeepWatch
from vault_memory.vault.watch.change_queue import ChangeHints, QueueMarker
from vault_memory.vault.watch.watcher import Mode, Watcher

PUMP_SECONDS = 5.0
"""Longest sleep of the thread of a watch"""


class HostedWatch(UpkeepWatch, Protocol):
    """The watch of one vault. Its owner is called when there is something to take."""

    def start(self) -> None:
        """Opens the vault; the first hints ask for a rescan."""

    def stop(self) -> None:
        """Closes the vault."""

    def take(self, timeout: float) -> ChangeHints:
        """Returns the next hints, empty ones when there are none after `timeout` seconds."""

    def wait(self) -> float:
        """Returns for how many seconds `take` has nothing to do, if the owner is not called."""


class OwnWatch:
    """A watch with an inotify instance and a thread of its own, while the vault is open."""

    def __init__(
        self,
        root: str,
        settings: Watch,
        tell_change: Callable[[], None],
    ) -> None:
        self.root = root
        self._settings = settings
        self._tell_change = tell_change
        self._hints: deque[ChangeHints] = deque()
        self._watcher = Watcher(root, settings)
        self._thread: threading.Thread | None = None
        self._is_open = False

    @property
    def mode(self) -> Mode:
        """Whether events report changes, or the vault is polled."""
        return self._watcher.mode

    @property
    def healthy(self) -> bool:
        """False while changes may be found later than promised."""
        return self._watcher.healthy

    @property
    def reason(self) -> str:
        """Why the vault is polled, or the last trouble; "" without trouble."""
        return self._watcher.reason

    def start(self) -> None:
        """Opens the vault; the first hints ask for a rescan."""
        self._watcher = Watcher(self.root, self._settings)
        self._watcher.start()
        self._is_open = True
        self._thread = threading.Thread(target=self._pump, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Closes the vault."""
        self._is_open = False
        self._watcher.wake()
        if self._thread is not None:
            self._thread.join()
        self._watcher.stop()
        for hints in self._hints:
            for mark in hints.marks:
                mark.set()
        self._hints.clear()

    def take(self, timeout: float) -> ChangeHints:
        """Returns the next hints, if there are any."""
        return self._hints.popleft() if self._hints else ChangeHints()

    def wait(self) -> float:
        """Returns for how many seconds `take` has nothing to do, if the owner is not called."""
        return 0.0 if self._hints else float("inf")

    def mark(self) -> QueueMarker:
        """Returns a marker that comes among the hints after everything that happened so far."""
        return self._watcher.mark()

    def wake(self) -> None:
        """Makes the owner take a turn soon, although nothing happened."""
        self._tell_change()

    def note_missed(self, path: str) -> None:
        """Notes that a sweep found a change of this note, whose event should have come."""
        self._watcher.note_missed(path)

    def _pump(self) -> None:
        while self._is_open:
            hints = self._watcher.take(PUMP_SECONDS)
            if hints:
                self._hints.append(hints)
                self._tell_change()
