"""Background work of one vault: its nights, what conversations teach that ended, and its vectors."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import Config
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.learning.checkpoint import NightRuns
from vault_memory.models.embedding import shared_embedders

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""Time between two checks whether a night is due"""
RETRY_SECONDS = 600.0
"""Pause after a night that failed"""
ENDED_SECONDS = 2.0
"""Time between two checks for ended conversations"""
AT_ONCE_SECONDS = 2.0
"""Longest time between two checks for new turns"""
AGAIN_SECONDS = 30.0
"""Pause after the model gave no answer; doubled after each further failure"""
LONGEST_SECONDS = 3600.0
"""Longest pause after failures. Also of an idle vault, because its clock may be set (B50)."""
A_DAY = timedelta(hours=25)
"""The next night begins within this time, also when clocks are set back"""
TROUBLE = (VaultMemoryError, DatabaseError, OSError)


def has_nights(config: Config) -> bool:
    """Returns whether a configuration has a night. Without one there is nothing to do."""
    return config.sleep_cycle.enabled or config.channel_sleep_cycle.enabled


class NightTurns:
    """The turns of one vault. Any thread may take one, one at a time.

    A night that is interrupted by the end of the process continues after the next start.
    """

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        """Each night and each conversation is reported as a line."""
        self._memory = memory
        self._tell = tell
        self._next_night = 0.0
        self._next_ended = 0.0
        self._pause = AGAIN_SECONDS
        self._none_before: datetime | None = None
        """When the next night begins, once none was due; a new person may make one due earlier"""
        self._speakers: frozenset[tuple[str, bool]] = frozenset()
        self._index_changes = -1
        self._session_changes: tuple[int, ...] | None = None
        """State of the sessions when none was left to learn from"""

    def night_turn(self) -> float:
        """Makes one check, and does what is due. Returns the seconds until the next check.

        It does not raise: a failure is logged and tried again later.
        """
        if time.monotonic() >= self._next_night:
            self._next_night = self._run_due_nights() + time.monotonic()
        if time.monotonic() >= self._next_ended:
            self._next_ended = self._learn_from_ended() + time.monotonic()
        self._commit_at_once()
        due = min(self._next_night, self._next_ended)
        return max(0.0, min(due - time.monotonic(), AT_ONCE_SECONDS))

    def idle_wait(self) -> float:
        """Returns the seconds until a turn is due although nothing is said in the vault.

        A host takes the next turn then, or soon after a conversation went on or ended.
        """
        now = time.monotonic()
        until_night = self._next_night - now
        if self._none_before is not None:
            until_night = (self._none_before - datetime.now(UTC)).total_seconds()
        due = [until_night, LONGEST_SECONDS]
        if self._session_changes is None:
            due.append(self._next_ended - now)
        return max(0.0, min(due))

    def rest(self) -> None:
        """Closes the databases between two turns; the next turn opens them again."""
        close_connections(self._memory)
        # Fault: the counter of a new connection may have the value of the old one, and a
        # new person would have no night.
        self._index_changes = -1

    def _run_due_nights(self) -> float:
        """Runs the nights that are due. Returns the seconds until the next check."""
        try:
            now = datetime.now(UTC)
            if self._has_new_scope():
                self._none_before = None
            if self._is_before_next_night(now):
                return LOOK_SECONDS
            slept = self._memory.sleep(due=True)
            next_night = None
            if not slept.scopes:
                next_night = self._memory.learning.next_night(now)
            self._none_before = next_night
        except NightRuns:
            # Another process runs the night at this moment.
            return LOOK_SECONDS
        except TROUBLE as error:
            logger.warning("the night failed: %s", error)
            return RETRY_SECONDS
        except Exception:
            # A bug must not end all turns: the next night may succeed.
            logger.exception("the night failed")
            return RETRY_SECONDS
        for outcome in slept.scopes:
            self._tell(f"night of {outcome['night']} for {outcome['scope']}: {outcome['state']}")
            logger.info(
                "night of %s for %s: %s", outcome["night"], outcome["scope"], outcome["state"]
            )
        return RETRY_SECONDS if slept.failed else LOOK_SECONDS

    def _is_before_next_night(self, now: datetime) -> bool:
        until = self._none_before
        if until is None:
            return False
        # Fault (B50): a time further away was computed while the clock was wrong.
        return now < until < now + A_DAY

    def _has_new_scope(self) -> bool:
        """Whether a scope got its first note or transcript."""
        # The index answers this faster than a listing of the vault.
        index = self._memory.vault.indexing.index()
        changes = index.change_counter
        if changes == self._index_changes:
            return False
        previous = self._speakers
        self._speakers = index.speakers()
        self._index_changes = changes
        return not self._speakers <= previous

    def _commit_at_once(self) -> None:
        """Writes what new turns ask for. What fails here is left to the end of the session."""
        try:
            self._memory.learning.commit_at_once()
        except TROUBLE as error:
            logger.warning("nothing was written at once: %s", error)
        except Exception:
            logger.exception("nothing was written at once")

    def _learn_from_ended(self) -> float:
        """Learns from ended conversations. Returns the seconds until the next check."""
        changes = self._memory.conversations.sessions.changes()
        if changes == self._session_changes:
            return ENDED_SECONDS
        try:
            slept = self._memory.learning.learn_from_ended()
        except NightRuns:
            # A night in another process may learn from the same conversations.
            return AGAIN_SECONDS
        except TROUBLE as error:
            logger.warning("nothing was learned from conversations: %s", error)
            return RETRY_SECONDS
        except Exception:
            # A bug must not end all turns: nights still have to run.
            logger.exception("nothing was learned from conversations")
            return RETRY_SECONDS
        for outcome in slept.scopes:
            self._tell(f"a conversation of {outcome['scope']}: {outcome['state']}")
            logger.info(
                "a conversation of %s: %s %s", outcome["scope"], outcome["state"], outcome["reason"]
            )
        if slept.failed:
            pause = self._pause
            self._pause = min(2 * pause, LONGEST_SECONDS)
            return pause
        self._pause = AGAIN_SECONDS
        self._session_changes = changes
        return ENDED_SECONDS


# --- Night spread ---

# Spreads the nights of many vaults, which are planned for one moment, over an hour.

NIGHTS = timedelta(hours=1)
"""The time within which the nights of all vaults begin"""
_DIGEST_BYTES = 4


def night_delay(vault: str) -> timedelta:
    """Return how long after its planned moment the night of a vault begins.

    Fault: the nights of all people are planned for one moment, and their models answer late.
    """
    digest = sha256(f"night {vault}".encode()).digest()[:_DIGEST_BYTES]
    share = int.from_bytes(digest) / float(256**_DIGEST_BYTES)
    return NIGHTS * share


# --- Embedding ---


class EmbeddingTurns:
    """The turns of one vault. Any thread may take one, one at a time."""

    def __init__(
        self, memory: VaultMemory, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        """Each turn that embedded chunks is reported as a line."""
        self._memory = memory
        self._tell = tell

    def embedding_turn(self, go_on: Callable[[], bool] = lambda: True) -> float:
        """Embeds settled text while `go_on` is true; a later turn embeds the remaining text.

        Returns the seconds until the next turn, which tries a missing embedder again. Text that
        settles makes a turn due earlier. It does not raise: a failure is logged.
        """
        try:
            count = self._memory.searcher.embed(go_on=go_on)
            if count:
                logger.info("embedded %d chunks", count)
                self._tell(f"embedded {count:,} chunks")
        except VaultMemoryError as error:
            logger.warning("embedding: %s", error)
        except DatabaseError as error:
            logger.warning("embedding: %s", error)
            # A damaged index is built again from the notes.
            self._memory.vault.indexing.recover(error)
        except Exception:
            logger.exception("embedding failed")
        return shared_embedders.RETRY_SECONDS

    def rest(self) -> None:
        """Closes the databases between two turns; the next turn opens them again."""
        close_connections(self._memory)


# --- Idle vault ---

# Closes what an open vault needs only while it works, so that a process can have many open.


def close_connections(memory: VaultMemory) -> None:
    """Close the databases of a vault and drop what was cached from them.

    The vault stays open: the next call opens what it needs, which takes about a millisecond. No
    other thread may use `memory` meanwhile.
    """
    # A look at an attribute would make the calls of a concept that was not used.
    used = vars(memory)
    if "sync" in used:
        memory.sync.close()
    if "conflicts" in used:
        memory.conflicts.close()
    memory.edits.close()
    memory.searcher.forget_cached()
    memory.vault.close_databases()
