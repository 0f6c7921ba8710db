"""What was read for one search and serves the next, for as long as nothing in the index changes.

A vault is asked about the same people and things again and again. What is kept belongs to one connection and to the
scopes it was read for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from vault_memory.database.connection import Connection, change_counter

MOST_SCORES = 100_000
"""Of so many chunks and words the scores are kept"""
MOST_ROWS = 10_000
"""So many chunks are kept"""

Row = tuple[int, int, str | None, str, str]
"""A chunk that a search found, with what ranking needs of it: place, id, date, who, text"""


@dataclass(slots=True)
class Kept:
    """What was read for some scopes."""

    scores: dict[tuple[str, frozenset[int]], dict[int, float]] = field(
        default_factory=dict
    )
    """by what the full text was asked, and the chunks passed over: scores by chunk id"""
    by_id: dict[int, Row] = field(default_factory=dict)
    by_place: dict[int, Row | None] = field(default_factory=dict)
    """None: nothing is there"""
    paths: dict[int, str] = field(default_factory=dict)
    """by note"""
    score_count: int = 0

    def keep_scores(
        self, question: tuple[str, frozenset[int]], scores: dict[int, float]
    ) -> None:
        self.score_count += len(scores) + 1
        if self.score_count > MOST_SCORES:
            self.scores.clear()
            self.score_count = len(scores) + 1
        self.scores[question] = scores

    def keep_rows(self, rows: Sequence[Row], places: Sequence[int] = ()) -> None:
        """`places` are those that were looked at."""
        if len(self.by_place) + len(rows) + len(places) > MOST_ROWS:
            self.by_id.clear()
            self.by_place.clear()
            self.paths.clear()
        self.by_place.update(dict.fromkeys(places))
        self.by_id.update((row[1], row) for row in rows)
        self.by_place.update((row[0], row) for row in rows)


_of: WeakKeyDictionary[Connection, tuple[int, dict[tuple[int, ...], Kept]]] = (
    WeakKeyDictionary()
)


def kept(connection: Connection, scope_ids: Sequence[int]) -> Kept:
    """What is kept for these scopes; nothing at first, and after each change."""
    counter = change_counter(connection)
    before, by_scopes = _of.get(connection, (-1, {}))
    if before != counter or len(by_scopes) > 64:
        by_scopes = {}
        _of[connection] = (counter, by_scopes)
    return by_scopes.setdefault(tuple(scope_ids), Kept())


def forget(connection: Connection) -> None:
    """Keep nothing of what was read by this connection."""
    _of.pop(connection, None)
