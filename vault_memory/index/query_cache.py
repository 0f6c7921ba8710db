"""Caches rows and scores from one search to the next, until anything in the index changes.

A vault is asked about the same people and subjects again and again. A cache belongs to one connection
and to the scopes it was read for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from vault_memory.database.connection import Connection, change_counter

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

    def add_scores(self, key: ScoreKey, scores: dict[int, float]) -> None:
        """Add the scores of an expression, and drop all others if there are too many."""
        self.score_count += len(scores) + 1
        if self.score_count > MOST_SCORES:
            self.scores.clear()
            self.score_count = len(scores) + 1
        self.scores[key] = scores

    def add_rows(self, rows: Sequence[Row], places: Sequence[int] = ()) -> None:
        """Add rows. `places` are those that were read, also where no chunk is."""
        if len(self.by_place) + len(rows) + len(places) > MOST_ROWS:
            self.by_id.clear()
            self.by_place.clear()
            self.paths.clear()
        self.by_place.update(dict.fromkeys(places))
        self.by_id.update((row[1], row) for row in rows)
        self.by_place.update((row[0], row) for row in rows)


_caches: WeakKeyDictionary[
    Connection, tuple[int, dict[tuple[int, ...], CachedScopes]]
] = WeakKeyDictionary()


def cache_of(connection: Connection, scope_ids: Sequence[int]) -> CachedScopes:
    """Return the cache of these scopes; an empty one at first, and after each change."""
    counter = change_counter(connection)
    previous, by_scopes = _caches.get(connection, (-1, {}))
    if previous != counter or len(by_scopes) > MOST_SCOPES:
        by_scopes = {}
        _caches[connection] = (counter, by_scopes)
    return by_scopes.setdefault(tuple(scope_ids), CachedScopes())


def forget(connection: Connection) -> None:
    """Drop the caches of this connection."""
    _caches.pop(connection, None)
