"""Finds the longest row of elements that two sequences have in common, in bounded time."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

MOST_CELLS = 64_000_000
"""Pairs of lines that are compared exactly between two anchors; eight of them take a byte"""

Pair = tuple[int, int]
"""The indexes of an equal element in the old and in the new sequence"""


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
