"""Merges lines of text that has no structure. Changes that touch each other are a conflict.

`hunks` compares any two sequences in bounded time, which `difflib` alone does not. Merges, diffs
and text fields use it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

SMALL = 200
"""Up to how many lines a stretch without an anchor is compared in full"""

Lines = Sequence[bytes]
Elements = Sequence[Hashable]
"""Lines, or the words of a line"""


class LineHunk(NamedTuple):
    """A stretch of the base, and the stretch of a side that replaces it."""

    first: int
    end: int
    side_first: int
    side_end: int


class Stretch(NamedTuple):
    """Lines of ours or of theirs that are in the result."""

    is_ours: bool
    first: int
    end: int


class Run(NamedTuple):
    """Equal lines of the base and of a side."""

    first: int
    side_first: int
    length: int


class _Range(NamedTuple):
    """A stretch of the base and a stretch of a side that are compared."""

    first: int
    end: int
    side_first: int
    side_end: int


def merge_lines(base: Lines, ours: Lines, theirs: Lines) -> list[Stretch] | None:
    """Return the stretches of the result in order; None where both sides changed one place."""
    our_hunks, their_hunks = hunks(base, ours), hunks(base, theirs)
    our_changes = _changes_only_in_ours(ours, theirs, our_hunks, their_hunks)
    if our_changes is None:
        return None
    changes = sorted(
        [(hunk, False) for hunk in their_hunks] + [(hunk, True) for hunk in our_changes]
    )
    result: list[Stretch] = []
    position = 0
    shift = 0
    for hunk, is_ours in changes:
        if is_ours:
            result.append(Stretch(False, position + shift, hunk.first + shift))
            result.append(Stretch(True, hunk.side_first, hunk.side_end))
        else:
            result.append(Stretch(False, position + shift, hunk.side_end))
            shift = hunk.side_end - hunk.end
        position = hunk.end
    result.append(Stretch(False, position + shift, len(theirs)))
    return [stretch for stretch in result if stretch.end > stretch.first]


def _changes_only_in_ours(
    ours: Lines, theirs: Lines, our_hunks: list[LineHunk], their_hunks: list[LineHunk]
) -> list[LineHunk] | None:
    """Return our hunks without those that theirs has as well; None where two hunks conflict."""
    changes: list[LineHunk] = []
    index = 0
    for mine in our_hunks:
        while index < len(their_hunks) and their_hunks[index].end < mine.first:
            index += 1
        if index == len(their_hunks) or their_hunks[index].first > mine.end:
            changes.append(mine)
        elif not _is_same_change(ours, theirs, mine, their_hunks[index]):
            return None
    return changes


def _is_same_change(ours: Lines, theirs: Lines, mine: LineHunk, yours: LineHunk) -> bool:
    if (mine.first, mine.end) != (yours.first, yours.end):
        return False
    our_lines = ours[mine.side_first : mine.side_end]
    return our_lines == theirs[yours.side_first : yours.side_end]


def hunks(base: Elements, side: Elements) -> list[LineHunk]:
    """Return the stretches where a side differs from the base, in order."""
    found: list[LineHunk] = []
    base_line = side_line = 0
    for first, side_first, length in [*_runs(base, side), (len(base), len(side), 0)]:
        if first > base_line or side_first > side_line:
            hunk = LineHunk(first=base_line, end=first, side_first=side_line, side_end=side_first)
            found.append(hunk)
        base_line = first + length
        side_line = side_first + length
    return found


def _runs(base: Elements, side: Elements) -> list[Run]:
    """Return the equal stretches of the base and a side, in order."""
    runs: list[Run] = []
    pending = [_Range(0, len(base), 0, len(side))]
    while pending:
        stretch = _without_equal_edges(base, side, pending.pop(), runs)
        first, end, side_first, side_end = stretch
        if first == end or side_first == side_end:
            continue
        anchors = _anchors(base[first:end], side[side_first:side_end])
        if anchors:
            pending += _ranges_between(anchors, stretch)
        # Fault (H122): a full comparison is quadratic. A note of a million equal lines
        # would take hours.
        elif end - first <= SMALL and side_end - side_first <= SMALL:
            runs += _compare_in_full(base, side, stretch)
    return sorted(runs)


def _without_equal_edges(
    base: Elements, side: Elements, stretch: _Range, runs: list[Run]
) -> _Range:
    """Record the equal lines at both ends of a stretch; return the lines between them."""
    first, end, side_first, side_end = stretch
    while first < end and side_first < side_end and base[first] == side[side_first]:
        runs.append(Run(first, side_first, 1))
        first += 1
        side_first += 1
    while first < end and side_first < side_end and base[end - 1] == side[side_end - 1]:
        end -= 1
        side_end -= 1
        runs.append(Run(end, side_end, 1))
    return _Range(first=first, end=end, side_first=side_first, side_end=side_end)


def _ranges_between(anchors: list[tuple[int, int]], stretch: _Range) -> Iterator[_Range]:
    """Yield the stretches from one anchor to the next, each with the anchor it begins at."""
    first, end, side_first, side_end = stretch
    edges = [(0, 0), *anchors, (end - first, side_end - side_first)]
    for (i, j), (next_i, next_j) in pairwise(edges):
        yield _Range(
            first=first + i,
            end=first + next_i,
            side_first=side_first + j,
            side_end=side_first + next_j,
        )


def _compare_in_full(base: Elements, side: Elements, stretch: _Range) -> Iterator[Run]:
    from difflib import SequenceMatcher  # few merges need it, and it loads slowly

    first, end, side_first, side_end = stretch
    matcher = SequenceMatcher(None, base[first:end], side[side_first:side_end], autojunk=False)
    for i, j, length in matcher.get_matching_blocks():
        if length:
            yield Run(first=first + i, side_first=side_first + j, length=length)


def _anchors(base: Elements, side: Elements) -> list[tuple[int, int]]:
    """Return lines that occur once in both: the longest series with the same order in both."""
    base_counts, side_counts = Counter(base), Counter(side)
    side_numbers = {line: number for number, line in enumerate(side)}
    pairs = [
        (number, side_numbers[line])
        for number, line in enumerate(base)
        if base_counts[line] == 1 and side_counts[line] == 1
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest series of pairs whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    """The smallest last number of a series of each length"""
    ends: list[int] = []
    """The index of the pair with that number"""
    previous: list[int] = []
    """For each pair, the index of the pair before it in its series, or -1"""
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(tops, number)
        previous.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [number]
        ends[length : length + 1] = [index]
    series: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        series.append(pairs[index])
        index = previous[index]
    return series[::-1]
