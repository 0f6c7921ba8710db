"""Makes text that waits to be written searchable, in an index of its own in memory.

The text never enters the index of the vault, which mirrors the notes. So there is nothing to
remove there when a write is merged into its note, or given up.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import VaultError
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking import chunker
from vault_memory.markdown.properties import note_properties
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.pending_writes import PendingText, PendingTexts

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk

ChunkKey = tuple[tuple[str, ...], str]
"""The headings above a chunk, and its text"""

_UNKNOWN_FILE = IndexedFile(-1, -1, -1, -1, "", State.HOT)


class PendingIndex:
    """The waiting text of one vault, for one thread at a time.

    While no text waits, a call costs one look at the journal.
    """

    def __init__(self, state: Path, folder: Folder, layout: Layout) -> None:
        self._texts = PendingTexts(state)
        self._folder = folder
        self._layout = layout
        self._index: Index | None = None
        self._indexed: tuple[PendingText, ...] = ()

    def index(self) -> Index | None:
        """Returns the index of the text that waits now; None when no text waits."""
        waiting = self._texts.listed()
        if waiting != self._indexed:
            self._drop()
            if waiting:
                self._index = self._build(waiting)
            self._indexed = waiting
        return self._index

    def close(self) -> None:
        """Closes the journal and the index."""
        self._texts.close()
        self._drop()

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
        self._indexed = ()

    def _build(self, waiting: Iterable[PendingText]) -> Index:
        """Indexes what each text adds to the version it is based on."""
        new_chunks: dict[str, dict[ChunkKey, Chunk]] = {}
        texts: dict[str, bytes] = {}
        for text in map(self._texts.read, waiting):
            # None: the write was merged or given up since it was listed.
            if text is None or not self._is_memory(text.path):
                continue
            # Two writes that wait for one note may add the same chunk.
            by_key = new_chunks.setdefault(text.path, {})
            texts[text.path] = text.raw
            for chunk in self._new_chunks(text):
                by_key[_key(chunk)] = chunk
        index = Index(":memory:")
        with index.transaction():
            for path, chunks in new_chunks.items():
                entry = self._entry(path, list(chunks.values()))
                # Fault: without them a filter would hide text that waits to be written.
                properties = note_properties.note_properties(texts[path])
                index.put(entry._replace(properties=properties))
        return index

    def _is_memory(self, path: str) -> bool:
        place = self._layout.place(path)
        return place is not None and place.indexed

    def _new_chunks(self, text: PendingText) -> "list[Chunk]":
        previous = {_key(chunk) for chunk in chunker.chunk(self._base(text))}
        chunks = chunker.chunk(text.raw)
        return [chunk for chunk in chunks if _key(chunk) not in previous]

    def _base(self, text: PendingText) -> bytes:
        """Returns the version that the text is based on, else the note as it is now."""
        if text.base is None or text.before is not None:
            return text.before or b""
        try:
            return self._folder.read(text.path).raw
        except VaultError:
            # A person may delete the note while the write waits.
            return b""

    def _entry(self, path: str, chunks: "list[Chunk]") -> IndexEntry:
        place = self._layout.place(path)
        assert place is not None, "only notes that search reads are indexed"
        date = place.date.isoformat() if place.date else None
        return IndexEntry(
            path=path,
            scope=place.scope,
            kind=place.kind,
            date=date,
            bytes=0,
            file=_UNKNOWN_FILE,
            chunks=chunks,
        )


def _key(chunk: "Chunk") -> ChunkKey:
    return chunk.heading, chunk.text
