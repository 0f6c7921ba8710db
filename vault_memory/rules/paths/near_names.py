"""Names that are nearly the same, so that one of them may be a misspelling of the other. Pure."""

import re
from collections.abc import Iterable

SHORTEST = 3
"""Letters of the longer name; between shorter names a difference of one letter says nothing"""
SHORT = 5
"""Letters of a name up to which one letter may differ; in a longer one two may"""
LONGEST = 64
"""Letters of a name that is compared: a longer one is an address or an id"""
MOST_NAMES = 3


def near_names(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that `name` may be a misspelling of, the nearest first."""
    ranked = []
    for candidate in candidates:
        distance = _distance_if_near(name, candidate)
        if distance is not None and candidate != name:
            ranked.append((distance, candidate))
    return [candidate for _, candidate in sorted(ranked)[:MOST_NAMES]]


def _distance_if_near(name: str, candidate: str) -> int | None:
    """Return how many letters differ; None when the names are those of two people."""
    first = name.strip().casefold()
    second = candidate.strip().casefold()
    # Fault: `user1` and `user2` differ by one letter, and are never the same person.
    if re.findall(r"\d+", first) != re.findall(r"\d+", second):
        return None
    if first == second:
        return 0
    longer = max(len(first), len(second))
    if longer > LONGEST:
        return None
    if sorted(first) == sorted(second):
        return 1
    if longer < SHORTEST or min(len(first), len(second)) == 1:
        return None
    allowed = 1 if longer <= SHORT else 2
    if abs(len(first) - len(second)) > allowed:
        return None
    distance = _edits(first, second)
    return distance if distance <= allowed else None


def _edits(first: str, second: str) -> int:
    """Count the letters to insert, delete, replace or swap with a neighbour."""
    before_last: list[int] = []
    last = list(range(len(second) + 1))
    for row, letter in enumerate(first, start=1):
        current = [row]
        for column, letter_of_second in enumerate(second, start=1):
            replaced = last[column - 1] + (letter != letter_of_second)
            best = min(replaced, last[column] + 1, current[column - 1] + 1)
            is_swap = (
                row > 1
                and column > 1
                and letter == second[column - 2]
                and letter_of_second == first[row - 2]
            )
            if is_swap:
                best = min(best, before_last[column - 2] + 1)
            current.append(best)
        before_last, last = last, current
    return last[-1]
