"""When a vault needs its next visit, without a request.

The moment is a hint: a visit that comes late costs time, and loses no work.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations.sessions import SESSION_IDLE
from vault_memory.service.background_turns import night_delay

SYNC_POLL = timedelta(hours=1)
"""How often a home is asked for edits of people while no request uses the vault"""
SOON = timedelta(seconds=5)
"""For what waits a moment only: a deletion that must be seen twice, a write that waits"""
MINUTE = timedelta(minutes=1)
RETRY = timedelta(minutes=10)
"""For a night or a conversation that is due already: this visit could not learn from it"""


class NextVisit(NamedTuple):
    """The moment, and what makes it necessary."""

    moment: datetime
    reason: str


def next_visit(memory: VaultMemory, now: datetime, *, vault: str, is_waiting: bool) -> NextVisit:
    """Return the soonest moment. `is_waiting`: the last pass of sync left paths to decide.

    `vault`: the id, from which the place of its night among those of other vaults follows.
    """
    candidates = [NextVisit(now + SYNC_POLL, "poll")]
    if is_waiting:
        candidates.append(NextVisit(now + MINUTE, "sync"))
    if memory.edits.waiting():
        candidates.append(NextVisit(now + SOON, "write"))
    candidates += _nights(memory, now, night_delay(vault))
    candidates += _conversations(memory, now)
    return min(candidates, key=_moment)


def _nights(memory: VaultMemory, now: datetime, delay: timedelta) -> list[NextVisit]:
    """Return the next night, and that one is due already. Retention is a night's work, too."""
    config = memory.vault.config
    if not (config.sleep_cycle.enabled or config.channel_sleep_cycle.enabled):
        return []
    nights = [NextVisit(memory.learning.next_night(now - delay) + delay, "night")]
    if memory.learning.status(now)["due"]:
        nights.append(NextVisit(now + RETRY, "night"))
    return nights


def _conversations(memory: VaultMemory, now: datetime) -> list[NextVisit]:
    """Return when open conversations end by themselves, and that an ended one is not learned."""
    sessions = memory.conversations.sessions
    ends = [session.last + SESSION_IDLE for session in sessions.all() if session.is_open]
    visits = [NextVisit(max(end, now), "session") for end in ends]
    if sessions.unlearned():
        visits.append(NextVisit(now + RETRY, "session"))
    return visits


def _moment(visit: NextVisit) -> float:
    # Nights are in the zones of their people.
    return visit.moment.timestamp()
