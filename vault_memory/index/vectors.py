"""Stores the vectors of chunks by identity and model, and compares them with a query."""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

from vault_memory.database.connection import Connection, load_vector_functions
from vault_memory.index import chunk_rows
from vault_memory.index.filters import chunks_in, notes_with
from vault_memory.rules.search import scoring
from vault_memory.rules.search.scoring import Weights

if TYPE_CHECKING:
    from vault_memory.index.store import Index

MOST_ORPHANS = 20_000
"""How many vectors without a chunk are kept, in case their text comes back"""

SWEPT = "swept"
"""The key under which an index counts how often unused vectors were deleted"""


def find_model(index: "Index", fingerprint: str) -> int | None:
    """Return the id of a model in this index; None when the index has no vector of it."""
    row = index.connection.execute(
        "SELECT id FROM model WHERE fingerprint = ?", (fingerprint,)
    ).fetchone()
    return row[0] if row else None


def model_id(index: "Index", fingerprint: str, name: str, dimensions: int) -> int:
    """Return the id of a model, which is added if it is new. Call it inside a transaction.

    The first model of an index gives its chunks their identities.
    """
    model = find_model(index, fingerprint)
    if model is not None:
        return model
    index.connection.execute(
        "INSERT INTO model(fingerprint, name, dimensions) VALUES (?, ?, ?)",
        (fingerprint, name, dimensions),
    )
    model = index.connection.last_insert_rowid()
    index.connection.create_scalar_function("identity", chunk_rows.identity, 3)
    index.connection.execute(
        "UPDATE chunk SET identity = identity(heading, who, text) WHERE identity = x''"
    )
    return model


_MISSING = """
    FROM note CROSS JOIN chunk ON chunk.note = note.id
    WHERE note.state = 1
    AND NOT EXISTS (SELECT 1 FROM note_code WHERE note = note.id AND model = ?1)
    AND NOT EXISTS (SELECT 1 FROM vector WHERE identity = chunk.identity AND model = ?1)
"""


def missing_count(index: "Index", model: int) -> int:
    """Return how many chunks of settled notes have no vector of this model.

    Equal texts count once.
    """
    sql = "SELECT count(DISTINCT chunk.identity)" + _MISSING
    [(count,)] = index.connection.execute(sql, (model,))
    return int(count)


def pending(index: "Index", model: int, limit: int) -> list[tuple[bytes, str]]:
    """Return up to `limit` chunks without a vector of this model, newest notes first.

    The pairs are (identity, exact embed text).
    """
    rows = index.connection.execute(
        "SELECT chunk.identity, chunk.heading, chunk.who, chunk.text"
        + _MISSING
        + " ORDER BY chunk.id DESC LIMIT ?2",
        (model, limit),
    )
    texts = {identity: chunk_rows.embed_text(*fields) for identity, *fields in rows}
    return list(texts.items())


def put(index: "Index", model: int, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Store vectors: (identity, float32 little-endian of unit length). Existing ones stay."""
    index.connection.executemany(
        "INSERT OR IGNORE INTO vector(identity, model, embedding) VALUES (?, ?, ?)",
        ((identity, model, embedding) for identity, embedding in rows),
    )


def prune(index: "Index", model: int, *, most: int = MOST_ORPHANS) -> int:
    """Delete the oldest vectors without a chunk, beyond about `most`; return how many were deleted.

    Vectors of other models are deleted too, once this model has a vector of every chunk. Call it
    inside a transaction.
    """
    run = index.connection.execute
    # After each save it is cheap to see that nothing is to be deleted; a scan takes 5 ms for
    # each 1,000 vectors.
    [(has_others, spare)] = run(
        "SELECT (SELECT count(*) FROM model) > 1"
        " AND EXISTS (SELECT 1 FROM vector WHERE model <> ?),"
        " (SELECT count(*) FROM vector) - (SELECT count(*) FROM chunk)",
        (model,),
    )
    if has_others:
        run("DELETE FROM note_code WHERE model <> ?", (model,))
    before = index.connection.total_changes()
    if has_others and missing_count(index, model) == 0:
        run("DELETE FROM vector WHERE model <> ?", (model,))
    if spare > most:
        run(
            "DELETE FROM vector"
            " WHERE id IN ("
            " SELECT id"
            " FROM vector"
            " WHERE identity NOT IN (SELECT identity FROM chunk)"
            " ORDER BY id DESC"
            " LIMIT -1 OFFSET ?)",
            (most,),
        )
    return index.connection.total_changes() - before


class Likeness(Protocol):
    """How like a query the chunks of some scopes are.

    A chunk has two values: its own, and that of it with the chunks beside it.
    """

    def best(self, most: int, among: Collection[int] | None, weights: Weights) -> list[int]:
        """Return the places most like the query, best first; only those `among`, if that is given.

        Places as good as the last of them follow, so that the ids of rows do not decide.
        """
        ...

    def at(self, places: Iterable[int]) -> dict[int, tuple[float, float]]:
        """Return the two values of the places that have a vector."""
        ...

    def cosines(self, places: Iterable[int]) -> dict[int, float]:
        """Return the cosines of the places that have a vector."""
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
            (own(cosine), beside(mean)) for cosine, mean in zip(cosines, means, strict=True)
        ]

    def best(self, most: int, among: Collection[int] | None, weights: Weights) -> list[int]:
        scored = [
            (weights.vector * own + weights.vector_beside * beside, -place)
            for place, (own, beside) in zip(self._places, self._values, strict=True)
            if among is None or place in among
        ]
        if len(scored) > most:
            last = nlargest(most, scored)[-1][0] if most else math.inf
            scored = [entry for entry in scored if entry[0] >= last]
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


def like(index: "Index", scope_ids: Sequence[int], model: int, vector: bytes) -> Likeness:
    """Compare `vector` (float32 little-endian) with the chunks of these scopes, by sqlite-vec."""
    if not scope_ids:
        return Listed([], [])
    _load_once(index.connection)
    rows = index.connection.execute(
        f"""
        SELECT c.note, c.ordinal, 1.0 - vec_distance_cosine(v.embedding, ?)
        FROM note n CROSS JOIN chunk c ON c.note = n.id
        JOIN vector v ON v.identity = c.identity AND v.model = ?
        WHERE {notes_with(scope_ids)} AND {chunks_in(scope_ids)} AND length(v.embedding) = ?
        ORDER BY c.note, c.ordinal""",
        (vector, model, len(vector)),
    )
    places: list[int] = []
    cosines: list[float] = []
    for note, ordinal, cosine in rows:
        places.append(scoring.place(note, ordinal))
        # The cosine with a vector of zeros is NULL.
        cosines.append(cosine or 0.0)
    return Listed(places, cosines)


def _load_once(connection: Connection) -> None:
    is_loaded = connection.execute(
        "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine'"
    ).fetchone()
    if not is_loaded:
        load_vector_functions(connection)
