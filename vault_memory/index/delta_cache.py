"""Caches the last few long notes that were indexed, so that only differences are written."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.index.store import IndexEntry

LONG = 400
"""Chunks from which on a note is cached"""
MOST = 4
"""How many notes are cached"""


class DeltaCache:
    """The entries of the long notes that were written last, by path."""

    def __init__(self) -> None:
        self._entries: dict[str, IndexEntry] = {}

    def before(self, entry: "IndexEntry", revision: str) -> "IndexEntry | None":
        """Return the cached entry of a note, if its rows are in the index with this revision.

        None also when the new entry has another scope, kind or date, which changes every row.
        """
        cached = self._entries.get(entry.path)
        # Fault: another process may have written the note since it was cached.
        # Differences to other rows would leave deleted text in the index.
        if cached is None or cached.file.revision != revision:
            return None
        # Fault (H124): the spans compare chunks, and not the second scopes beside them.
        # A turn would stay with the person who said it before.
        if entry.also or cached.also:
            return None
        if (entry.scope, entry.kind) != (cached.scope, cached.kind):
            return None
        return cached if entry.date == cached.date else None

    def keep(self, entry: "IndexEntry") -> None:
        """Cache an entry that is written now, if it is long."""
        self._entries.pop(entry.path, None)
        if len(entry.chunks) >= LONG:
            self._entries[entry.path] = entry
        if len(self._entries) > MOST:
            oldest = next(iter(self._entries))
            del self._entries[oldest]

    def forget(self) -> None:
        """Drop all entries, because a transaction may not have written them."""
        self._entries.clear()
