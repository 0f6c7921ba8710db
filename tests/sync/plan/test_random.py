"""Random trees changed at random on both sides, with batches shuffled and actions failing, until all is quiet."""

import pytest

from tests.effort import cases
from tests.every import every
from tests.sync.histories import try_racing, try_random

EACH_DAY = cases(20_000)
PARTS = 4


@pytest.mark.sampled
@pytest.mark.scenario("F105")
@every("part", range(PARTS))
def test_random_changes_converge_whatever_fails_and_in_any_order(part: int) -> None:
    for seed in range(part, EACH_DAY, PARTS):
        assert try_random(seed).passes <= 100


def test_five_passes_are_enough_when_nothing_fails() -> None:
    assert (
        max(
            try_random(seed, failing=0.0).passes
            for seed in range(1_000_000, 1_000_000 + cases(2_000))
        )
        <= 5
    )


@pytest.mark.deep
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(20))
def test_a_million_random_changes_converge(part: int) -> None:
    for seed in range(2_000_000 + part, 3_000_000, 20):
        try_random(seed, most=6)


@pytest.mark.sampled
@pytest.mark.scenario("E93", "E100")
@every("part", range(PARTS))
def test_people_who_keep_editing_during_a_pass_lose_nothing(part: int) -> None:
    for seed in range(part, EACH_DAY // 2, PARTS):
        try_racing(seed)
