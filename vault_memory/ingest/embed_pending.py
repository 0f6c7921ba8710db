"""Computes missing vectors of settled notes in small batches. Can be interrupted and resumed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from vault_memory.index import vector_codes, vectors
from vault_memory.index.store import Index

if TYPE_CHECKING:
    from vault_memory.models.base import Embedder


BATCH = 16
"""Texts between two checks of `go_on` and two commits; an API gets them in one request"""

LOOKED_UP = 128
"""Texts that one query looks up. It takes 2 ms for each 1,000 chunks of notes without codes; newer
texts wait for it"""


def embed_pending(
    index: Index,
    embedder: "Embedder",
    *,
    go_on: Callable[[], bool] = lambda: True,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embeds chunks of settled notes until none is missing or `go_on` returns false.

    Returns how many were embedded. At the end the vectors of other models are removed, and the
    oldest unused vectors beyond a limit.
    """
    with index.transaction():
        model = vectors.model_id(index, embedder.fingerprint, embedder.name, embedder.dimensions)
    count = 0
    total = vectors.missing_count(index, model) if progress else 0
    waiting: list[tuple[bytes, str]] = []
    while go_on():
        if not waiting:
            while go_on() and vector_codes.put(index, model):
                pass
            sweep = index.get(vectors.SWEPT)
            waiting = vectors.pending(index, model, LOOKED_UP)
        if not waiting:
            with index.transaction():
                vectors.prune(index, model)
            break
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        if not _embed_batch(index, embedder, model, batch, sweep):
            waiting = []
            continue
        count += len(batch)
        if progress:
            progress(count, max(total, count))
    return count


def _embed_batch(
    index: Index, embedder: "Embedder", model: int, batch: list[tuple[bytes, str]], sweep: str
) -> bool:
    """Embeds and stores a batch. Returns False, and stores nothing, after a newer `sweep`."""
    # Fault: a slow model must not keep others from writing. So no transaction is open
    # here.
    embeddings = embedder.embed([text for _, text in batch])
    with index.transaction():
        if index.get(vectors.SWEPT) != sweep:
            # Fault: the user forgot something meanwhile. A vector of that text must not
            # come back.
            return False
        keys = (key for key, _ in batch)
        vectors.put(index, model, zip(keys, embeddings, strict=True))
    return True
