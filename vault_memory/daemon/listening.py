"""What the daemon does for conversations: it takes what other programs drop, and ends sessions that fell silent."""

import logging
import time

from vault_memory.app import VaultMemory
from vault_memory.database import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.4
"""Between two looks at the drop folder"""
IDLE_SECONDS = 30.0
"""Between two looks for sessions that fell silent"""
RETRY_SECONDS = 5.0
"""After something could not be recorded"""


class Listening:
    """A look now and then. Trouble here is no trouble for search."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._next_look = 0.0
        self._next_idle = 0.0
        memory.drop_folder.make()

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        return max(0.0, self._next_look - time.monotonic())

    def turn(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        try:
            taken = self._memory.take_dropped()
            if taken.turns or taken.rejected:
                logger.info("took %d dropped turns, and put %d lines aside", taken.turns, taken.rejected)
            if now >= self._next_idle:
                self._next_idle = now + IDLE_SECONDS
                self._memory.end_idle_sessions()
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("what was said cannot be recorded: %s", error)
            self._next_look = now + RETRY_SECONDS
