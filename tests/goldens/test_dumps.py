"""A life that was lived before ends as it ended then: files, audit, journal, index and calls are the same."""

import pytest

from tests.goldens import stored
from tests.goldens.dumps import KINDS, LIVES, WORLDS, Kind, check, dump, readable

STORED = [(kind, number) for kind in KINDS for number in kind.readable]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_sample_of_simulated_histories_matches_the_goldens(kind: Kind) -> None:
    check(kind, kind.default)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "number"), STORED, ids=lambda value: getattr(value, "name", value)
)
def test_a_fully_stored_history_matches_its_golden(kind: Kind, number: int) -> None:
    stored.check(f"{kind.name}/{number:03}.txt", readable(dump(kind, number)))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, LIVES.count, 50))
def test_all_simulated_histories_match_the_goldens(first: int) -> None:
    check(LIVES, range(first, first + 50))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, WORLDS.count, 10))
def test_all_simulated_sync_worlds_match_the_goldens(first: int) -> None:
    check(WORLDS, range(first, first + 10))
