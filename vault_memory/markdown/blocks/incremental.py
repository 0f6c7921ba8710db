"""Reading a long text again in which little changed: what stands above and below the change is as it was.

A block at the top level depends on nothing above it. Two kinds of lines end whatever stands before them, so that
nothing above depends on what is below them either: a heading with its marks at the very left, and an item at the very
left. Between the last of these above a change and the first one below it, the text is read again. Should that not end
as it ended before, or should the scanner not be sure, the whole text is read.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import compress, count
from operator import attrgetter, ne
from typing import NamedTuple

from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.patterns import MAY_BE_ODD, item
from vault_memory.markdown.blocks.scanner import scan

_first = attrgetter("first")


class Seam(NamedTuple):
    """What of a text that was read is the same in another one."""

    above: int
    """so many blocks at the beginning"""
    line: int
    """the first line after them, in both texts"""
    below: int
    """the first of the blocks at the end that are the same, moved by `shift` lines; their number where none are"""
    end: int
    """the line of that block in the other text; the number of its lines where there is none"""
    shift: int


def seam(
    old: list[str], blocks: list[Block], lines: list[str], start: int
) -> Seam | None:
    """Where the lines `old`, of which `blocks` were read from line `start` on, and `lines` begin and cease to differ.

    None when that is too much, or above `start`.
    """
    most = min(len(old), len(lines))
    same = min(_alike(old, lines), most)
    tail = min(_alike(reversed(old), reversed(lines)), most - same)
    if same < start or 2 * (same + tail) < len(lines):
        return None
    above = bisect_left(blocks, same, key=_first) - 1
    while above >= 0 and not _stands_by_itself(blocks[above], old):
        above -= 1
    below = bisect_left(blocks, len(old) - tail, key=_first)
    while below < len(blocks) and not _stands_by_itself(blocks[below], old):
        below += 1
    shift = len(lines) - len(old)
    end = blocks[below].first + shift if below < len(blocks) else len(lines)
    return Seam(
        max(above, 0), blocks[above].first if above >= 0 else start, below, end, shift
    )


def reread(
    old: list[str], blocks: list[Block], lines: list[str], start: int
) -> list[Block] | None:
    """The blocks of `lines`, where most of them are known from `old`; None when the whole has to be read."""
    found = seam(old, blocks, lines, start)
    middle = found and _between(lines, found)
    if found is None or middle is None:
        return None
    if found.below < len(blocks):
        known, there = blocks[found.below], middle.pop() if middle else None
        if there is None or (there.kind, there.first, there.level) != (
            known.kind,
            found.end,
            known.level,
        ):
            return None
    return blocks[: found.above] + middle + moved(blocks[found.below :], found.shift)


def moved(blocks: list[Block], shift: int) -> list[Block]:
    """The blocks as they stand when so many lines come above them."""
    if not shift:
        return blocks
    new = tuple.__new__  # a third of what `Block(…)` costs
    return [
        new(Block, (kind, first + shift, end + shift, level, name))
        for kind, first, end, level, name in blocks
    ]


def _between(lines: list[str], found: Seam) -> list[Block] | None:
    """What is read again, with the line at which that should end; None where the scanner is not sure."""
    window, middle, line = lines[found.line : found.end + 1], list[Block](), 0
    while line < len(window):
        if window[line].strip(BLANKS):
            line = scan(window, line, middle)
            if not line:
                return None
        else:
            line += 1
    return moved(middle, found.line)


def _stands_by_itself(block: Block, lines: list[str]) -> bool:
    """Whether a block begins with a line that ends all before it, and is this block whatever that was."""
    text = lines[block.first]
    if block.kind == "heading":
        return text[0] == "#" and block.end == block.first + 1
    if block.kind != "item" or block.level != 1 or text[0] in BLANKS or "\t" in text:
        return False
    found = item(text)
    return bool(found and found[3] and found[3] not in MAY_BE_ODD)


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """How many lines are the same from the start; more than there are when none differs."""
    return next(compress(count(), map(ne, one, other)), 1 << 62)
