"""Small indexes for the tests of search, and vectors that need no model."""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from datetime import datetime

from vault_memory.index import vector_codes, vectors
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.rules.search import tokens

NOW = datetime(2024, 6, 15, 12, 0)
MODEL = "toy"
DIMENSIONS = 24


def put(
    index: Index,
    path: str,
    scope: str,
    markdown: str,
    *,
    kind: str = "note",
    date: str | None = None,
) -> None:
    raw = markdown.encode()
    held = IndexedFile(len(raw), 1, 1, 1, hashlib.sha256(raw).hexdigest(), State.SETTLED)
    with index.transaction():
        index.put(IndexEntry(path, scope, kind, date, len(raw), held, chunk(raw)))


def library(notes: Mapping[tuple[str, str], str], *, embedded: bool = True) -> Index:
    """An index in memory: (scope, path) → Markdown."""
    index = Index(":memory:")
    for (scope, path), markdown in notes.items():
        put(index, path, scope, markdown)
    if embedded:
        embed_all(index)
    return index


def embed_all(index: Index) -> None:
    with index.transaction():
        model = vectors.model_id(index, MODEL, "toy", DIMENSIONS)
        while pending := vectors.pending(index, model, 100):
            vectors.put(index, model, [(key, embed(text)) for key, text in pending])
    while vector_codes.put(index, model):
        pass


def embed(text: str) -> bytes:
    """A text as a vector: each of its words points somewhere, the same words to the same place."""
    total = [1e-3] * DIMENSIONS
    for word in tokens.words(text):
        for at, byte in enumerate(hashlib.sha256(word.encode()).digest()[:DIMENSIONS]):
            total[at] += byte - 127.5
    length = sum(value * value for value in total) ** 0.5
    return struct.pack(f"<{DIMENSIONS}f", *(value / length for value in total))


def scope_ids(index: Index, *names: str) -> Sequence[int]:
    return index.scope_ids(names)
