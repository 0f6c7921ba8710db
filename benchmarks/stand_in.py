"""Vectors without a model: made from the text alone, for measurements in which embedding is not what is measured."""

import random
from array import array
from collections.abc import Iterator, Sequence
from hashlib import sha256

from vault_memory.index import vector_codes, vectors
from vault_memory.index.store import Index

DIMENSIONS = 384


class StandIn:
    """An embedder whose vectors depend on the text and mean nothing; it counts what it is given."""

    name = "stand-in"
    fingerprint = sha256(b"stand-in").hexdigest()
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One vector of unit length for each text."""
        self.embedded += 0 if query else len(texts)
        return [vector(text.encode("utf-8", "surrogatepass")) for text in texts]


def vector(seed: bytes) -> bytes:
    """A vector of unit length in a direction that follows from the seed."""
    draw = random.Random(seed)
    values = [draw.gauss(0.0, 1.0) for _ in range(DIMENSIONS)]
    length = sum(value * value for value in values) ** 0.5
    return array("f", [value / length for value in values]).tobytes()


def fill(index: Index, *, fingerprint: str, name: str, spare: int = 0) -> None:
    """Store a vector for every chunk but `spare` of them, as if the model with this fingerprint had made it."""
    with index.transaction():
        model = vectors.model_id(index, fingerprint, name, DIMENSIONS)
        rows: list[tuple[bytes]] = list(
            index.connection.execute("SELECT DISTINCT identity FROM chunk")
        )
        vectors.put(index, model, list(_random_rows([identity for (identity,) in rows[spare:]])))
    while vector_codes.put(index, model):
        pass


def _random_rows(identities: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    import numpy

    draw = numpy.random.default_rng(4)
    for start in range(0, len(identities), 1_000):
        part = identities[start : start + 1_000]
        values = draw.standard_normal((len(part), DIMENSIONS), dtype=numpy.float32)
        values /= numpy.linalg.norm(values, axis=1, keepdims=True)
        yield from zip(part, (row.tobytes() for row in values), strict=True)
