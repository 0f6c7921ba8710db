"""Compares a query with chunks by one bit for each dimension, and with the best of them exactly.

The bits of a note's chunks, its codes, are one row, so that a search reads a row for each note. It is
written once each chunk of a settled note has a vector. Triggers of the schema delete it when the note
changes. Until it is written again, a search makes the bits from the vectors.
"""

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.index import filters, vectors
from vault_memory.index.query_cache import cached
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
    Bytes = NDArray[np.uint8]
    _Columns = tuple[Ints, Ints, Bytes]

MOST_EXACT = 1_000
"""Chunks of the scopes of a query; of more, only the best by bits are compared exactly"""
RESCORED = 500
"""How many of the best by bits are compared exactly"""
MOST_CODES = 400_000
"""Chunks whose bits stay in memory, of all sets of scopes that were searched: 64 bytes each"""
MOST_FLOATS = 8_000
"""Vectors that stay in memory: 1.5 kB each"""
BATCH = 500
"""Notes whose codes are written in one transaction, and vectors that are read at once"""

_COMPLETE = """
    WITH complete AS (
        SELECT id FROM note
        WHERE state = 1
        AND EXISTS (SELECT 1 FROM chunk c WHERE c.note = note.id)
        AND NOT EXISTS (SELECT 1 FROM note_code WHERE note = note.id AND model = ?1)
        AND NOT EXISTS (
            SELECT 1 FROM chunk c LEFT JOIN vector v ON v.identity = c.identity AND v.model = ?1
            WHERE c.note = note.id
            AND length(v.embedding) IS NOT (SELECT 4 * dimensions FROM model WHERE id = ?1)
        )
        LIMIT ?2
    )
    SELECT n.id, v.id, v.embedding
    FROM complete n
    JOIN chunk c ON c.note = n.id
    JOIN vector v ON v.identity = c.identity AND v.model = ?1
    ORDER BY n.id, c.ordinal
"""
_PLACE = f"c.note * {scoring.ORDINALS} + c.ordinal + {scoring.BEFORE_FIRST}"


def put(index: Index, model: int) -> int:
    """Write the codes of up to `BATCH` complete notes that have none; return of how many."""
    try:
        import numpy as np
    except ImportError:
        return 0
    with index.transaction():
        chunks = index.connection.execute(_COMPLETE, (model, BATCH))
        rows: list[tuple[Any, ...]] = []
        for note, group in groupby(chunks, key=itemgetter(0)):
            _, ids, embeddings = zip(*group, strict=True)
            numbers = np.array(ids, dtype="<i8")
            rows.append((note, model, numbers.tobytes(), _bits(embeddings).tobytes()))
        index.connection.executemany("INSERT OR REPLACE INTO note_code VALUES (?, ?, ?, ?)", rows)
    return len(rows)


def like(
    index: Index, scope_ids: Sequence[int], model: int, vector: bytes, exactly: Iterable[int] = ()
) -> Likeness:
    """Return how like `vector` (float32 little-endian) the chunks of these scopes are.

    Places in `exactly` and their neighbours are compared exactly, however many chunks there are.
    """
    try:
        import numpy as np
    except ImportError:
        return vectors.like(index, scope_ids, model, vector)
    query = np.frombuffer(vector, dtype="<f4")
    cache = cached(index, Codes)
    codes = cache.of(index.connection, scope_ids, model, len(query))
    if not len(codes.places):
        return Listed([], [])
    differing = codes.differing(query)
    last = len(differing) - 1 if len(differing) <= MOST_EXACT else RESCORED - 1
    # Chunks with as many differing bits as the last are compared, too: the order of rows
    # decides nothing.
    is_best = differing <= np.partition(differing, last)[last]
    rows = np.union1d(np.flatnonzero(is_best), _rows_around(codes.places, exactly))
    values = cache.exact(index.connection, codes.vectors[rows], query)
    # An estimate must not rank above the chunks that were compared exactly.
    highest = np.median(values[is_best[rows]])
    angles = np.pi * np.arange(len(query) + 1) / len(query)
    estimates = np.minimum(np.cos(angles), highest).astype(np.float32)
    cosines = estimates[differing]
    cosines[rows] = values
    return _Arrays(codes.places, cosines)


class _ScopeCodes(NamedTuple):
    """The chunks of some scopes that have a vector."""

    places: "Ints"
    """In rising order"""
    vectors: "Ints"
    """The ids of their vectors; several chunks may share one"""
    bits: "NDArray[np.uint64]"
    """A row for each 64 dimensions"""

    def differing(self, query: "Floats") -> "NDArray[np.uint16]":
        """Return in how many dimensions each chunk has another sign than the query."""
        import numpy as np

        counts = np.zeros(len(self.places), dtype=np.uint16)
        for row, word in zip(self.bits, _words(_bits([query.tobytes()])).T, strict=True):
            counts += np.bitwise_count(row ^ word)
        return counts


class Codes:
    """What searches read of codes and vectors, for one state of the index."""

    def __init__(self, _: object) -> None:
        # Fault: a cache that refers to its connection would keep it open for ever.
        self._scopes: dict[Hashable, _ScopeCodes] = {}
        self._floats: dict[int, bytes] = {}

    def of(
        self, connection: Connection, scope_ids: Sequence[int], model: int, dimensions: int
    ) -> _ScopeCodes:
        """Return the codes of these scopes."""
        key = (model, dimensions, frozenset(scope_ids))
        if key not in self._scopes:
            # Fault: a thousand people who share a large group have as many sets of scopes.
            if sum(len(codes.places) for codes in self._scopes.values()) > MOST_CODES:
                self._scopes.clear()
            self._scopes[key] = _read(connection, scope_ids, model, dimensions)
        return self._scopes[key]

    def exact(self, connection: Connection, ids: "Ints", query: "Floats") -> "Floats":
        """Return the cosines of the vectors with these ids."""
        import numpy as np

        numbers, inverse = np.unique(ids, return_inverse=True)
        if len(self._floats) > MOST_FLOATS:
            self._floats.clear()
        missing = [id_ for id_ in numbers.tolist() if id_ not in self._floats]
        if missing:
            sql = "SELECT id, embedding FROM vector WHERE id IN (SELECT value FROM json_each(?))"
            # Fault: a daemon of an older version deleted vectors, and no codes.
            self._floats.update(dict.fromkeys(missing, bytes(query.nbytes)))
            self._floats.update(connection.execute(sql, (json.dumps(missing),)))
        embeddings = map(self._floats.__getitem__, numbers.tolist())
        return _products(_matrix(list(embeddings)), query)[inverse]


def _read(
    connection: Connection, scope_ids: Sequence[int], model: int, dimensions: int
) -> _ScopeCodes:
    import numpy as np

    among = filters.listed(scope_ids)
    # Fault (C45): a vector of another length is damaged, or of a model that changed
    # its dimensions.
    notes: list[Any] = connection.execute(
        f"SELECT n.id, k.vectors, k.codes, n.scope IN {among}"
        " FROM note n"
        " LEFT JOIN note_code k ON k.note = n.id"
        " AND k.model = (SELECT id FROM model WHERE id = ? AND dimensions = ?)"
        f" WHERE {filters.notes_with(scope_ids)}",
        (model, dimensions),
    ).fetchall()
    stored = _stored([row[:3] for row in notes if row[2] is not None], dimensions)
    without_codes = [row[0] for row in notes if row[2] is None]
    computed = _computed(connection, without_codes, model, dimensions)
    columns = zip(stored, *computed, strict=True)
    places, ids, codes = map(np.concatenate, columns)
    order = np.argsort(places, kind="stable")
    own = [row[0] for row in notes if row[3]]
    if len(own) < len(notes):
        # A turn in a channel is also of the person who said it, and its neighbours are not.
        turns = connection.execute(f"SELECT {_PLACE} FROM chunk c WHERE c.also IN {among}")
        is_turn = np.isin(places, [row[0] for row in turns])
        is_own = np.isin(places // scoring.ORDINALS, own)
        order = order[(is_own | is_turn)[order]]
    bits = np.ascontiguousarray(_words(codes[order]).T)
    return _ScopeCodes(places[order], ids[order], bits)


def _stored(notes: Sequence[tuple[int, bytes, bytes]], dimensions: int) -> "_Columns":
    """Return the places of the chunks of these notes, the ids of their vectors, and their bits."""
    import numpy as np

    counts = [len(ids) // 8 for _, ids, _ in notes]
    first = np.array([scoring.place(note, 0) for note, _, _ in notes], dtype=np.int64)
    before = np.cumsum(counts, dtype=np.int64) - counts
    places = np.repeat(first - before, counts) + np.arange(sum(counts))
    ids = np.frombuffer(b"".join(ids for _, ids, _ in notes), dtype="<i8")
    codes = np.frombuffer(b"".join(codes for _, _, codes in notes), dtype=np.uint8)
    return places, ids, codes.reshape(-1, -(-dimensions // 8))


def _computed(
    connection: Connection, notes: Sequence[int], model: int, dimensions: int
) -> "Iterator[_Columns]":
    """Yield the same of notes without codes, from their vectors."""
    import numpy as np

    chunks = connection.execute(
        f"SELECT {_PLACE}, v.id, v.embedding"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.note = wanted.value"
        " JOIN vector v ON v.identity = c.identity AND v.model = ?"
        " WHERE length(v.embedding) = ?",
        (json.dumps(notes), model, 4 * dimensions),
    )
    while rows := list(islice(chunks, BATCH)):
        places, ids = np.array([row[:2] for row in rows], dtype=np.int64).T
        yield places, ids, _bits([row[2] for row in rows])


def _bits(embeddings: Sequence[bytes]) -> "Bytes":
    """Return a bit for each dimension: 1 above 0."""
    import numpy as np

    return np.packbits(_matrix(embeddings) > 0, axis=1)


def _words(bits: "Bytes") -> "NDArray[np.uint64]":
    """Return the bits in groups of 64; the last group is filled up."""
    import numpy as np

    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)


def _matrix(embeddings: Sequence[bytes]) -> "NDArray[np.float32]":
    import numpy as np

    return np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(embeddings), -1)


def _products(matrix: "Floats", query: "Floats") -> "Floats":
    """Return the product of each row and the query.

    Each row is summed in the same order.
    """
    import numpy as np

    # Fault: with `@` the last digits of a row depend on the rows around it. An index
    # that was updated step by step would give other answers than a new one.
    products: Floats = np.einsum("ij,j->i", matrix, query)
    return products


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
        follows = places[1:] == places[:-1] + 1
        share = follows.astype(np.float32) * scoring.VECTOR_BESIDE
        total, weight = cosines.copy(), np.ones_like(cosines)
        total[1:] += cosines[:-1] * share
        total[:-1] += cosines[1:] * share
        weight[1:] += share
        weight[:-1] += share
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
            total = total[rows]
        first = len(total) - most
        if 0 < first < len(total):
            is_best = total >= np.partition(total, first)[first]
            rows, total = rows[is_best], total[is_best]
        order = np.lexsort((self._places[rows], -total))
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
