"""The items that have faded by a day: which rank lower, and which a search leaves out.

Their states follow from stamps, folded counts of reads and the date, and are stored nowhere. A
vault is asked again and again on one day, so they are cached until the index changes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from weakref import WeakKeyDictionary

from vault_memory.contract import ItemState
from vault_memory.index.exclusion import Exclusion, episodes_before, exclusion
from vault_memory.index.stamps import fading_queries
from vault_memory.index.stamps.fading_queries import StaleBefore, StaleItem
from vault_memory.index.store import Index
from vault_memory.rules.learning import fading
from vault_memory.rules.learning.fading import Vitality

MOST_CACHED = 64
"""Combinations of scopes and days"""


@dataclass(frozen=True, slots=True)
class FadingItems:
    """The states of items for one search."""

    states: Mapping[int, ItemState]
    """by chunk, unless it is active"""
    without: Exclusion
    """the chunks that the search leaves out"""
    left_out: Mapping[str, int]
    """how many those are, by state"""


class _Key(NamedTuple):
    scope_ids: tuple[int, ...]
    today: date
    leave_out: frozenset[str]
    keep_episodes: bool


class _Cached(NamedTuple):
    counter: int
    """the change counter of the index"""
    items: dict[_Key, FadingItems]


_cache: WeakKeyDictionary[Index, _Cached] = WeakKeyDictionary()


def fading_items(
    index: Index,
    scope_ids: Sequence[int],
    today: date,
    leave_out: frozenset[str] = fading.LEFT_OUT,
    *,
    keep_episodes: bool = False,
) -> FadingItems:
    """Returns the states of the items of these scopes on a day; `leave_out` names states.

    With `keep_episodes` no summary of a conversation is left out, however old it is.
    """
    counter = index.change_counter
    cached = _cache.get(index)
    # Fault: a daemon that serves many scopes would keep all of them in memory.
    if cached is None or cached.counter != counter or len(cached.items) >= MOST_CACHED:
        cached = _cache[index] = _Cached(counter, {})
    key = _Key(tuple(scope_ids), today, leave_out, keep_episodes)
    items = cached.items.get(key)
    if items is None:
        items = cached.items[key] = _read(index, key)
    return items


def _read(index: Index, key: _Key) -> FadingItems:
    states = dict(_states(index, key))
    episodes: set[int] = set()
    if key.keep_episodes and states:
        episodes = episodes_before(index, key.scope_ids, date.max)
    ids = [
        chunk for chunk, state in states.items() if state in key.leave_out and chunk not in episodes
    ]
    counts = Counter(states[chunk] for chunk in ids)
    return FadingItems(
        states,
        exclusion(index, key.scope_ids, ids),
        {state: counts[state] for state in sorted(counts)},
    )


def _states(index: Index, key: _Key) -> Iterator[tuple[int, ItemState]]:
    """Yields each chunk whose item is not active."""
    limits = [
        StaleBefore(scope, type_, fading.stale_before(type_, key.today).isoformat())
        for scope in key.scope_ids
        for type_ in fading.TYPES
    ]
    for item in fading_queries.stale_items(index, limits):
        state = fading.state_on(_vitality_of(item), key.today)
        if state != "active":
            yield item.chunk, state


def _vitality_of(item: StaleItem) -> Vitality:
    return vitality(item.type, item.learned, item.read_days, item.last_read)


def vitality(type_: str, learned: str, days: int, last: str) -> Vitality:
    """Returns what the fading of an item follows from; `learned` and `last` are ISO 8601."""
    return Vitality(type_, date.fromisoformat(max(learned, last)), days)


def joined(first: Exclusion, second: Exclusion) -> Exclusion:
    """Returns the exclusion of the chunks of both, which have none in common."""
    # The same object has its hash already, by which scores are cached.
    if not first or not second:
        return first or second
    return Exclusion(
        first.ids | second.ids,
        first.repetitions,
        type(first.volume)(
            first.volume.chunks + second.volume.chunks, first.volume.words + second.volume.words
        ),
    )
