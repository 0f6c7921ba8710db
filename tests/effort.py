"""How many cases a run tries: all of them with ``EFFORT=deep``, and a part of them otherwise.

CI runs with ``EFFORT=full``: every test, each with a third of its generated cases. A short run tries a
twelfth of them, and skips a few repetitions and a few costly notes. All of them try every other pinned case.
Of the tests that are marked as `sampled`, ``make test`` tries an eighth, another one each time.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

DEEP = os.environ.get("EFFORT") == "deep"
FULL = DEEP or os.environ.get("EFFORT") == "full"
"""Each test, as CI runs them"""
LEAST = 5
LEAST_COSTLY = 2
FULL_PART = 1 if DEEP else 3
PART = FULL_PART if FULL else 12
COSTLY_PART = FULL_PART if FULL else 30
SMALL_PART = FULL_PART if FULL else 60
PLACES_PART = 1 if FULL else 4
SAMPLED_PART = 8


def cases(most: int) -> int:
    """The number of generated cases: a twelfth of `most` in a short run."""
    return max(min(most, LEAST), most // PART)


def costly(most: int) -> int:
    """The number of generated cases that take a second or more each: a thirtieth of `most` in a short run."""
    return max(min(most, LEAST_COSTLY), most // COSTLY_PART)


def few(most: int) -> int:
    """The number of generated cases that take milliseconds each: a sixtieth of `most` in a short run."""
    return max(min(most, LEAST), most // SMALL_PART)


def some(places: Sequence[T]) -> Sequence[T]:
    """All places at which something can happen, or every fourth of them in a short run."""
    return places[::PLACES_PART]


def in_sample(test: str, seed: int) -> bool:
    """Return whether a run with this seed tries a costly test; one of `SAMPLED_PART` is tried."""
    return random.Random(f"{seed} {test}").randrange(SAMPLED_PART) == 0


only_full = pytest.mark.skipif(not FULL, reason="EFFORT=full tries it, as CI does")
