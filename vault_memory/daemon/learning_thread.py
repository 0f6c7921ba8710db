"""The night's work while the daemon runs: in a thread with connections of its own, so that nothing waits for it.

Besides, conversations that have ended are learned from soon, when there is a model to be asked.
"""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.learning.checkpoint import NightRuns

logger = logging.getLogger(__name__)

FIRST_SECONDS = 2.0
"""After the start, which has other things to do"""
LOOK_SECONDS = 60.0
"""Between two looks whether a night is due"""
RETRY_SECONDS = 600.0
"""After a night that failed"""
ENDED_SECONDS = 2.0
"""Between two looks whether a conversation has ended"""
AGAIN_SECONDS = 30.0
"""After a conversation that the model gave no answer to; twice as long each further time"""
LONGEST_SECONDS = 3600.0
PATIENCE_SECONDS = 2.0
"""For the step at hand when the daemon ends; the night goes on with it the next time"""
A_DAY = timedelta(hours=25)
"""Within which the next night begins, also when clocks are set back"""
TROUBLE = (VaultMemoryError, DatabaseError, OSError)


class Nights:
    """Looks now and then whether a night is due, or a conversation has ended, and does what there is to be done."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._next_night = 0.0
        self._next_ended = 0.0
        self._pause = AGAIN_SECONDS
        self._none_before: datetime | None = None
        """when the next night begins, once none was due; what is written meanwhile may be somebody new"""
        self._speakers: frozenset[tuple[str, bool]] = frozenset()
        self._index_changes = -1
        self._changes: tuple[int, ...] | None = None
        """of the sessions, when none of them was left to learn from"""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nights", daemon=True)
        cycles = (
            memory.vault.config.sleep_cycle,
            memory.vault.config.channel_sleep_cycle,
        )
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
            if time.monotonic() >= self._next_night:
                self._next_night = self._look() + time.monotonic()
            if time.monotonic() >= self._next_ended:
                self._next_ended = self._listen() + time.monotonic()
            pause = max(0.0, min(self._next_night, self._next_ended) - time.monotonic())

    def _look(self) -> float:
        """Do what is due; how many seconds until the next look."""
        try:
            if self._is_somebody_new():
                self._none_before = None
            now = datetime.now(UTC)
            until = self._none_before
            if (
                until is not None and now < until < now + A_DAY
            ):  # the clock may have been wrong before
                return LOOK_SECONDS
            slept = self._memory.sleep(due=True)
            self._none_before = (
                None if slept.scopes else self._memory.learning.next_night(now)
            )
        except NightRuns:
            return LOOK_SECONDS
        except TROUBLE as error:
            logger.warning("the night's work failed: %s", error)
            return RETRY_SECONDS
        except Exception:
            logger.exception("the night's work failed")
            return RETRY_SECONDS
        for one in slept.scopes:
            logger.info(
                "night of %s for %s: %s", one["night"], one["scope"], one["state"]
            )
        return RETRY_SECONDS if slept.failed else LOOK_SECONDS

    def _is_somebody_new(self) -> bool:
        """Whether a scope has its first note or transcript; the index tells, so that no folder is listed for it."""
        index = self._memory.vault.indexing.index()
        changes = index.change_counter
        if changes == self._index_changes:
            return False
        before, self._speakers, self._index_changes = (
            self._speakers,
            index.speakers(),
            changes,
        )
        return not self._speakers <= before

    def _listen(self) -> float:
        """Learn from conversations that have ended; how many seconds until the next look."""
        changes = self._memory.conversations.sessions.changes()
        if changes == self._changes:
            return ENDED_SECONDS
        try:
            slept = self._memory.learning.learn_from_ended()
        except NightRuns:
            return AGAIN_SECONDS
        except TROUBLE as error:
            logger.warning("nothing was learned from conversations: %s", error)
            return RETRY_SECONDS
        except Exception:
            logger.exception("nothing was learned from conversations")
            return RETRY_SECONDS
        for one in slept.scopes:
            logger.info(
                "a conversation of %s: %s %s", one["scope"], one["state"], one["reason"]
            )
        if slept.failed:
            pause, self._pause = self._pause, min(2 * self._pause, LONGEST_SECONDS)
            return pause
        self._pause, self._changes = AGAIN_SECONDS, changes
        return ENDED_SECONDS
