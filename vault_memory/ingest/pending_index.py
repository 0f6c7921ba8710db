"""What waits to be written, searchable at once: an index of its own in memory, made anew when what waits changes.

Nothing of it goes into the index of the vault, which says what the notes say; so there is nothing to take out again
when a write is folded into its note, or given up.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import VaultError
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.pending_writes import PendingText, PendingTexts

if TYPE_CHECKING:
    from vault_memory.markdown.chunking import chunker
    from vault_memory.markdown.chunking.chunk_text import Chunk
else:
    chunker = lazy_module("vault_memory.markdown.chunking.chunker")


class PendingIndex:
    """For one vault, and one thread at a time. While nothing waits, it costs one look at the journal."""

    def __init__(self, state: Path, folder: Folder, layout: Layout) -> None:
        self._texts, self._folder, self._layout = PendingTexts(state), folder, layout
        self._index: Index | None = None
        self._of: tuple[PendingText, ...] = ()

    def index(self) -> Index | None:
        """What waits now; None when that is nothing."""
        waiting = self._texts.listed()
        if waiting != self._of:
            self._drop()
            if waiting:
                self._index = self._made(waiting)
            self._of = waiting
        return self._index

    def close(self) -> None:
        """Give back what it holds."""
        self._texts.close()
        self._drop()

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
        self._of = ()

    def _made(self, waiting: Iterable[PendingText]) -> Index:
        """Of each text that which it adds to the one it was made from."""
        added: dict[str, dict[tuple[tuple[str, ...], str], Chunk]] = {}
        for text in map(self._texts.read, waiting):
            if (
                text is not None
                and (place := self._layout.place(text.path))
                and place.indexed
            ):
                of_note = added.setdefault(text.path, {})
                of_note.update({_words(one): one for one in self._added(text)})
        index = Index(":memory:")
        with index.transaction():
            for path, chunks in added.items():
                index.put(self._entry(path, list(chunks.values())))
        return index

    def _added(self, text: PendingText) -> "list[Chunk]":
        known = {_words(one) for one in chunker.chunk(self._before(text))}
        return [one for one in chunker.chunk(text.raw) if _words(one) not in known]

    def _before(self, text: PendingText) -> bytes:
        """What it was made from, else what stands there now."""
        if text.base is None or text.before is not None:
            return text.before or b""
        try:
            return self._folder.read(text.path).raw
        except VaultError:
            return b""

    def _entry(self, path: str, chunks: "list[Chunk]") -> IndexEntry:
        place = self._layout.place(path)
        assert place is not None, "only notes that search reads are taken in"
        date = place.date.isoformat() if place.date else None
        return IndexEntry(
            path,
            place.scope,
            place.kind,
            date,
            0,
            IndexedFile(-1, -1, -1, -1, "", State.HOT),
            chunks,
        )


def _words(chunk: "Chunk") -> tuple[tuple[str, ...], str]:
    return chunk.heading, chunk.text
