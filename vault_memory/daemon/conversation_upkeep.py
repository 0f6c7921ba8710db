"""The daemon's work for conversations: records turns from the drop folder, and ends idle sessions."""

import logging
import time
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.drop_events import DropEvents
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError

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
    """Checks the drop folder after an event, and periodically. Failures do not affect search."""

    def __init__(
        self,
        memory: VaultMemory,
        wake: Callable[[], None],
    ) -> None:
        self._memory = memory
        self._next_look = 0.0
        self._not_before = 0.0
        self._next_idle = 0.0
        self._drops = DropEvents(memory.conversations.drop_folder.make(), wake)

    def start(self) -> None:
        """Starts to listen to file events."""
        self._drops.start()

    def close(self) -> None:
        """Stops to listen to file events."""
        self._drops.stop()

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        due = self._not_before if self._drops.heard else self._next_look
        return max(0.0, due - time.monotonic())

    def turn(self) -> None:
        """Does what is due."""
        if self.wait() > 0:
            return
        now = time.monotonic()
        self._drops.heard = False
        self._not_before = now + LOOK_SECONDS
        try:
            self._record_dropped()
            # Fault: a file that its writer keeps open stays, and no event reports what
            # is added to it.
            drop_folder = self._memory.conversations.drop_folder
            is_quiet = self._drops.has_events and not drop_folder.is_waiting()
            self._next_look = now + (QUIET_SECONDS if is_quiet else LOOK_SECONDS)
            if now >= self._next_idle:
                self._next_idle = now + IDLE_SECONDS
                self._memory.conversations.end_idle_sessions()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault (B39): a full disk must not stop the index. The turns stay in the
            # drop folder.
            logger.warning("dropped turns cannot be recorded: %s", error)
            self._next_look = now + RETRY_SECONDS
            self._not_before = self._next_look

    def _record_dropped(self) -> None:
        report = self._memory.conversations.take_dropped()
        if report.turns or report.rejected:
            logger.info(
                "recorded %d dropped turns, and rejected %d lines",
                report.turns,
                report.rejected,
            )
