"""Reads a long text again after a small change, and reuses the blocks above and below the change.

A block at the top level depends on nothing above it. Two kinds of lines end every block before them:
a heading with its marks in the first column, and an item in the first column. So nothing above such
a line depends on what is below it. The text is read again between the last of these lines above a
change and the first one below it. If that does not end as it ended before, or if the scanner is not
sure, all of the text is read.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import compress, count
from operator import attrgetter, ne
from typing import NamedTuple

from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.scanner import MAY_BE_ODD, item, scan

_first = attrgetter("first")


class Seam(NamedTuple):
    """The blocks of an old text that a new text shares."""

    above: int
    """So many blocks at the beginning"""
    line: int
    """The first line after them, in both texts"""
    below: int
    """The first of the shared blocks at the end; the number of old blocks where there are none"""
    end: int
    """The line of that block in the new text; the number of its lines where there is none"""
    shift: int
    """How many lines that block moved down"""


def seam(old: list[str], blocks: list[Block], lines: list[str], start: int) -> Seam | None:
    """Return what the lines `old` and `lines` share. `blocks` were read from line `start` of `old`.

    None when too much differs, or when a line above `start` differs.
    """
    shortest = min(len(old), len(lines))
    head = min(_common_length(old, lines), shortest)
    tail = min(_common_length(reversed(old), reversed(lines)), shortest - head)
    if head < start or 2 * (head + tail) < len(lines):
        return None
    above = bisect_left(blocks, head, key=_first) - 1
    while above >= 0 and not _is_independent(blocks[above], old):
        above -= 1
    below = bisect_left(blocks, len(old) - tail, key=_first)
    while below < len(blocks) and not _is_independent(blocks[below], old):
        below += 1
    shift = len(lines) - len(old)
    line = blocks[above].first if above >= 0 else start
    end = blocks[below].first + shift if below < len(blocks) else len(lines)
    return Seam(above=max(above, 0), line=line, below=below, end=end, shift=shift)


def reread(old: list[str], blocks: list[Block], lines: list[str], start: int) -> list[Block] | None:
    """Return the blocks of `lines` from those of `old`; None when all of it has to be read."""
    edges = seam(old, blocks, lines, start)
    if edges is None:
        return None
    changed = _read_changed(lines, edges)
    if changed is None:
        return None
    below = blocks[edges.below :]
    if below:
        # The changed lines must end at the same block: an open fence would swallow it.
        if not changed:
            return None
        next_block = changed.pop()
        expected = (below[0].kind, edges.end, below[0].level)
        if (next_block.kind, next_block.first, next_block.level) != expected:
            return None
    return blocks[: edges.above] + changed + moved(below, edges.shift)


def moved(blocks: list[Block], shift: int) -> list[Block]:
    """Return the blocks moved down by `shift` lines."""
    if not shift:
        return blocks
    new = tuple.__new__  # a third of the cost of `Block(…)`
    return [
        new(Block, (kind, first + shift, end + shift, level, name))
        for kind, first, end, level, name in blocks
    ]


def _read_changed(lines: list[str], edges: Seam) -> list[Block] | None:
    """Return the blocks of the changed lines and of the line after them.

    None where the scanner is not sure.
    """
    window = lines[edges.line : edges.end + 1]
    blocks: list[Block] = []
    line = 0
    while line < len(window):
        if not window[line].strip(BLANKS):
            line += 1
            continue
        line = scan(window, line, blocks)
        if not line:
            return None
    return moved(blocks, edges.line)


def _is_independent(block: Block, lines: list[str]) -> bool:
    """Return whether a block is the same whatever is above it, and ends everything above it."""
    text = lines[block.first]
    if block.kind == "heading":
        return text[0] == "#" and block.end == block.first + 1
    if block.kind != "item" or block.level != 1 or text[0] in BLANKS or "\t" in text:
        return False
    match = item(text)
    return bool(match and match[3] and match[3] not in MAY_BE_ODD)


def _common_length(left: Iterable[str], right: Iterable[str]) -> int:
    """Return how many lines are equal from the start; a huge number where none differs."""
    return next(compress(count(), map(ne, left, right)), 1 << 62)
