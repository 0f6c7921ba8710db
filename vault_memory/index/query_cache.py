"""Caches rows and scores from one search to the next, until anything in the index changes.

A vault is asked about the same people and subjects again and again. A cache belongs to one connection
and to the scopes it was read for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from vault_memory.database.connection import Connection, change_counter
from vault_memory.index import note_queries, schema

if TYPE_CHECKING:
    from vault_memory.index.store import Index

MOST_SCORES = 100_000
"""How many scores of chunks are cached for some scopes"""
MOST_ROWS = 10_000
"""How many chunks are cached for some scopes"""
MOST_SCOPES = 64
"""For how many combinations of scopes there is a cache"""

Row = tuple[int, int, str | None, str, str]
"""A chunk with the values that ranking needs: place, id, date, who, text"""
ScoreKey = tuple[str, frozenset[int]]
"""A full-text expression, and the ids of excluded chunks"""


@dataclass(slots=True)
class CachedScopes:
    """The cache of some scopes."""

    scores: dict[ScoreKey, dict[int, float]] = field(default_factory=dict)
    """Scores by chunk id"""
    by_id: dict[int, Row] = field(default_factory=dict)
    by_place: dict[int, Row | None] = field(default_factory=dict)
    """None: no chunk is there"""
    paths: dict[int, str] = field(default_factory=dict)
    """By note"""
    score_count: int = 0
    has_links: bool | None = None
    """Whether any note has a link; None before it was read"""
    has_other_names: bool | None = None
    """Whether any note has an alias or a title; None before it was read"""

    def add_scores(self, key: ScoreKey, scores: dict[int, float]) -> None:
        """Add the scores of an expression, and drop all others if there are too many."""
        # An expression without any score takes room too.
        added = len(scores) + 1
        if self.score_count + added > MOST_SCORES:
            self.scores.clear()
            self.score_count = 0
        self.score_count += added
        self.scores[key] = scores

    def add_rows(self, rows: Sequence[Row], places: Sequence[int] = ()) -> None:
        """Add rows. `places` are those that were read, also where no chunk is."""
        size = len(self.by_place) + len(rows) + len(places)
        if size > MOST_ROWS:
            self.by_id.clear()
            self.by_place.clear()
            self.paths.clear()
        for place in places:
            self.by_place[place] = None
        for row in rows:
            place, chunk_id = row[:2]
            self.by_id[chunk_id] = row
            self.by_place[place] = row


class _ConnectionCache(NamedTuple):
    """The caches of one connection, for one state of the index."""

    counter: int
    """The change counter of the index when they were begun"""
    by_scopes: dict[tuple[int, ...], CachedScopes]


_caches: WeakKeyDictionary[Connection, _ConnectionCache] = WeakKeyDictionary()


def cache_of(connection: Connection, scope_ids: Sequence[int]) -> CachedScopes:
    """Return the cache of these scopes; an empty one at first, and after each change."""
    counter = change_counter(connection)
    cache = _caches.get(connection)
    # Fault (G117): any process may have written. A hit from an older state could show a
    # forgotten text.
    is_current = cache is not None and cache.counter == counter
    if cache is None or not is_current or len(cache.by_scopes) > MOST_SCOPES:
        cache = _caches[connection] = _ConnectionCache(counter, {})
    key = tuple(scope_ids)
    scopes = cache.by_scopes.get(key)
    if scopes is None:
        scopes = cache.by_scopes[key] = CachedScopes()
    return scopes


def forget(connection: Connection) -> None:
    """Drop the caches of this connection."""
    _caches.pop(connection, None)


def has_links(index: "Index", scope_ids: Sequence[int]) -> bool:
    """Return whether any note links to another."""
    cache = cache_of(index.connection, scope_ids)
    if cache.has_links is None:
        cache.has_links = schema.has_links(index)
    return cache.has_links


def has_other_names(index: "Index", scope_ids: Sequence[int]) -> bool:
    """Return whether any note has an alias, or a title in its fields."""
    cache = cache_of(index.connection, scope_ids)
    if cache.has_other_names is None:
        cache.has_other_names = note_queries.has_other_names(index)
    return cache.has_other_names
