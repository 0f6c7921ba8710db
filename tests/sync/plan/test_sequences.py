"""Every short history of two people who change the same few notes and folders between two syncs."""

import random
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.effort import FULL
from tests.sync.histories import History, every, pairs_of, try_all
from tests.sync.pretend import World

FLAT = ({"keep.md": "k", "a.md": "a", "b.md": "b"}, ["a.md", "b.md", "c.md"])
FOLDER = ({"keep.md": "k", "a.md": "a", "d": None, "d/b.md": "b"}, ["a.md", "d", "d/b.md"])
TWO_FOLDERS = (
    {"keep.md": "k", "d": None, "d/a.md": "b", "e": None},
    ["d", "e", "d/a.md", "e/a.md"],
)
NESTED = ({"keep.md": "k", "d": None, "d/a.md": "b", "e": None}, ["d", "e", "d/e", "e/d"])
EMPTY = ({"keep.md": "k"}, ["a.md", "d", "d/a.md"])
STEP = 1 if FULL else 4
"""Every fourth history in a short run"""
UNIVERSES = {
    "flat": FLAT,
    "folder": FOLDER,
    "two folders": TWO_FOLDERS,
    "nested": NESTED,
    "empty": EMPTY,
}


def world_of(universe: str, *, ids: bool) -> World:
    return World.of(UNIVERSES[universe][0], ids=ids)


@pytest.mark.sampled
@pytest.mark.scenario("F104", "F105", "F106", "F107")
@pytest.mark.parametrize("ids", [True, False], ids=["with file ids", "without"])
@pytest.mark.parametrize("universe", UNIVERSES)
@pytest.mark.parametrize(
    ("here", "there"), [(3, 1), (1, 3)], ids=["3 here 1 there", "1 here 3 there"]
)
def test_every_history_converges_without_loss(
    universe: str, ids: bool, here: int, there: int
) -> None:
    histories, worlds = pairs_of(world_of(universe, ids=ids), UNIVERSES[universe][1], here, there)

    number, most = try_all(islice(worlds, None, None, STEP))

    assert histories >= number > 200 // STEP
    assert most <= 5


def test_all_possible_histories_are_enumerated() -> None:
    world = world_of("empty", ids=True)

    found = {history for history, _ in every(world.local, ["a.md", "d"], 2)}

    writes, makes = ("write", "a.md", ""), ("make", "a.md", "")
    removes, renames = ("remove", "a.md", ""), ("rename", "a.md", "d")
    first = [writes, makes, ("write", "d", ""), ("make", "d", "")]
    assert {history[0] for history in found if history} == set(first)
    assert {history[1] for history in found if len(history) == 2 and history[0] == writes} == {
        writes,
        removes,
        renames,
        ("write", "d", ""),
        ("make", "d", ""),
    }
    assert len(found) == 1 + 4 + 2 * 5 + 2 * 4


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ids", [True, False], ids=["with file ids", "without"])
@pytest.mark.parametrize("universe", UNIVERSES)
def test_every_history_of_two_steps_on_each_side_converges(universe: str, ids: bool) -> None:
    _, worlds = pairs_of(world_of(universe, ids=ids), UNIVERSES[universe][1], 2, 2)

    _, most = try_all(worlds)

    assert most <= 5


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("universe", UNIVERSES)
def test_a_sample_of_histories_of_three_steps_on_each_side_converges(universe: str) -> None:
    world = world_of(universe, ids=True)
    names = UNIVERSES[universe][1]
    mine, theirs = every(world.local, names, 3), every(world.remote, names, 3)
    die = random.Random(universe)

    def sample() -> Iterator[tuple[History, History, World]]:
        for _ in range(30_000):
            (here, local), (there, remote) = die.choice(mine), die.choice(theirs)
            made = world.copy()
            made.local, made.remote = local.copy(), remote.copy()
            yield here, there, made

    number, most = try_all(sample())

    assert number == 30_000
    assert most <= 6
