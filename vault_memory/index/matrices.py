"""Vectors that stay in memory: one matrix for each scope that was searched, for a process that lives long.

A matrix follows the index by its change counter, and reads only the vectors that are new to it. A scope with very
many chunks is kept as one bit for each dimension; the best by bits are then compared exactly.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vault_memory.index.filters import marks
from vault_memory.index.store import Index
from vault_memory.index.vectors import Likeness, Listed
from vault_memory.memory import ranking
from vault_memory.memory.ranking import Weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]

MOST_EXACT = 50_000
"""Chunks of one scope; above it, bits are kept instead"""
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
    matrix: "NDArray[Any] | None" = None
    bits: bool = False


class Matrices:
    """The resident vectors of one index. Scopes are loaded when they are first searched."""

    def __init__(self, *, most_exact: int = MOST_EXACT, rescored: int = RESCORED) -> None:
        self._most_exact = most_exact
        self._rescored = rescored
        self._index: Index | None = None
        self._scopes: dict[int, _Resident] = {}

    def like(self, index: Index, scope_ids: Sequence[int], model: int, vector: bytes) -> Likeness:
        """How like `vector` (float32 little-endian) the chunks of these scopes are."""
        import numpy as np

        if index is not self._index:
            self._index, self._scopes = index, {}
        query = np.frombuffer(vector, dtype="<f4")
        parts = [self._cosines(index, scope, model, query) for scope in dict.fromkeys(scope_ids)]
        parts = [part for part in parts if len(part[0])]
        if not parts:
            return Listed([], [])
        if len(parts) == 1:
            return _Arrays(*parts[0])
        places = np.concatenate([part[0] for part in parts])
        cosines = np.concatenate([part[1] for part in parts])
        order = np.argsort(places, kind="stable")
        return _Arrays(places[order], cosines[order])

    def _cosines(self, index: Index, scope: int, model: int, query: "Floats") -> "tuple[Ints, Floats]":
        import numpy as np

        resident = self._scopes.setdefault(scope, _Resident())
        counter = index.change_counter
        if (resident.counter, resident.model) != (counter, model):
            if resident.model != model:
                resident = self._scopes[scope] = _Resident(model=model)
            self._refresh(index, scope, resident, len(query))
            resident.counter = counter
        if resident.places is None or resident.take is None or resident.matrix is None or not len(resident.places):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if not resident.bits:
            return resident.places, (resident.matrix @ query)[resident.take]
        return resident.places, self._by_bits(index, resident, query)

    def _refresh(self, index: Index, scope: int, resident: _Resident, dimensions: int) -> None:
        """Read which chunks the scope has now, and the vectors that are not here yet."""
        import numpy as np

        rows: list[Any] = index.connection.execute(
            "SELECT c.note, c.ordinal, c.identity FROM note n CROSS JOIN chunk c ON c.note = n.id"
            f" WHERE n.scope IN {marks([scope])} AND c.scope IN {marks([scope])} ORDER BY c.note, c.ordinal",
            (scope, scope),
        ).fetchall()
        bits = len(rows) > self._most_exact
        wanted = {row[2] for row in rows}
        if bits != resident.bits or len(resident.identities) > 2 * len(wanted):
            resident.identities, resident.matrix, resident.bits = {}, None, bits
        self._read(index, resident, wanted - resident.identities.keys(), dimensions)
        known = resident.identities
        held = [(ranking.place(note, ordinal), known[key]) for note, ordinal, key in rows if key in known]
        resident.places = np.array([place for place, _ in held], dtype=np.int64)
        resident.take = np.array([row for _, row in held], dtype=np.int64)

    def _read(self, index: Index, resident: _Resident, wanted: set[bytes], dimensions: int) -> None:
        import numpy as np

        found: list[Any] = index.connection.executemany(
            "SELECT identity, embedding FROM vector WHERE identity = ? AND model = ? AND length(embedding) = ?",
            [(key, resident.model, 4 * dimensions) for key in wanted],
        ).fetchall()
        if not found:
            return
        fresh = np.frombuffer(b"".join(row[1] for row in found), dtype="<f4").reshape(len(found), dimensions)
        added = np.packbits(fresh > 0, axis=1) if resident.bits else fresh
        start = len(resident.identities)
        resident.identities.update((row[0], start + at) for at, row in enumerate(found))
        resident.matrix = added if resident.matrix is None else np.concatenate([resident.matrix, added])

    def _by_bits(self, index: Index, resident: _Resident, query: "Floats") -> "Floats":
        """Cosines guessed from the share of equal signs, the best of them computed."""
        import numpy as np

        assert resident.matrix is not None
        assert resident.take is not None
        differing = np.bitwise_xor(resident.matrix, np.packbits(query > 0))
        unlike = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
        guessed = np.cos(np.pi * unlike / len(query)).astype(np.float32)
        near = np.argpartition(-guessed, min(self._rescored, len(guessed) - 1))[: self._rescored]
        keys = list(resident.identities)
        exact = index.connection.executemany(
            "SELECT ?, embedding FROM vector WHERE identity = ? AND model = ?",
            [(int(row), keys[row], resident.model) for row in near],
        )
        known = {row: float(np.frombuffer(blob, dtype="<f4") @ query) for row, blob in exact}
        if known:
            rows, values = np.array(list(known)), np.array(list(known.values()))
            guessed = np.minimum(guessed, np.median(values))  # a guess is no reason to stand before what was compared
            guessed[rows] = values
        cosines: Floats = guessed[resident.take]
        return cosines


class _Arrays:
    """Likeness as arrays; the same values as `vectors.Listed`."""

    def __init__(self, places: "Ints", cosines: "Floats") -> None:
        """`places` in rising order."""
        import numpy as np

        self._places = places
        self._cosines = cosines
        total, weight = cosines.astype(np.float64), np.ones(len(places))
        follows = places[1:] == places[:-1] + 1
        total[1:] += np.where(follows, cosines[:-1], 0) * ranking.VECTOR_BESIDE
        total[:-1] += np.where(follows, cosines[1:], 0) * ranking.VECTOR_BESIDE
        weight[1:] += follows * ranking.VECTOR_BESIDE
        weight[:-1] += follows * ranking.VECTOR_BESIDE
        self._own = _scaled(cosines)
        self._beside = _scaled(total / weight)

    def best(self, most: int, among: Collection[int] | None, weights: Weights) -> list[int]:
        import numpy as np

        total = weights.vector * self._own + weights.vector_beside * self._beside
        rows = np.arange(len(total))
        if among is not None:
            rows = rows[np.isin(self._places, np.fromiter(among, dtype=np.int64, count=len(among)))]
        if len(rows) > most:
            rows = rows[np.argpartition(-total[rows], most)[:most]]
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

    middle, highest = float(np.median(values)), float(values.max())
    scaled: Floats = np.maximum(ranking.LOWEST, (values - middle) / ((highest - middle) or 1.0))
    return scaled
