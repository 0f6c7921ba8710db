"""How many cases a run tries: all of them with ``EFFORT=full``, as CI does, and a part of them otherwise.

A short run tries a twelfth of the generated cases, and skips a few repetitions and a few costly notes. Both
runs try every other pinned case. Of the tests that are marked as `sampled`, ``make test`` tries
a fifth, another one each time.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

FULL = os.environ.get("EFFORT") == "full"
LEAST = 5
LEAST_COSTLY = 2
PART = 12
COSTLY_PART = 30
SMALL_PART = 60
PLACES_PART = 4
SAMPLED_PART = 5


def cases(full: int) -> int:
    """The number of generated cases: `full`, or a twelfth of it in a short run."""
    if FULL:
        return full
    return max(min(full, LEAST), full // PART)


def costly(full: int) -> int:
    """The number of generated cases that take a second or more each: `full`, or a thirtieth of it."""
    return full if FULL else max(min(full, LEAST_COSTLY), full // COSTLY_PART)


def few(full: int) -> int:
    """The number of generated cases that take milliseconds each: `full`, or a sixtieth of it."""
    return full if FULL else max(min(full, LEAST), full // SMALL_PART)


def some(places: Sequence[T]) -> Sequence[T]:
    """All places at which something can happen, or every fourth of them in a short run."""
    return places if FULL else places[::PLACES_PART]


def in_sample(test: str, seed: int) -> bool:
    """Return whether a run with this seed tries a costly test; every fifth is tried."""
    return random.Random(f"{seed} {test}").randrange(SAMPLED_PART) == 0


only_full = pytest.mark.skipif(not FULL, reason="EFFORT=full tries it, as CI does")
