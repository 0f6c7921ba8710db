"""How what the bot learned fades: retention, state and importance of an item. Pure.

Nothing here is ever stored. All of it follows from the stamps of the index, the folded counts of
reads and the date. So a rebuilt index ranks the same, and decay is never compounded.
"""

import math
from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

from vault_memory.contract import ItemState

LASTING = frozenset({"identity", "relationship"})
"""Types that become stale and never leave: they are true as long as nothing ends them"""
OTHERS = "others"
"""Stands for every type without a stability of its own"""
STABILITY = {
    "identity": 365.0,
    "preference": 270.0,
    "relationship": 270.0,
    "event": 120.0,
    "activity": 90.0,
    "plan": 60.0,
    "context": 21.0,
    "ephemeral": 3.0,
    OTHERS: 120.0,
}
"""Type → the days after which the retention of an unread item is 1/e"""
TYPES: tuple[str, ...] = tuple(STABILITY)
GROWTH = 0.5
"""How much the days on which an item is found slow its fading"""
STALE, ARCHIVED, DELETED = 0.3, 0.1, 0.01
"""The retention below which an item ranks lower, is left out, and is left out of archives too"""
STALE_DAYS = 30
"""Days after which a stale item is archived"""
LEFT_OUT = frozenset({"archived", "deleted"})
"""States that neither a search nor a prompt sees"""

FADING_KINDS = frozenset({"dated", "note", "episode"})
"""Kinds of notes in which unconfirmed items of the bot fade"""
FACTS = "facts"
"""The kind of notes that fade only if the configuration says so"""
PROFILE_KINDS = frozenset({"user", "channel", "memory", "rules"})

IMPORTANCE: Mapping[str, float] = {
    "identity": 0.9,
    "relationship": 0.8,
    "preference": 0.7,
    "event": 0.6,
    "plan": 0.6,
    "activity": 0.4,
    "ephemeral": 0.1,
}
OTHER_IMPORTANCE = 0.3
PROFILE_IMPORTANCE = 0.8
BONUS = 0.1
"""Importance of a confirmation, of a person's own words, and of ten supports"""


class Vitality(NamedTuple):
    """What the fading of an item follows from."""

    type: str
    """one of `TYPES`"""
    last: date
    """the day on which it was last learned, supported or read"""
    reads: int = 0
    """days on which a query returned it, of all devices"""


def type_of(word: str) -> str:
    """Returns the type that a word in brackets means; unknown words are `OTHERS`."""
    folded = word.casefold()
    return folded if folded in TYPES else OTHERS


def stability(type_: str, reads: int) -> float:
    """Returns the days after which an item's retention is 1/e."""
    return STABILITY[type_of(type_)] * (1 + GROWTH * math.log1p(max(reads, 0)))


def retention(days: float, type_: str, reads: int) -> float:
    """Returns how much of an item is left after so many days, from 1 down to 0."""
    # A future day counts as today: the clock of a device may have been wrong.
    return math.exp(-max(days, 0.0) / stability(type_, reads))


def days_until(level: float, type_: str, reads: int) -> float:
    """Returns the days after which the retention falls below a level."""
    return -math.log(level) * stability(type_, reads)


def state(days: float, type_: str, reads: int) -> ItemState:
    """Returns the state of an item that fades."""
    left = retention(days, type_, reads)
    if left >= STALE:
        return "active"
    # Fault: an allergy that nobody spoke of for two years would be forgotten.
    if type_of(type_) in LASTING:
        return "stale"
    if left < DELETED:
        return "deleted"
    stale_since = days_until(STALE, type_, reads)
    is_long_stale = days > stale_since + STALE_DAYS
    return "archived" if left < ARCHIVED or is_long_stale else "stale"


def age(vitality: Vitality, today: date) -> int:
    """Returns the days since an item was last learned, supported or read; at least 0."""
    return max(0, (today - vitality.last).days)


def retention_on(vitality: Vitality, today: date) -> float:
    """Returns the retention of an item on a day."""
    return retention(age(vitality, today), vitality.type, vitality.reads)


def state_on(vitality: Vitality, today: date) -> ItemState:
    """Returns the state of an item on a day."""
    return state(age(vitality, today), vitality.type, vitality.reads)


def stale_before(type_: str, today: date) -> date:
    """Returns the latest day on which an item that is not active may have been learned.

    Items with reads stay active longer, so not all items of that day have faded.
    """
    days = math.floor(days_until(STALE, type_, 0))
    try:
        return today - timedelta(days=days)
    except OverflowError:
        return date.min


def purged_on(vitality: Vitality, purge_days: int) -> date | None:
    """Returns the first day on which an item may go to the trash; None: never."""
    if not purge_days or vitality.type in LASTING:
        return None
    days = days_until(DELETED, vitality.type, vitality.reads)
    try:
        return vitality.last + timedelta(days=math.floor(days) + 1 + purge_days)
    except OverflowError:
        return None


def recency(days: float) -> float:
    """Returns how recent an item is: 1 today, and slowly less."""
    return 1 / (1 + math.log1p(max(days, 0.0)))


def importance(type_: str, kind: str, *, confirmed: bool, by_person: bool, support: int) -> float:
    """Returns how important an item of a note of this kind is, from 0 to 1."""
    base = IMPORTANCE.get(type_of(type_), OTHER_IMPORTANCE)
    if kind in PROFILE_KINDS:
        base = PROFILE_IMPORTANCE
    well_supported = min(1.0, math.log(max(support, 1)) / math.log(10))
    bonus = confirmed + by_person + well_supported
    return min(1.0, base + BONUS * bonus)
