"""What the daemon does for conversations: it takes what other programs drop, and ends sessions that fell silent."""

import logging
import time
from collections.abc import Callable

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.daemon.drop_events import DropEvents
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.4
"""Between two looks at the drop folder"""
QUIET_SECONDS = 5.0
"""The same where events tell of what is dropped"""
IDLE_SECONDS = 30.0
"""Between two looks for sessions that fell silent"""
RETRY_SECONDS = 5.0
"""After something could not be recorded"""


class ConversationUpkeep:
    """Looks when something was dropped, and now and then. Trouble here is no trouble for search."""

    def __init__(self, memory: VaultMemory, wake: Callable[[], None]) -> None:
        self._memory = memory
        self._next_look = 0.0
        self._not_before = 0.0
        self._next_idle = 0.0
        self._drops = DropEvents(memory.conversations.drop_folder.make(), wake)

    def start(self) -> None:
        """Hear of what is dropped from now on."""
        self._drops.start()

    def close(self) -> None:
        """Hear of nothing more."""
        self._drops.stop()

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        return max(
            0.0,
            (self._not_before if self._drops.heard else self._next_look)
            - time.monotonic(),
        )

    def turn(self) -> None:
        """Do what is due."""
        if self.wait() > 0:
            return
        now = time.monotonic()
        self._drops.heard = False
        self._not_before = now + LOOK_SECONDS
        try:
            taken = self._memory.conversations.take_dropped()
            if taken.turns or taken.rejected:
                logger.info(
                    "took %d dropped turns, and put %d lines aside",
                    taken.turns,
                    taken.rejected,
                )
            # a file that its writer keeps open stays, and what is added to it has a name that tells no event
            is_quiet = (
                self._drops.are_had
                and not self._memory.conversations.drop_folder.is_waiting()
            )
            self._next_look = now + (QUIET_SECONDS if is_quiet else LOOK_SECONDS)
            if now >= self._next_idle:
                self._next_idle = now + IDLE_SECONDS
                self._memory.conversations.end_idle_sessions()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("what was said cannot be recorded: %s", error)
            self._next_look = self._not_before = now + RETRY_SECONDS
