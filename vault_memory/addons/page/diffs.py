"""Compares two texts line by line, and word by word within a changed line, for a person to read.

Any two texts are compared in bounded time. Where an exact answer would take too long, the old
lines are removed and the new ones added. No HTML is made here, and hidden letters are unchanged.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple

__all__ = ["DiffLine", "lines"]

CONTEXT = 3
MOST_LINES = 2000
"""Lines of a diff; a last line says how many more there are"""
Kind = Literal["added", "removed", "same", "gap"]

_SIGNS = {"added": "+", "removed": "−", "same": "", "gap": "…"}
_WORDS = {"added": "added", "removed": "removed", "same": "", "gap": ""}
Part = tuple[str, bool]
"""A text, and whether it is a changed word within its line"""
Line = tuple[Part, ...]
MOST_LETTERS = 200_000
"""Letters of changed lines in which changed words are marked"""
LONGEST_LINE = 5000
"""Letters of a line in which changed words are marked"""
NEAREST = 8
"""Added lines that a removed line is compared with"""
LEAST_LIKENESS = 0.25
"""Of two versions of a line, as a share of the letters in their words"""
NO_LINE_END = "⟨no line end⟩"

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without blanks between words"""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|.", re.DOTALL)
MOST_CELLS = 64_000_000
"""Pairs of lines that are compared exactly between two anchors; eight of them take a byte"""

Pair = tuple[int, int]
"""The indexes of an equal element in the old and in the new sequence"""


# --- Changed words ---


class WordMarker:
    """Marks changed words in the changed lines of one diff, as long as that is quick."""

    def __init__(self) -> None:
        self._letters = 0

    def marked(
        self, old_lines: Sequence[str], new_lines: Sequence[str]
    ) -> tuple[list[Line], list[Line]]:
        """Return the removed and the added lines of one block, in parts."""
        removed = [unmarked(line) for line in old_lines]
        added = [unmarked(line) for line in new_lines]
        for old, new in self._versions(old_lines, new_lines):
            removed[old], added[new] = _compared(old_lines[old], new_lines[new])
        return removed, added

    def _versions(self, old_lines: Sequence[str], new_lines: Sequence[str]) -> Iterator[Pair]:
        """Yield the lines that are versions of each other, in order."""
        next_new = 0
        for old_index, old in enumerate(old_lines):
            nearest = new_lines[next_new : next_new + NEAREST]
            for new_index, new in enumerate(nearest, next_new):
                if self._is_version(old, new):
                    yield old_index, new_index
                    next_new = new_index + 1
                    break

    def _is_version(self, old: str, new: str) -> bool:
        # Lines that are compared in vain count too.
        letters = len(old) + len(new)
        self._letters += letters
        # Fault: a note can be one line of a hundred thousand words.
        if letters > 2 * LONGEST_LINE or self._letters > MOST_LETTERS:
            return False
        return _likeness(old, new) >= LEAST_LIKENESS


def _likeness(old: str, new: str) -> float:
    """Return the share of letters in words that both lines have."""
    old_words = set(_WORD.findall(old))
    new_words = set(_WORD.findall(new))
    # Blank lines differ in their blanks alone.
    if not old_words and not new_words:
        return 1.0
    common = "".join(old_words & new_words)
    either = "".join(old_words | new_words)
    return len(common) / len(either)


def _split_end(line: str) -> tuple[str, str]:
    """Return a line and its line end."""
    text = line.removesuffix("\n").removesuffix("\r")
    return text, line[len(text) :]


def _line_end(end: str) -> Line:
    """Return what shows a line end that differs. A carriage return becomes a mark later."""
    if "\n" not in end:
        return ((NO_LINE_END, True),)
    if "\r" in end:
        return (("\r", True),)
    return ()


def _compared(old: str, new: str) -> tuple[Line, Line]:
    """Return a changed line before and after, in parts."""
    old_text, old_end = _split_end(old)
    new_text, new_end = _split_end(new)
    old_tokens = _TOKEN.findall(old_text)
    new_tokens = _TOKEN.findall(new_text)
    pairs = common_pairs(old_tokens, new_tokens)
    equal_old = {index for index, _ in pairs}
    equal_new = {index for _, index in pairs}
    old_line = _marked(old_tokens, equal_old)
    new_line = _marked(new_tokens, equal_new)
    if old_end != new_end:
        old_line += _line_end(old_end)
        new_line += _line_end(new_end)
    return old_line, new_line


def _marked(tokens: Sequence[str], equal: set[int]) -> Line:
    """Return tokens joined to parts, each equal or changed."""
    changed = [index not in equal for index in range(len(tokens))]
    # A blank between two changed words belongs to them.
    for index in range(1, len(tokens) - 1):
        if tokens[index].isspace() and changed[index - 1] and changed[index + 1]:
            changed[index] = True
    runs = groupby(zip(tokens, changed, strict=True), key=itemgetter(1))
    return tuple(("".join(token for token, _ in run), flag) for flag, run in runs)


def unmarked(line: str) -> Line:
    """Return a line as one part, without its line end."""
    return ((line.rstrip("\r\n"), False),)


# --- Common pairs ---

# Finds the longest row of elements that two sequences have in common, in bounded time.


def common_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Return equal elements in the order of both sequences.

    Elements that each sequence has once are anchors; between two anchors the longest common
    subsequence is taken.
    """
    pairs: list[Pair] = []
    start = (-1, -1)
    end = (len(old), len(new))
    edges = [start, *_anchors(old, new), end]
    for before, after in pairwise(edges):
        old_range = range(before[0] + 1, after[0])
        new_range = range(before[1] + 1, after[1])
        pairs += _pairs_between(old, new, old_range, new_range)
        pairs.append(after)
    return pairs[:-1]


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Return the longest increasing row of elements that each sequence has once."""
    old_counts = Counter(old)
    new_counts = Counter(new)
    new_indexes = {element: index for index, element in enumerate(new)}
    candidates: list[Pair] = []
    for index, element in enumerate(old):
        if old_counts[element] == 1 and new_counts[element] == 1:
            pair = (index, new_indexes[element])
            candidates.append(pair)
    return _longest_increasing(candidates)


def _longest_increasing(candidates: Sequence[Pair]) -> list[Pair]:
    """Return the longest subsequence of pairs in which the second number increases."""
    lowest_ends: list[int] = []
    last_of_length: list[int] = []
    previous: list[int] = []
    for number, (_, position) in enumerate(candidates):
        length = bisect_left(lowest_ends, position)
        previous.append(last_of_length[length - 1] if length else -1)
        lowest_ends[length : length + 1] = [position]
        last_of_length[length : length + 1] = [number]
    chain: list[Pair] = []
    if not candidates:
        return chain
    number = last_of_length[-1]
    while number >= 0:
        chain.append(candidates[number])
        number = previous[number]
    return chain[::-1]


def _pairs_between(
    old: Sequence[Hashable], new: Sequence[Hashable], old_range: range, new_range: range
) -> list[Pair]:
    """Return the pairs within two ranges, without elements that only one of them has."""
    new_elements = {new[index] for index in new_range}
    old_indexes = [index for index in old_range if old[index] in new_elements]
    old_elements = {old[index] for index in old_indexes}
    new_indexes = [index for index in new_range if new[index] in old_elements]
    # Fault: two texts of 20,000 lines, `a` and `b` in turns, would take minutes.
    if len(old_indexes) * len(new_indexes) > MOST_CELLS:
        return _equal_ends(old, new, old_range, new_range)
    old_shared = [old[index] for index in old_indexes]
    new_shared = [new[index] for index in new_indexes]
    pairs: list[Pair] = []
    for first, second in _longest_common(old_shared, new_shared):
        pair = (old_indexes[first], new_indexes[second])
        pairs.append(pair)
    return pairs


def _equal_ends(
    old: Sequence[Hashable], new: Sequence[Hashable], old_range: range, new_range: range
) -> list[Pair]:
    """Return the equal elements at the start, and those at the end."""
    shortest = min(len(old_range), len(new_range))
    head = _equal_count(old, new, old_range[:shortest], new_range[:shortest])
    left = shortest - head
    old_end = old_range[::-1][:left]
    new_end = new_range[::-1][:left]
    tail = _equal_count(old, new, old_end, new_end)
    starts = zip(old_range[:head], new_range[:head], strict=True)
    ends = zip(old_end[:tail], new_end[:tail], strict=True)
    return [*starts, *reversed(list(ends))]


def _equal_count(
    old: Sequence[Hashable], new: Sequence[Hashable], old_range: range, new_range: range
) -> int:
    for count, (first, second) in enumerate(zip(old_range, new_range, strict=True)):
        if old[first] != new[second]:
            return count
    return len(old_range)


def _longest_common(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Return a longest common subsequence, by Hyyrö's bit-parallel algorithm.

    A row of the usual table is one integer. Its bit is 0 where the table grows from the column
    before. So a row of a thousand columns takes a few operations.
    """
    rows = _bit_rows(old, new)
    pairs: list[Pair] = []
    row = len(old)
    column = len(new)
    while row and column:
        last_column = 1 << (column - 1)
        if rows[row] & last_column:
            column -= 1
        elif not rows[row - 1] & last_column:
            row -= 1
        else:
            row -= 1
            column -= 1
            pairs.append((row, column))
    return pairs[::-1]


def _bit_rows(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[int]:
    """Return a row for each number of elements of `old`, from none to all."""
    places: dict[Hashable, int] = {}
    for index, element in enumerate(new):
        places[element] = places.get(element, 0) | 1 << index
    all_bits = (1 << len(new)) - 1
    row = all_bits
    rows = [row]
    for element in old:
        matches = row & places.get(element, 0)
        carried = row + matches
        row = (carried | row - matches) & all_bits
        rows.append(row)
    return rows


# --- The comparison ---


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
