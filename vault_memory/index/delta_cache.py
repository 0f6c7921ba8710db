"""What an index was told last of a few long notes: told of them again, it writes only where they differ."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, count, repeat
from operator import itemgetter, ne, sub
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from vault_memory.index.store import IndexEntry
    from vault_memory.markdown.chunking.chunk_text import Chunk

T = TypeVar("T")

LONG = 400
"""Chunks, from which on a note is remembered"""
MOST = 4
"""So many notes are remembered"""
_SAID = itemgetter(0, 1, 2, 5, 6)
"""What a chunk says, without its lines"""


class Span(NamedTuple):
    """Where two lists differ: what stands before it and after it is the same."""

    first: int
    last: int
    """after the last one of the older list"""
    until: int
    """after the last one of the newer list"""
    lines: int = 0
    """how far down the lines of those after it moved"""

    @property
    def shift(self) -> int:
        """How far on in the list those after it moved."""
        return self.until - self.last


class DeltaCache:
    """The entries of long notes by path, those put last."""

    def __init__(self) -> None:
        self._entries: dict[str, IndexEntry] = {}

    def before(self, entry: "IndexEntry", revision: str) -> "IndexEntry | None":
        """What the index holds of the note of this revision, when that is known and of the same place."""
        known = self._entries.get(entry.path)
        if known is None or known.file.revision != revision or entry.also or known.also:
            return None
        same = (known.scope, known.kind, known.date) == (
            entry.scope,
            entry.kind,
            entry.date,
        )
        return known if same else None

    def keep(self, entry: "IndexEntry") -> None:
        """The index holds this now."""
        self._entries.pop(entry.path, None)
        if len(entry.chunks) >= LONG:
            self._entries[entry.path] = entry
        if len(self._entries) > MOST:
            del self._entries[next(iter(self._entries))]

    def forget(self) -> None:
        """What was told may not be held."""
        self._entries.clear()


def span_of(old: Sequence[object], new: Sequence[object]) -> Span:
    """Where two lists differ."""
    first, tail = (
        _alike(old, new, _differ),
        _alike(reversed(old), reversed(new), _differ),
    )
    return _between(old, new, first, tail)


def chunk_span(old: "Sequence[Chunk]", new: "Sequence[Chunk]") -> Span:
    """Where the chunks of a note differ but for the lines they stand in."""
    shift = new[-1].first_line - old[-1].first_line if old and new else 0
    tail = _alike(map(_SAID, reversed(old)), map(_SAID, reversed(new)))
    for line in (itemgetter(3), itemgetter(4)):
        moves = map(sub, map(line, reversed(new)), map(line, reversed(old)))
        tail = min(tail, _alike(moves, repeat(shift)))
    return _between(old, new, _alike(old, new), tail)._replace(lines=shift)


def _between(
    old: Sequence[object], new: Sequence[object], first: int, tail: int
) -> Span:
    most = min(len(old), len(new))
    first = min(first, most)
    tail = min(tail, most - first)
    return Span(first, len(old) - tail, len(new) - tail)


def _alike(
    one: Iterable[T], other: Iterable[T], differ: Callable[[T, T], bool] = ne
) -> int:
    """How many are the same from the start; more than there are when none differs."""
    return next(compress(count(), map(differ, one, other)), 1 << 62)


def _differ(one: object, other: object) -> bool:
    """Without comparing what is the same object part by part."""
    return one is not other and one != other
