"""When a vault needs its next visit, though nobody asks for it.

The moment is a hint: a visit that comes late costs time, and loses no work.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from vault_memory.api.vault_memory import VaultMemory

SYNC_POLL = timedelta(hours=1)
"""How often a home is asked for edits of people while nobody uses the vault"""
SOON = timedelta(seconds=5)
"""For what waits a moment only: a deletion that must be seen twice, a write that waits"""
MINUTE = timedelta(minutes=1)


class NextVisit(NamedTuple):
    """The moment, and what makes it necessary."""

    moment: datetime
    reason: str


def next_visit(
    memory: VaultMemory,
    now: datetime,
    *,
    is_waiting: bool,
) -> NextVisit:
    """Return the soonest moment. `is_waiting`: the last pass of sync left paths to decide."""
    candidates = [NextVisit(now + SYNC_POLL, "poll")]
    if is_waiting:
        candidates.append(NextVisit(now + MINUTE, "sync"))
    if memory.edits.waiting():
        candidates.append(NextVisit(now + SOON, "write"))
    if memory.vault.config.sleep_cycle.enabled:
        candidates.append(NextVisit(memory.learning.next_night(now), "night"))
    ends = _next_end_of_session(memory)
    if ends is not None:
        candidates.append(NextVisit(max(ends, now), "session"))
    return min(candidates, key=_moment)


def _next_end_of_session(memory: VaultMemory) -> datetime | None:
    """Return when the first open conversation ends by itself."""
    idle = timedelta(minutes=memory.vault.config.sessions.idle_minutes)
    sessions = memory.conversations.sessions.all()
    return min(
        (session.last + idle for session in sessions if session.is_open), default=None
    )


def _moment(visit: NextVisit) -> float:
    # Nights are in the zones of their people.
    return visit.moment.timestamp()
