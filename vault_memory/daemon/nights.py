"""The night's work while the daemon runs: in a thread with connections of its own, so that nothing waits for it."""

import logging
import threading

from vault_memory.app import VaultMemory
from vault_memory.database import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.sleep import NightRuns

logger = logging.getLogger(__name__)

FIRST_SECONDS = 5.0
"""After the start, which has other things to do"""
LOOK_SECONDS = 60.0
"""Between two looks whether a night is due"""
RETRY_SECONDS = 600.0
"""After a night that failed"""
PATIENCE_SECONDS = 2.0
"""For the step at hand when the daemon ends; the night goes on with it the next time"""


class Nights:
    """Looks now and then whether a night is due, and does it."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nights", daemon=True)
        cycles = memory.config.sleep_cycle, memory.config.channel_sleep_cycle
        if any(cycle.enabled for cycle in cycles):
            self._thread.start()

    def close(self) -> None:
        """End soon. What is not done of a night is done after the next start."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE_SECONDS)
        if not self._thread.is_alive():
            self._memory.close()

    def _run(self) -> None:
        pause = FIRST_SECONDS
        while not self._stop.wait(pause):
            pause = self._look()

    def _look(self) -> float:
        """Do what is due; how many seconds until the next look."""
        try:
            slept = self._memory.sleep(due=True)
        except NightRuns:
            return LOOK_SECONDS
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("the night's work failed: %s", error)
            return RETRY_SECONDS
        except Exception:
            logger.exception("the night's work failed")
            return RETRY_SECONDS
        for one in slept.scopes:
            logger.info("night of %s for %s: %s", one["night"], one["scope"], one["state"])
        return RETRY_SECONDS if slept.failed else LOOK_SECONDS
