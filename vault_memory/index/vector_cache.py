"""Keeps vectors in memory for a process that lives long: one matrix for each scope that was searched.

A matrix follows the index by its change counter, and reads only the vectors that are new. A scope with
very many chunks is kept as one bit for each dimension; the best chunks by bits are compared exactly.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vault_memory.index.filters import chunks_in, notes_with
from vault_memory.index.store import Index
from vault_memory.index.vectors import Likeness, Listed
from vault_memory.rules.search import scoring
from vault_memory.rules.search.scoring import Weights

# NumPy is imported inside functions, because it is slow to load and optional.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]

MOST_FLOATS = 50_000
"""Chunks of one scope; a scope with more is kept as bits"""
MOST_EXACT = 20_000
"""Chunks of all scopes of a query; of more, only the best by bits are compared exactly"""
RESCORED = 1_000
"""How many of the best by bits are compared exactly"""


@dataclass(slots=True)
class _ScopeVectors:
    """The vectors of one scope. A row is a vector; several chunks may share one."""

    counter: int = -1
    """The change counter of the index that was read"""
    model: int = -1
    places: "Ints | None" = None
    """The chunks that have a vector, in rising order"""
    rows: "Ints | None" = None
    """The row of each of these chunks"""
    identities: dict[bytes, int] = field(default_factory=dict)
    """The row of each identity"""
    matrix: "NDArray[np.float32] | None" = None
    """The vectors; None when only bits are kept"""
    bits: "NDArray[np.uint8] | None" = None
    """A bit for each dimension, for as many rows as have been compared by bits"""


class Matrices:
    """The vectors of one index in memory. A scope is loaded when it is first searched."""

    def __init__(
        self,
        *,
        most_floats: int = MOST_FLOATS,
        most_exact: int = MOST_EXACT,
        rescored: int = RESCORED,
    ) -> None:
        self._most_floats = most_floats
        self._most_exact = most_exact
        self._rescored = rescored
        self._index: Index | None = None
        self._scopes: dict[int, _ScopeVectors] = {}

    def like(
        self,
        index: Index,
        scope_ids: Sequence[int],
        model: int,
        vector: bytes,
        exactly: Iterable[int] = (),
    ) -> Likeness:
        """Return how like `vector` (float32 little-endian) the chunks of these scopes are.

        Places in `exactly` and their neighbours are compared exactly, however many chunks there are.
        """
        import numpy as np

        # Fault (H124): a rebuilt index gives the same ids to other scopes and chunks.
        if index is not self._index:
            self._index = index
            self._scopes = {}
        query = np.frombuffer(vector, dtype="<f4")
        scopes: list[_ScopeVectors] = []
        scope_places: list[Ints] = []
        for scope_id in dict.fromkeys(scope_ids):
            scope = self._load(index, scope_id, model, len(query))
            if scope.places is not None and len(scope.places):
                scopes.append(scope)
                scope_places.append(scope.places)
        if not scopes:
            return Listed([], [])
        # A turn in a channel is in two scopes: it counts once.
        places, order = np.unique(np.concatenate(scope_places), return_index=True)
        has_floats = all(scope.matrix is not None for scope in scopes)
        if has_floats and len(places) <= self._most_exact:
            cosines = np.concatenate([_exact(scope, query) for scope in scopes])[order]
        else:
            nearby = _rows_around(places, exactly)
            cosines = self._estimated(index, scopes, query, order, nearby)
        return _Arrays(places, cosines)

    def _load(self, index: Index, scope_id: int, model: int, dimensions: int) -> _ScopeVectors:
        """Return the current vectors of a scope."""
        scope = self._scopes.setdefault(scope_id, _ScopeVectors())
        counter = index.change_counter
        if (scope.counter, scope.model) != (counter, model):
            if scope.model != model:
                scope = self._scopes[scope_id] = _ScopeVectors(model=model)
            self._refresh(index, scope_id, scope, dimensions)
            scope.counter = counter
        return scope

    def _refresh(self, index: Index, scope_id: int, scope: _ScopeVectors, dimensions: int) -> None:
        """Read the chunks of the scope, and the vectors that are not in memory."""
        import numpy as np

        rows: list[Any] = index.connection.execute(
            "SELECT c.note, c.ordinal, c.identity"
            " FROM note n"
            " CROSS JOIN chunk c ON c.note = n.id"
            f" WHERE {notes_with([scope_id])}"
            f" AND {chunks_in([scope_id])}"
            " ORDER BY c.note, c.ordinal"
        ).fetchall()
        only_bits = len(rows) > self._most_floats
        identities = {row[2] for row in rows}
        if scope.identities:
            changes_form = only_bits != (scope.matrix is None)
            # Vectors of deleted chunks would fill the memory of a process that lives long.
            is_mostly_unused = len(scope.identities) > 2 * len(identities)
            if changes_form or is_mostly_unused:
                scope.identities = {}
                scope.matrix = scope.bits = None
        missing = identities - scope.identities.keys()
        self._read(index, scope, missing, dimensions, only_bits)
        row_of = scope.identities
        embedded = [
            (scoring.place(note, ordinal), row_of[identity])
            for note, ordinal, identity in rows
            if identity in row_of
        ]
        scope.places = np.array([place for place, _ in embedded], dtype=np.int64)
        scope.rows = np.array([row for _, row in embedded], dtype=np.int64)

    def _read(
        self,
        index: Index,
        scope: _ScopeVectors,
        identities: set[bytes],
        dimensions: int,
        only_bits: bool,
    ) -> None:
        """Append the vectors of these identities that the index has."""
        import numpy as np

        # Fault (C45): a vector of another length is damaged, or of a model that changed
        # its dimensions.
        vectors: list[Any] = index.connection.executemany(
            "SELECT identity, embedding"
            " FROM vector"
            " WHERE identity = ?"
            " AND model = ?"
            " AND length(embedding) = ?",
            [(identity, scope.model, 4 * dimensions) for identity in identities],
        ).fetchall()
        if not vectors:
            return
        start = len(scope.identities)
        matrix = _matrix([row[1] for row in vectors], dimensions)
        scope.identities.update((row[0], number) for number, row in enumerate(vectors, start))
        if only_bits:
            scope.bits = _appended(scope.bits, np.packbits(matrix > 0, axis=1))
        else:
            scope.matrix = _appended(scope.matrix, matrix)

    def _estimated(
        self,
        index: Index,
        scopes: Sequence[_ScopeVectors],
        query: "Floats",
        order: "Ints",
        exactly: "Ints",
    ) -> "Floats":
        """Return the cosines in this order, estimated from the share of equal signs.

        The best rows by estimate and the rows in `exactly` are computed. Rows with the same estimate
        as the last of the best are computed too, so that the order of rows decides nothing.
        """
        import numpy as np

        estimates = [_estimate(scope, query) for scope in scopes]
        cosines: Floats = np.concatenate(estimates)[order]
        last = min(self._rescored, len(cosines)) - 1
        best = np.flatnonzero(cosines >= -np.partition(-cosines, last)[last])
        rows = np.union1d(best, exactly)
        positions = order[rows]
        values = np.empty(len(rows), dtype=np.float32)
        start = 0
        for scope, estimate in zip(scopes, estimates, strict=True):
            end = start + len(estimate)
            in_scope = (positions >= start) & (positions < end)
            values[in_scope] = self._exact_rows(index, scope, positions[in_scope] - start, query)
            start = end
        # An estimate must not rank above the chunks that were compared exactly.
        highest = np.median(values[np.isin(rows, best)])
        cosines = np.minimum(cosines, highest)
        cosines[rows] = values
        return cosines

    def _exact_rows(
        self, index: Index, scope: _ScopeVectors, chunks: "Ints", query: "Floats"
    ) -> "Floats":
        """Return the cosines of some chunks of a scope, by their positions in `places`."""
        import numpy as np

        assert scope.rows is not None
        rows, inverse = np.unique(scope.rows[chunks], return_inverse=True)
        if scope.matrix is not None:
            return _products(scope.matrix[rows], query)[inverse]
        identities = list(scope.identities)
        vectors = index.connection.executemany(
            "SELECT embedding FROM vector WHERE identity = ? AND model = ?",
            [(identities[row], scope.model) for row in rows],
        )
        matrix = _matrix([row[0] for row in vectors], len(query))
        return _products(matrix, query)[inverse]


def _matrix(vectors: Sequence[bytes], dimensions: int) -> "NDArray[np.float32]":
    import numpy as np

    floats = np.frombuffer(b"".join(vectors), dtype="<f4")
    return floats.reshape(len(vectors), dimensions)


def _products(matrix: "Floats", query: "Floats") -> "Floats":
    """Return the product of each row and the query.

    Each row is summed in the same order.
    """
    import numpy as np

    # Fault: with `@` the last digits of a row depend on the rows around it. An index
    # that was updated step by step would give other answers than a new one.
    products: Floats = np.einsum("ij,j->i", matrix, query)
    return products


def _appended(before: "NDArray[Any] | None", added: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    return added if before is None else np.concatenate([before, added])


def _exact(scope: _ScopeVectors, query: "Floats") -> "Floats":
    assert scope.matrix is not None
    assert scope.rows is not None
    cosines: Floats = _products(scope.matrix, query)[scope.rows]
    return cosines


def _estimate(scope: _ScopeVectors, query: "Floats") -> "Floats":
    """Return cosines estimated from the share of equal signs."""
    import numpy as np

    assert scope.rows is not None
    packed = 0 if scope.bits is None else len(scope.bits)
    if scope.matrix is not None and packed < len(scope.matrix):
        new_bits = np.packbits(scope.matrix[packed:] > 0, axis=1)
        scope.bits = _appended(scope.bits, new_bits)
    assert scope.bits is not None
    differing = np.bitwise_xor(scope.bits, np.packbits(query > 0))
    if differing.shape[1] % 8 == 0:
        differing = differing.view(np.uint64)
    counts = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
    angles = np.pi * np.arange(len(query) + 1) / len(query)
    cosine_by_count = np.cos(angles).astype(np.float32)
    cosines: Floats = cosine_by_count[counts][scope.rows]
    return cosines


def _rows_around(places: "Ints", centers: Iterable[int]) -> "Ints":
    """Return the positions in `places` of these places and of their neighbours."""
    import numpy as np

    centers_array = np.fromiter(centers, dtype=np.int64)
    nearby = np.concatenate([centers_array - 1, centers_array, centers_array + 1])
    rows = np.minimum(np.searchsorted(places, nearby), len(places) - 1)
    existing: Ints = np.unique(rows[places[rows] == nearby])
    return existing


class _Arrays:
    """Likeness as arrays; the same values as `vectors.Listed`."""

    def __init__(self, places: "Ints", cosines: "Floats") -> None:
        """`places` in rising order."""
        import numpy as np

        self._places = places
        self._cosines = cosines
        total = cosines.astype(np.float64)
        weight = np.ones(len(places))
        follows = places[1:] == places[:-1] + 1
        total[1:] += np.where(follows, cosines[:-1], 0) * scoring.VECTOR_BESIDE
        total[:-1] += np.where(follows, cosines[1:], 0) * scoring.VECTOR_BESIDE
        weight[1:] += follows * scoring.VECTOR_BESIDE
        weight[:-1] += follows * scoring.VECTOR_BESIDE
        self._own = _scaled(cosines)
        self._beside = _scaled(total / weight)

    def best(self, most: int, among: Collection[int] | None, weights: Weights) -> list[int]:
        """Return the `most` best places, the best first; only those `among`, if that is given."""
        import numpy as np

        total = weights.vector * self._own + weights.vector_beside * self._beside
        rows = np.arange(len(total))
        if among is not None:
            allowed = np.fromiter(among, dtype=np.int64, count=len(among))
            rows = rows[np.isin(self._places, allowed)]
        if 0 < most < len(rows):
            last = -np.partition(-total[rows], most - 1)[most - 1]
            rows = rows[total[rows] >= last]
        order = np.lexsort((self._places[rows], -total[rows]))
        return [int(place) for place in self._places[rows[order]]]

    def at(self, places: Iterable[int]) -> dict[int, tuple[float, float]]:
        """Return the scaled likeness of places, and that of their neighbourhood."""
        embedded, rows = self._rows(places)
        values = zip(self._own[rows].tolist(), self._beside[rows].tolist(), strict=True)
        return dict(zip(embedded.tolist(), values, strict=True))

    def cosines(self, places: Iterable[int]) -> dict[int, float]:
        """Return the cosines of places."""
        embedded, rows = self._rows(places)
        return dict(zip(embedded.tolist(), self._cosines[rows].tolist(), strict=True))

    def _rows(self, places: Iterable[int]) -> "tuple[Ints, Ints]":
        """Return the places that have a vector, and their rows."""
        import numpy as np

        candidates = np.fromiter(places, dtype=np.int64)
        last = len(self._places) - 1
        rows = np.minimum(np.searchsorted(self._places, candidates), last)
        has_vector = self._places[rows] == candidates
        return candidates[has_vector], rows[has_vector]


def _scaled(values: "Floats") -> "Floats":
    """Return values scaled by their median and their highest value."""
    import numpy as np

    half = len(values) // 2
    ordered = np.partition(values, half)
    median = float(ordered[half])
    if len(values) % 2 == 0:
        median = (median + float(ordered[:half].max())) / 2
    highest = float(values.max())
    scaled: Floats = np.maximum(
        scoring.LOWEST, (values - median) / scoring.span_of(median, highest)
    )
    return scaled
