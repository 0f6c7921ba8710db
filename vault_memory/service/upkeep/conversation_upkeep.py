"""The daemon's work for conversations: records turns from the drop folder, and ends idle sessions."""

import logging
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.watch import inotify
from vault_memory.vault.watch.change_queue import QueueMarker
from vault_memory.vault.watch.mounts import watchable

if TYPE_CHECKING:
    from vault_memory.vault.watch.inotify import FolderEvents


class DropEvents:
    """Receives the events of one folder, like a queue of hints. Each event means: check it."""

    def __init__(self, folder: Path, wake: Callable[[], None]) -> None:
        self.has_news = False
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
        self.has_news = True
        self._wake()


# --- Conversation upkeep ---

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.4
"""Time between two checks of the drop folder"""
QUIET_SECONDS = 5.0
"""The same where file events report new turns"""
IDLE_SECONDS = 30.0
"""Time between two checks for idle sessions"""
RETRY_SECONDS = 5.0
"""Pause after something could not be recorded"""


class ConversationUpkeep:
    """Checks the drop folder after an event, and periodically. Failures do not affect search.

    Without `drop_events` it is checked after `look_soon`, and while a file in it waits.
    """

    def __init__(
        self,
        memory: VaultMemory,
        drop_events: DropEvents | None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Without `drop_events`, `idle_seconds` is the longest pause between two checks."""
        self._idle_seconds = max(IDLE_SECONDS, idle_seconds)
        self._memory = memory
        self._drops = drop_events
        self._is_look_asked = True
        """Whether `look_soon` was called since the last check; the first check is always due"""
        self._next_look = 0.0
        self._not_before = 0.0
        self._next_idle = 0.0

    def look_soon(self) -> None:
        """Plans a check of the drop folder."""
        self._is_look_asked = True

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        is_asked = self._is_look_asked or (self._drops and self._drops.has_news)
        due = self._not_before if is_asked else self._next_look
        return max(0.0, due - time.monotonic())

    def tend_conversations(self) -> None:
        """Does what is due."""
        if self.wait() > 0:
            return
        now = time.monotonic()
        self._is_look_asked = False
        if self._drops is not None:
            self._drops.has_news = False
        self._not_before = now + LOOK_SECONDS
        try:
            self._record_dropped()
            self._next_look = now + self._pause()
            if now >= self._next_idle:
                self._next_idle = now + IDLE_SECONDS
                self._memory.conversations.end_idle_sessions()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault (B39): a full disk must not stop the index. The turns stay in the
            # drop folder.
            logger.warning("dropped turns cannot be recorded: %s", error)
            self._next_look = now + RETRY_SECONDS
            self._not_before = self._next_look

    def _pause(self) -> float:
        """Returns the seconds until the next check that nothing asks for."""
        # Fault: a file that its writer keeps open stays, and no event reports what
        # is added to it.
        if self._memory.conversations.drop_folder.is_waiting():
            return LOOK_SECONDS
        if self._drops is None:
            return self._idle_seconds
        return QUIET_SECONDS if self._drops.has_events else LOOK_SECONDS

    def _record_dropped(self) -> None:
        report = self._memory.conversations.take_dropped()
        if report.turns or report.rejected:
            logger.info(
                "recorded %d dropped turns, and rejected %d lines", report.turns, report.rejected
            )
