"""A life that was lived before ends as it ended then: files, audit, journal, index and calls are the same."""

import pytest

from tests.goldens import stored
from tests.goldens.dumps import KINDS, LIVES, WORLDS, Kind, check, dump, readable

STORED = [(kind, number) for kind in KINDS for number in kind.readable]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_some_lives_end_as_they_did(kind: Kind) -> None:
    check(kind, kind.default)


@pytest.mark.parametrize(
    ("kind", "number"), STORED, ids=lambda value: getattr(value, "name", value)
)
def test_a_life_that_is_stored_whole_ends_as_it_did(kind: Kind, number: int) -> None:
    stored.check(f"{kind.name}/{number:03}.txt", readable(dump(kind, number)))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, LIVES.count, 50))
def test_all_lives_end_as_they_did(first: int) -> None:
    check(LIVES, range(first, first + 50))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, WORLDS.count, 10))
def test_all_worlds_of_sync_end_as_they_did(first: int) -> None:
    check(WORLDS, range(first, first + 10))
