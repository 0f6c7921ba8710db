"""Caches the last few long notes that were indexed, so that only differences are written."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, count, repeat
from operator import itemgetter, ne, sub
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from vault_memory.index.store import IndexEntry
    from vault_memory.markdown.chunking.chunk_text import Chunk

T = TypeVar("T")

_NO_DIFFERENCE = 1 << 62
"""More than the length of any list"""

LONG = 400
"""Chunks from which on a note is cached"""
MOST = 4
"""How many notes are cached"""
_CONTENT = itemgetter(0, 1, 2, 5, 6)
"""The fields of a chunk without its lines"""
_FIRST_LINE, _LAST_LINE = itemgetter(3), itemgetter(4)


class Span(NamedTuple):
    """The stretch where two lists differ; the entries before and after it are equal."""

    first: int
    last: int
    """The end of the stretch in the older list"""
    until: int
    """The end of the stretch in the newer list"""
    lines: int = 0
    """How many lines the entries after it moved down"""

    @property
    def shift(self) -> int:
        """How many positions the entries after it moved on in the list."""
        return self.until - self.last


class DeltaCache:
    """The entries of the long notes that were written last, by path."""

    def __init__(self) -> None:
        self._entries: dict[str, IndexEntry] = {}

    def before(self, entry: "IndexEntry", revision: str) -> "IndexEntry | None":
        """Return the cached entry of a note, if its rows are in the index with this revision.

        None also when the new entry has another scope, kind or date, which changes every row.
        """
        cached = self._entries.get(entry.path)
        # Another process may have written the note since it was cached.
        if cached is None or cached.file.revision != revision:
            return None
        # The spans compare chunks, and not the second scopes beside them.
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


def span_of(old: Sequence[object], new: Sequence[object]) -> Span:
    """Return the stretch where two lists differ."""
    head = _common_length(old, new, _differ)
    tail = _common_length(reversed(old), reversed(new), _differ)
    return _between(old, new, head, tail)


def chunk_span(old: "Sequence[Chunk]", new: "Sequence[Chunk]") -> Span:
    """Return the stretch where the chunks of a note differ, apart from their line numbers."""
    if not old or not new:
        return _between(old, new, 0, 0)
    head = _common_length(old, new)
    tail = _common_length(map(_CONTENT, reversed(old)), map(_CONTENT, reversed(new)))
    # All lines below an edit move by the same distance; a chunk that moved otherwise differs.
    shift = new[-1].first_line - old[-1].first_line
    for line in (_FIRST_LINE, _LAST_LINE):
        new_lines = map(line, reversed(new))
        old_lines = map(line, reversed(old))
        moves = map(sub, new_lines, old_lines)
        tail = min(tail, _common_length(moves, repeat(shift)))
    return _between(old, new, head, tail)._replace(lines=shift)


def _between(
    old: Sequence[object], new: Sequence[object], head: int, tail: int
) -> Span:
    """Return the stretch after `head` equal entries and before `tail` equal entries."""
    shorter = min(len(old), len(new))
    head = min(head, shorter)
    # In a list of equal entries, beginning and end must not count the same entry twice.
    tail = min(tail, shorter - head)
    return Span(head, len(old) - tail, len(new) - tail)


def _common_length(
    left: Iterable[T], right: Iterable[T], differ: Callable[[T, T], bool] = ne
) -> int:
    """Return how many entries are equal from the start; a huge number when none differs."""
    # All of this loop runs in C, because a note may have 100,000 chunks.
    differences = compress(count(), map(differ, left, right))
    return next(differences, _NO_DIFFERENCE)


def _differ(left: object, right: object) -> bool:
    # Comparing an object with itself field by field would be slow.
    return left is not right and left != right
