"""Hears of files in the drop folder, so that the daemon need not list it several times a second."""

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
    """Takes the events of one folder as an inbox of hints does; any of them means: look."""

    def __init__(self, folder: Path, wake: Callable[[], None]) -> None:
        self.heard = False
        """whether something happened since this was set to False"""
        self._folder, self._wake = str(folder), wake
        self._events: FolderEvents | None = None

    @property
    def are_had(self) -> bool:
        """Whether whatever happens is heard of; else the folder is to be looked at now and then."""
        return self._events is not None

    def start(self) -> None:
        """Listen, where the system and the folder's disk offer that."""
        if sys.platform != "linux" or watchable(self._folder):
            return
        try:
            events = inotify.FolderEvents(self._folder, self)
            events.start()
            events.arm()
        except OSError:  # there are no more watches
            return
        self._events = events

    def stop(self) -> None:
        """Let go of the folder."""
        events, self._events = self._events, None
        if events is not None:
            events.stop()

    # ---- what the thread that reads the events calls ---------------------------------------------------------------

    def dirty(self, path: str, *, closed: bool | None) -> None:
        """A file came or was written to."""
        self._look()

    def subtree(self, path: str) -> None:
        """Something happened to a folder, or to a file with an odd name."""
        self._look()

    def rescan(self, reason: str, *, sweep: bool = False) -> None:
        """Anything may have happened."""
        self._look()

    def lose(self, reason: str, error: OSError | None = None) -> None:
        """Events are lost, or the folder is another one: from now on it is looked at now and then."""
        self._events = None
        self._look()

    def reach(self, marks: Iterable[QueueMarker]) -> None:
        """Nobody asks for marks here."""

    def _look(self) -> None:
        self.heard = True
        self._wake()
