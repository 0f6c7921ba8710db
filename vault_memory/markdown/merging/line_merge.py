"""Three-way merge of lines, for text that has no structure. Cautious: changes that touch each other are a conflict."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

SMALL = 200
"""Stretches without a line that is found once on both sides are compared in full up to so many lines"""


class Hunk(NamedTuple):
    """A stretch of the base, and the stretch of a side that stands for it."""

    first: int
    end: int
    side_first: int
    side_end: int


class Taken(NamedTuple):
    """A stretch of the result: lines of ours or theirs."""

    ours: bool
    first: int
    end: int


def merge_lines(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> list[Taken] | None:
    """The stretches that make up the result; None where both changed the same place."""
    result: list[Taken] = []
    mine, yours = _changes(base, ours), _changes(base, theirs)
    at = shift = 0
    while mine or yours:
        o, t = (mine[0] if mine else None), (yours[0] if yours else None)
        if o and t and o.first <= t.end and t.first <= o.end:
            if (
                o[:2] != t[:2]
                or ours[o.side_first : o.side_end] != theirs[t.side_first : t.side_end]
            ):
                return None
            o = None
            mine.pop(0)
        if t and (not o or t.first < o.first):
            result.append(Taken(False, at + shift, t.side_end))
            yours.pop(0)
            at, shift = t.end, t.side_end - t.end
        elif o:
            result.append(Taken(False, at + shift, o.first + shift))
            result.append(Taken(True, o.side_first, o.side_end))
            mine.pop(0)
            at = o.end
    result.append(Taken(False, at + shift, len(theirs)))
    return [taken for taken in result if taken.end > taken.first]


def _changes(base: Sequence[bytes], side: Sequence[bytes]) -> list[Hunk]:
    """Where a side differs from the base."""
    hunks = []
    i = j = 0
    for first, side_first, length in [*_same(base, side), (len(base), len(side), 0)]:
        if first > i or side_first > j:
            hunks.append(Hunk(i, first, j, side_first))
        i, j = first + length, side_first + length
    return hunks


def _same(base: Sequence[bytes], side: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Stretches that both have, in order: (in the base, in the side, length)."""
    from difflib import SequenceMatcher

    found: list[tuple[int, int, int]] = []
    todo = [(0, len(base), 0, len(side))]
    while todo:
        first, end, side_first, side_end = todo.pop()
        while first < end and side_first < side_end and base[first] == side[side_first]:
            found.append((first, side_first, 1))
            first, side_first = first + 1, side_first + 1
        while (
            first < end
            and side_first < side_end
            and base[end - 1] == side[side_end - 1]
        ):
            end, side_end = end - 1, side_end - 1
            found.append((end, side_end, 1))
        if first == end or side_first == side_end:
            continue
        anchors = _anchors(base[first:end], side[side_first:side_end])
        if anchors:
            edges = [(0, 0), *anchors, (end - first, side_end - side_first)]
            for (i, j), (next_i, next_j) in pairwise(edges):
                todo.append(
                    (first + i, first + next_i, side_first + j, side_first + next_j)
                )
        elif end - first <= SMALL and side_end - side_first <= SMALL:
            matcher = SequenceMatcher(
                None, base[first:end], side[side_first:side_end], autojunk=False
            )
            found += [
                (first + i, side_first + j, length)
                for i, j, length in matcher.get_matching_blocks()
                if length
            ]
    return sorted(found)


def _anchors(base: Sequence[bytes], side: Sequence[bytes]) -> list[tuple[int, int]]:
    """Lines that stand once in both, in the longest row that has the same order in both."""
    once = {line for line, count in Counter(base).items() if count == 1}
    places = {line: number for number, line in enumerate(side)}
    counts = Counter(side)
    pairs = [
        (i, places[line])
        for i, line in enumerate(base)
        if line in once and counts[line] == 1
    ]
    tails: list[int] = []
    rows: list[tuple[int, int | None]] = []
    ends: list[int] = []
    for number, (_, j) in enumerate(pairs):
        place = bisect_left(tails, j)
        rows.append((number, ends[place - 1] if place else None))
        tails[place : place + 1] = [j]
        ends[place : place + 1] = [number]
    row: list[tuple[int, int]] = []
    at = ends[-1] if ends else None
    while at is not None:
        row.append(pairs[at])
        at = rows[at][1]
    return row[::-1]
