"""Vectors for what is settled and has none yet: one text at a time, resumable, never in the way of a search."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from vault_memory.index import vectors
from vault_memory.index.store import Index

if TYPE_CHECKING:
    from vault_memory.models.base import Embedder


BATCH = 16
"""Texts between two looks at the clock and two commits; an API embedder gets them in one request."""

LOOKED_UP = 128
"""Texts that are looked up at once: that takes 1 ms for each 1,000 chunks of the index, and newer ones wait for it"""


def embed_pending(
    index: Index,
    embedder: "Embedder",
    *,
    go_on: Callable[[], bool] = lambda: True,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed chunks of settled notes until none is missing or `go_on` says no. Returns how many were embedded.

    The text is embedded outside of any transaction; a vector that another process computed meanwhile is kept. When the
    last one is there, those of other models are dropped, and of those that no chunk uses the oldest beyond a number.
    """
    with index.transaction():
        model = vectors.model_id(
            index.connection, embedder.fingerprint, embedder.name, embedder.dimensions
        )
    done = 0
    total = vectors.missing_count(index.connection, model) if progress else 0
    waiting: list[tuple[bytes, str]] = []
    swept = ""
    while go_on():
        if not waiting:
            swept = index.get(vectors.SWEPT)
            waiting = vectors.pending(index.connection, model, LOOKED_UP)
        if not waiting:
            if done:
                with index.transaction():
                    vectors.prune(index.connection, model)
            break
        pending, waiting = waiting[:BATCH], waiting[BATCH:]
        embeddings = embedder.embed([text for _, text in pending])
        with index.transaction():
            if (
                index.get(vectors.SWEPT) != swept
            ):  # something was forgotten meanwhile, and may be among these
                waiting = []
                continue
            vectors.put(
                index.connection,
                model,
                [
                    (key, vector)
                    for (key, _), vector in zip(pending, embeddings, strict=True)
                ],
            )
        done += len(pending)
        if progress:
            progress(done, max(total, done))
    return done
