"""Compares two texts line by line, and word by word within a changed line, for a person to read.

Any two texts are compared in bounded time. Where an exact answer would take too long, the old
lines are removed and the new ones added. No HTML is made here, and hidden letters are unchanged.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from vault_memory.addons.page.comparison.changed_words import Line, WordMarker, unmarked
from vault_memory.addons.page.comparison.common_pairs import Pair, common_pairs

__all__ = ["DiffLine", "lines"]

CONTEXT = 3
MOST_LINES = 2000
"""Lines of a diff; a last line says how many more there are"""
Kind = Literal["added", "removed", "same", "gap"]

_SIGNS = {"added": "+", "removed": "−", "same": "", "gap": "…"}
_WORDS = {"added": "added", "removed": "removed", "same": "", "gap": ""}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff."""

    kind: Kind
    old_number: int | None
    """From 1; None for an added line"""
    new_number: int | None
    """From 1; None for a removed line"""
    parts: Line

    @property
    def sign(self) -> str:
        """The sign before the line."""
        return _SIGNS[self.kind]

    @property
    def word(self) -> str:
        """The same in a word."""
        return _WORDS[self.kind]

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(text for text, _ in self.parts)


def lines(old: str, new: str, context: int = CONTEXT) -> list[DiffLine]:
    """Return the changed lines with equal lines around them; nothing for equal texts."""
    if old == new:
        return []
    texts = _Texts(_lines_of(old), _lines_of(new))
    return _first_lines(_diff(texts, context, WordMarker()))


def _lines_of(text: str) -> list[str]:
    """Return the lines with their line feed. No other letter ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


# --- Blocks of lines --------------------------------------------------------------------------


class _Texts(NamedTuple):
    """Two texts as lines."""

    old: Sequence[str]
    new: Sequence[str]


class _Block(NamedTuple):
    """Lines that are equal, or that differ, by their indexes in both texts."""

    are_equal: bool
    old: range
    new: range


def _blocks(texts: _Texts) -> Iterator[_Block]:
    """Yield all blocks in order, by turns equal and different."""
    # The end of both texts closes the last block as an equal pair would.
    sizes = (len(texts.old), len(texts.new))
    start = end = (0, 0)
    """The equal lines that were not yielded yet"""
    pairs = common_pairs(texts.old, texts.new)
    for pair in [*pairs, sizes]:
        if pair != end:
            if start != end:
                yield _block(True, start, end)
            yield _block(False, end, pair)
            start = pair
        end = (pair[0] + 1, pair[1] + 1)
    if start != sizes:
        yield _block(True, start, sizes)


def _block(are_equal: bool, start: Pair, end: Pair) -> _Block:
    old = range(start[0], end[0])
    new = range(start[1], end[1])
    return _Block(are_equal, old, new)


def _diff(texts: _Texts, context: int, marker: WordMarker) -> Iterator[DiffLine]:
    """Yield the lines that differ, and so many equal lines before and after them."""
    blocks = list(_blocks(texts))
    for number, block in enumerate(blocks):
        if not block.are_equal:
            yield from _changed(texts, block, marker)
            continue
        first = context if number else 0
        is_last = number == len(blocks) - 1
        last = 0 if is_last else context
        yield from _shortened(texts, block, first, last)


def _changed(texts: _Texts, block: _Block, marker: WordMarker) -> Iterator[DiffLine]:
    """Yield the removed lines, then the added ones, each with its number."""
    old_lines = texts.old[block.old.start : block.old.stop]
    new_lines = texts.new[block.new.start : block.new.stop]
    removed, added = marker.marked(old_lines, new_lines)
    for number, line in enumerate(removed, block.old.start + 1):
        yield DiffLine("removed", number, None, line)
    for number, line in enumerate(added, block.new.start + 1):
        yield DiffLine("added", None, number, line)


def _shortened(texts: _Texts, block: _Block, first: int, last: int) -> Iterator[DiffLine]:
    """Yield the first and the last lines of an equal block, with a gap between them."""
    count = len(block.new)
    hidden = count - first - last
    # A single line is as short as a gap.
    if hidden < 2:
        yield from _same(texts, block, range(count))
        return
    yield from _same(texts, block, range(first))
    yield _gap(f"{hidden} equal lines")
    yield from _same(texts, block, range(count - last, count))


def _same(texts: _Texts, block: _Block, offsets: range) -> Iterator[DiffLine]:
    """Yield equal lines of a block."""
    for offset in offsets:
        old_index = block.old[offset]
        new_index = block.new[offset]
        line = unmarked(texts.new[new_index])
        yield DiffLine("same", old_index + 1, new_index + 1, line)


def _gap(words: str) -> DiffLine:
    return DiffLine("gap", None, None, ((words, False),))


def _first_lines(rows: Iterator[DiffLine]) -> list[DiffLine]:
    """Return as many lines as a person can read."""
    first_rows = list(islice(rows, MOST_LINES))
    kinds = Counter(row.kind for row in rows)
    more = kinds["added"] + kinds["removed"]
    if more:
        end = _gap(f"{more} more changed lines are not shown")
        first_rows.append(end)
    return first_rows
