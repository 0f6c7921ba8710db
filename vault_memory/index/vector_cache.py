"""Vectors that stay in memory: one matrix for each scope that was searched, for a process that lives long.

A matrix follows the index by its change counter, and reads only the vectors that are new to it. A scope with very
many chunks is kept as one bit for each dimension; the best by bits are then compared exactly.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vault_memory.index.filters import chunks_in, notes_with
from vault_memory.index.store import Index
from vault_memory.index.vectors import Likeness, Listed
from vault_memory.rules.search import scoring
from vault_memory.rules.search.scoring import Weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]

MOST_FLOATS = 50_000
"""Chunks of one scope; above it, only bits are kept"""
MOST_EXACT = 20_000
"""Chunks of all scopes that are asked; above it, the best by bits are compared exactly, and no others"""
RESCORED = 1_000
"""So many of the best by bits are compared exactly"""


@dataclass(slots=True)
class _Resident:
    """The vectors of one scope."""

    counter: int = -1
    model: int = -1
    places: "Ints | None" = None
    """of the chunks that have a vector, in rising order"""
    take: "Ints | None" = None
    """for each of them, its row in the matrix"""
    identities: dict[bytes, int] = field(default_factory=dict)
    """the row of each"""
    matrix: "NDArray[np.float32] | None" = None
    """the vectors; None when only bits are kept"""
    bits: "NDArray[np.uint8] | None" = None
    """a bit for each dimension, for as many rows as were asked for them so far"""


class Matrices:
    """The resident vectors of one index. Scopes are loaded when they are first searched."""

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
        self._scopes: dict[int, _Resident] = {}

    def like(
        self,
        index: Index,
        scope_ids: Sequence[int],
        model: int,
        vector: bytes,
        exactly: Iterable[int] = (),
    ) -> Likeness:
        """How like `vector` (float32 little-endian) the chunks of these scopes are.

        Places in `exactly` and those beside them are compared exactly, however many chunks there are.
        """
        import numpy as np

        if index is not self._index:
            self._index, self._scopes = index, {}
        query = np.frombuffer(vector, dtype="<f4")
        residents = [
            self._resident(index, scope, model, len(query))
            for scope in dict.fromkeys(scope_ids)
        ]
        parts = [
            (one, one.places)
            for one in residents
            if one.places is not None and len(one.places)
        ]
        if not parts:
            return Listed([], [])
        # A turn in a channel is in two scopes: it counts once.
        places, order = np.unique(
            np.concatenate([part for _, part in parts]), return_index=True
        )
        held = [one for one, _ in parts]
        if len(places) <= self._most_exact and all(
            one.matrix is not None for one in held
        ):
            cosines = np.concatenate([_exact(one, query) for one in held])[order]
        else:
            cosines = self._guessed(
                index, held, query, order, _rows_around(places, exactly)
            )
        return _Arrays(places, cosines)

    def _resident(
        self, index: Index, scope: int, model: int, dimensions: int
    ) -> _Resident:
        """The vectors of a scope as they are now."""
        resident = self._scopes.setdefault(scope, _Resident())
        counter = index.change_counter
        if (resident.counter, resident.model) != (counter, model):
            if resident.model != model:
                resident = self._scopes[scope] = _Resident(model=model)
            self._refresh(index, scope, resident, dimensions)
            resident.counter = counter
        return resident

    def _refresh(
        self, index: Index, scope: int, resident: _Resident, dimensions: int
    ) -> None:
        """Read which chunks the scope has now, and the vectors that are not here yet."""
        import numpy as np

        rows: list[Any] = index.connection.execute(
            "SELECT c.note, c.ordinal, c.identity FROM note n CROSS JOIN chunk c ON c.note = n.id"
            f" WHERE {notes_with([scope])} AND {chunks_in([scope])} ORDER BY c.note, c.ordinal"
        ).fetchall()
        only_bits = len(rows) > self._most_floats
        wanted = {row[2] for row in rows}
        known = resident.identities
        if known and (
            only_bits != (resident.matrix is None) or len(known) > 2 * len(wanted)
        ):
            resident.identities, resident.matrix, resident.bits = {}, None, None
        self._read(
            index, resident, wanted - resident.identities.keys(), dimensions, only_bits
        )
        known = resident.identities
        held = [
            (scoring.place(note, ordinal), known[key])
            for note, ordinal, key in rows
            if key in known
        ]
        resident.places = np.array([place for place, _ in held], dtype=np.int64)
        resident.take = np.array([row for _, row in held], dtype=np.int64)

    def _read(
        self,
        index: Index,
        resident: _Resident,
        wanted: set[bytes],
        dimensions: int,
        only_bits: bool,
    ) -> None:
        import numpy as np

        found: list[Any] = index.connection.executemany(
            "SELECT identity, embedding FROM vector WHERE identity = ? AND model = ? AND length(embedding) = ?",
            [(key, resident.model, 4 * dimensions) for key in wanted],
        ).fetchall()
        if not found:
            return
        fresh = np.frombuffer(b"".join(row[1] for row in found), dtype="<f4").reshape(
            len(found), dimensions
        )
        start = len(resident.identities)
        resident.identities.update((row[0], start + at) for at, row in enumerate(found))
        if only_bits:
            resident.bits = _joined(resident.bits, np.packbits(fresh > 0, axis=1))
        else:
            resident.matrix = _joined(resident.matrix, fresh)

    def _guessed(
        self,
        index: Index,
        held: Sequence[_Resident],
        query: "Floats",
        order: "Ints",
        exactly: "Ints",
    ) -> "Floats":
        """In this order, cosines guessed from the share of equal signs; the best of them, and those rows, computed.

        Those with the same share as the last of the best are among them: no order of rows decides.
        """
        import numpy as np

        guessed = np.concatenate([_guess(one, query) for one in held])[order]
        best = min(self._rescored, len(guessed)) - 1
        near = np.flatnonzero(guessed >= -np.partition(-guessed, best)[best])
        rows = np.union1d(near, exactly)
        values, found = np.empty(len(rows), dtype=np.float32), order[rows]
        start = 0
        for one in held:
            end = start + (0 if one.take is None else len(one.take))
            here = (found >= start) & (found < end)
            values[here] = self._exact_rows(index, one, found[here] - start, query)
            start = end
        guessed = np.minimum(
            guessed, np.median(values[np.isin(rows, near)])
        )  # no guess stands before what is known
        guessed[rows] = values
        cosines: Floats = guessed
        return cosines

    def _exact_rows(
        self, index: Index, one: _Resident, rows: "Ints", query: "Floats"
    ) -> "Floats":
        import numpy as np

        assert one.take is not None
        rows, again = np.unique(one.take[rows], return_inverse=True)
        if one.matrix is not None:
            return _products(one.matrix[rows], query)[again]
        keys = list(one.identities)
        blobs = index.connection.executemany(
            "SELECT embedding FROM vector WHERE identity = ? AND model = ?",
            [(keys[row], one.model) for row in rows],
        )
        read = np.frombuffer(b"".join(row[0] for row in blobs), dtype="<f4").reshape(
            len(rows), len(query)
        )
        return _products(read, query)[again]


def _products(matrix: "Floats", query: "Floats") -> "Floats":
    """The product of each row and the query.

    Each row is added up in the same order wherever it stands. With `@` the last digits depend on the rows around it:
    an index brought up to date step by step would answer otherwise than one built afresh.
    """
    import numpy as np

    products: Floats = np.einsum("ij,j->i", matrix, query)
    return products


def _joined(before: "NDArray[Any] | None", added: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    return added if before is None else np.concatenate([before, added])


def _exact(one: _Resident, query: "Floats") -> "Floats":
    assert one.matrix is not None
    assert one.take is not None
    cosines: Floats = _products(one.matrix, query)[one.take]
    return cosines


def _guess(one: _Resident, query: "Floats") -> "Floats":
    """Cosines from the share of equal signs."""
    import numpy as np

    assert one.take is not None
    known = 0 if one.bits is None else len(one.bits)
    if one.matrix is not None and known < len(one.matrix):
        one.bits = _joined(one.bits, np.packbits(one.matrix[known:] > 0, axis=1))
    assert one.bits is not None
    differing = np.bitwise_xor(one.bits, np.packbits(query > 0))
    if differing.shape[1] % 8 == 0:
        differing = differing.view(np.uint64)
    unlike = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
    by_number = np.cos(np.pi * np.arange(len(query) + 1) / len(query)).astype(
        np.float32
    )
    guessed: Floats = by_number[unlike][one.take]
    return guessed


def _rows_around(places: "Ints", wanted: Iterable[int]) -> "Ints":
    """The rows of these places and of those right beside them, as far as they are there."""
    import numpy as np

    sought = np.fromiter(wanted, dtype=np.int64)
    sought = np.concatenate([sought - 1, sought, sought + 1])
    rows = np.minimum(np.searchsorted(places, sought), len(places) - 1)
    found: Ints = np.unique(rows[places[rows] == sought])
    return found


class _Arrays:
    """Likeness as arrays; the same values as `vectors.Listed`."""

    def __init__(self, places: "Ints", cosines: "Floats") -> None:
        """`places` in rising order."""
        import numpy as np

        self._places = places
        self._cosines = cosines
        total, weight = cosines.astype(np.float64), np.ones(len(places))
        follows = places[1:] == places[:-1] + 1
        total[1:] += np.where(follows, cosines[:-1], 0) * scoring.VECTOR_BESIDE
        total[:-1] += np.where(follows, cosines[1:], 0) * scoring.VECTOR_BESIDE
        weight[1:] += follows * scoring.VECTOR_BESIDE
        weight[:-1] += follows * scoring.VECTOR_BESIDE
        self._own = _scaled(cosines)
        self._beside = _scaled(total / weight)

    def best(
        self, most: int, among: Collection[int] | None, weights: Weights
    ) -> list[int]:
        import numpy as np

        total = weights.vector * self._own + weights.vector_beside * self._beside
        rows = np.arange(len(total))
        if among is not None:
            rows = rows[
                np.isin(
                    self._places, np.fromiter(among, dtype=np.int64, count=len(among))
                )
            ]
        if 0 < most < len(rows):
            last = -np.partition(-total[rows], most - 1)[most - 1]
            rows = rows[total[rows] >= last]
        order = np.lexsort((self._places[rows], -total[rows]))
        return [int(place) for place in self._places[rows[order]]]

    def at(self, places: Iterable[int]) -> dict[int, tuple[float, float]]:
        known, rows = self._rows(places)
        values = zip(self._own[rows].tolist(), self._beside[rows].tolist(), strict=True)
        return dict(zip(known.tolist(), values, strict=True))

    def cosines(self, places: Iterable[int]) -> dict[int, float]:
        known, rows = self._rows(places)
        return dict(zip(known.tolist(), self._cosines[rows].tolist(), strict=True))

    def _rows(self, places: Iterable[int]) -> "tuple[Ints, Ints]":
        """Those of the places that have a vector, and their rows."""
        import numpy as np

        wanted = np.fromiter(places, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self._places, wanted), len(self._places) - 1)
        there = self._places[rows] == wanted
        return wanted[there], rows[there]


def _scaled(values: "Floats") -> "Floats":
    import numpy as np

    half = len(values) // 2
    ordered = np.partition(values, half)
    middle = (
        float(ordered[half])
        if len(values) % 2
        else (float(ordered[half]) + float(ordered[:half].max())) / 2
    )
    highest = float(values.max())
    scaled: Floats = np.maximum(
        scoring.LOWEST, (values - middle) / scoring.span_of(middle, highest)
    )
    return scaled
