"""Vectors of chunks, by identity and model: what is missing, what was computed, and which are like a query's."""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

from vault_memory.database.connection import Connection, load_vector_functions
from vault_memory.index.chunk_rows import SEPARATOR
from vault_memory.index.filters import chunks_in, notes_with
from vault_memory.lazy import lazy_module
from vault_memory.rules.search import scoring
from vault_memory.rules.search.scoring import Weights

if TYPE_CHECKING:
    from vault_memory.markdown.chunking import chunk_text
else:
    chunk_text = lazy_module("vault_memory.markdown.chunking.chunk_text")

MOST_ORPHANS = 20_000
"""Vectors that no chunk uses are kept for a text that comes back, so many"""

SWEPT = "swept"
"""The key under which an index counts how often what no chunk uses was taken out of it"""


def find_model(connection: Connection, fingerprint: str) -> int | None:
    """The id of a model in this index; None when it has never put a vector here."""
    row = connection.execute(
        "SELECT id FROM model WHERE fingerprint = ?", (fingerprint,)
    ).fetchone()
    return row[0] if row else None


def model_id(
    connection: Connection, fingerprint: str, name: str, dimensions: int
) -> int:
    """The id of a model, given to it now if it is new. Call it inside a transaction."""
    found = find_model(connection, fingerprint)
    if found is not None:
        return found
    connection.execute(
        "INSERT INTO model(fingerprint, name, dimensions) VALUES (?, ?, ?)",
        (fingerprint, name, dimensions),
    )
    return connection.last_insert_rowid()


_MISSING = """
    FROM chunk JOIN note ON note.id = chunk.note
    WHERE note.state = 1 AND NOT EXISTS (SELECT 1 FROM vector WHERE identity = chunk.identity AND model = ?)
"""


def missing_count(connection: Connection, model: int) -> int:
    """How many chunks of settled notes have no vector of this model; the same text counts once."""
    row = connection.execute(
        "SELECT count(DISTINCT chunk.identity)" + _MISSING, (model,)
    ).fetchone()
    return row[0] if row else 0


def pending(connection: Connection, model: int, limit: int) -> list[tuple[bytes, str]]:
    """Up to `limit` chunks without a vector of this model, newest notes first: (identity, exact embed text)."""
    rows = connection.execute(
        "SELECT chunk.identity, chunk.heading, chunk.who, chunk.text"
        + _MISSING
        + " ORDER BY chunk.id DESC LIMIT ?",
        (model, limit),
    )
    found = {
        identity: chunk_text.embed_text(
            tuple(heading.split(SEPARATOR)) if heading else (), who, text
        )
        for identity, heading, who, text in rows
    }
    return list(found.items())


def put(
    connection: Connection, model: int, rows: Iterable[tuple[bytes, bytes]]
) -> None:
    """Keep vectors: (identity, float32 little-endian of unit length). One that is there already stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO vector(identity, model, embedding) VALUES (?, ?, ?)",
        ((identity, model, embedding) for identity, embedding in rows),
    )


def prune(connection: Connection, model: int, *, most: int = MOST_ORPHANS) -> int:
    """Drop the oldest vectors that no chunk uses, beyond `most`; and those of other models once this one misses none.

    Returns how many were dropped. Call it inside a transaction.
    """
    before = connection.total_changes()
    if missing_count(connection, model) == 0:
        connection.execute("DELETE FROM vector WHERE model <> ?", (model,))
    connection.execute(
        "DELETE FROM vector WHERE id IN (SELECT id FROM vector WHERE identity NOT IN (SELECT identity FROM chunk)"
        " ORDER BY id DESC LIMIT -1 OFFSET ?)",
        (most,),
    )
    return connection.total_changes() - before


class Likeness(Protocol):
    """How like a query the chunks of some scopes are, on the scale of the sum: (itself, it and those beside it)."""

    def best(
        self, most: int, among: Collection[int] | None, weights: Weights
    ) -> list[int]:
        """The places most like the query, best first; only of those in `among` when given.

        Those as good as the last of them follow, so that ids of rows do not decide which are among the best.
        """
        ...

    def at(self, places: Iterable[int]) -> dict[int, tuple[float, float]]:
        """The two values of those of these places that have a vector."""
        ...

    def cosines(self, places: Iterable[int]) -> dict[int, float]:
        """The cosines themselves."""
        ...


class Listed:
    """Likeness as plain lists, for a process that does not load numpy."""

    def __init__(self, places: Sequence[int], cosines: Sequence[float]) -> None:
        """`places` in rising order."""
        self._places = places
        self._cosines = cosines
        means = scoring.means_beside(places, cosines)
        own, beside = scoring.scaled(cosines), scoring.scaled(means)
        self._values = [
            (own(cosine), beside(mean))
            for cosine, mean in zip(cosines, means, strict=True)
        ]

    def best(
        self, most: int, among: Collection[int] | None, weights: Weights
    ) -> list[int]:
        scored = [
            (weights.vector * own + weights.vector_beside * beside, -place)
            for place, (own, beside) in zip(self._places, self._values, strict=True)
            if among is None or place in among
        ]
        if len(scored) > most:
            last = nlargest(most, scored)[-1][0] if most else math.inf
            scored = [one for one in scored if one[0] >= last]
        return [-place for _, place in sorted(scored, reverse=True)]

    def at(self, places: Iterable[int]) -> dict[int, tuple[float, float]]:
        return {place: self._values[row] for place, row in self._rows(places)}

    def cosines(self, places: Iterable[int]) -> dict[int, float]:
        return {place: self._cosines[row] for place, row in self._rows(places)}

    def _rows(self, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        for place in places:
            row = bisect_left(self._places, place)
            if row < len(self._places) and self._places[row] == place:
                yield place, row


def like(
    connection: Connection, scope_ids: Sequence[int], model: int, vector: bytes
) -> Likeness:
    """How like `vector` (float32 little-endian) the chunks of these scopes are, by sqlite-vec."""
    if not scope_ids:
        return Listed([], [])
    _load_once(connection)
    rows = connection.execute(
        f"""
        SELECT c.note, c.ordinal, 1.0 - vec_distance_cosine(v.embedding, ?)
        FROM note n CROSS JOIN chunk c ON c.note = n.id JOIN vector v ON v.identity = c.identity AND v.model = ?
        WHERE {notes_with(scope_ids)} AND {chunks_in(scope_ids)} AND length(v.embedding) = ?
        ORDER BY c.note, c.ordinal""",
        (vector, model, len(vector)),
    )
    found = [
        (scoring.place(note, ordinal), cosine or 0.0) for note, ordinal, cosine in rows
    ]
    return Listed([place for place, _ in found], [cosine for _, cosine in found])


def _load_once(connection: Connection) -> None:
    known = connection.execute(
        "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine'"
    ).fetchone()
    if not known:
        load_vector_functions(connection)
