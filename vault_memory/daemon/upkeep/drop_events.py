"""File events of the drop folder, so that the daemon need not list it several times a second."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module
from vault_memory.vault.watch.change_queue import QueueMarker
from vault_memory.vault.watch.mounts import watchable

if TYPE_CHECKING:
    from vault_memory.vault.watch import inotify
    from vault_memory.vault.watch.inotify import FolderEvents
else:
    inotify = lazy_module("vault_memory.vault.watch.inotify")


class DropEvents:
    """Receives the events of one folder, like a queue of hints. Each event means: check it."""

    def __init__(self, folder: Path, wake: Callable[[], None]) -> None:
        self.heard = False
        """Whether something happened since this was set to False"""
        self._folder = str(folder)
        self._wake = wake
        self._events: FolderEvents | None = None

    @property
    def has_events(self) -> bool:
        """Whether events are received; if not, the folder must be checked periodically."""
        return self._events is not None

    def start(self) -> None:
        """Starts to listen, where the system and the file system offer that."""
        if sys.platform != "linux" or watchable(self._folder):
            return
        try:
            events = inotify.FolderEvents(self._folder, self)
            events.start()
            events.arm()
        except OSError:
            # Fault (C53): the limit of watches is reached. The folder is checked
            # periodically.
            return
        self._events = events

    def stop(self) -> None:
        """Stops to listen."""
        events, self._events = self._events, None
        if events is not None:
            events.stop()

    # --- Called by the thread that reads the events ---

    def dirty(self, path: str, *, closed: bool | None) -> None:
        """A file appeared or was written to."""
        self._note()

    def subtree(self, path: str) -> None:
        """A folder changed, or a file with an unusual name."""
        self._note()

    def rescan(self, reason: str, *, sweep: bool = False) -> None:
        """Anything may have changed."""
        self._note()

    def lose(self, reason: str, error: OSError | None = None) -> None:
        """Events are lost, or the folder was replaced: from now on it is checked periodically."""
        self._events = None
        self._note()

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """Does nothing: no caller waits for a mark."""

    def _note(self) -> None:
        self.heard = True
        self._wake()
