"""What people do to two sides before anybody syncs: every history of a length, and random ones."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tests.sync.pretend import Op, Planner, Settled, Side, World, check, do, ops_over, settle
from vault_memory.sync.plan.planner import plan
from vault_memory.sync.settings import Settings

History = tuple[Op, ...]
DELETES_ARE_MEANT = Settings(approve_deletes=True)


def every(start: Side, names: Iterable[str], length: int) -> list[tuple[History, Side]]:
    """Every history of up to so many operations that can be done, and the side after it."""
    ops = ops_over(names)
    found: list[tuple[History, Side]] = [((), start)]
    last = found
    for number in range(length):
        following = []
        for history, side in last:
            for op in ops:
                after = side.copy()
                if do(after, op, f"{start.name}{number}"):
                    following.append(((*history, op), after))
        found += following
        last = following
    return found


def distinct(histories: list[tuple[History, Side]], start: Side) -> list[tuple[History, Side]]:
    """One history for each thing a planner could see: names of new ids and tags tell it nothing."""
    known = {thing.id for thing in start.things.values()} | {
        thing.tag for thing in start.things.values()
    }
    first: dict[object, tuple[History, Side]] = {}
    for history, side in histories:
        new: dict[str, int] = {}
        seen = tuple(
            (
                path,
                thing.text,
                thing.id if thing.id in known else new.setdefault(thing.id, len(new)),
                thing.tag in known,
            )
            for path, thing in sorted(side.things.items())
        )
        first.setdefault(seen, (history, side))
    return list(first.values())


def pairs_of(
    world: World, names: list[str], here: int, there: int
) -> tuple[int, Iterator[tuple[History, History, World]]]:
    """How many pairs of histories there are, and a world after each that differs from the others to the eye."""
    local, remote = every(world.local, names, here), every(world.remote, names, there)
    seen = [
        (each, other)
        for each in distinct(local, world.local)
        for other in distinct(remote, world.remote)
    ]

    def worlds() -> Iterator[tuple[History, History, World]]:
        for (mine, after), (theirs, other) in seen:
            made = world.copy()
            made.local, made.remote = after.copy(), other.copy()
            yield mine, theirs, made

    return len(local) * len(remote), worlds()


def try_all(
    worlds: Iterable[tuple[History, History, World]], planner: Planner = plan
) -> tuple[int, int]:
    """Settle each and check it. Returns how many there were, and the most passes that one needed."""
    number = most = 0
    for mine, theirs, world in worlds:
        before = world.copy()
        try:
            settled = settle(world, DELETES_ARE_MEANT, planner=planner)
            check(before, world)
        except AssertionError as error:
            raise AssertionError(f"here {mine}, on the server {theirs}: {error}") from error
        number += 1
        most = max(most, settled.passes)
    return number, most


NAMES = ["a.md", "b.md", "d", "e", "d/a.md", "d/b.md", "e/a.md", "d/e", "d/e/a.md", "e/d"]


def random_start(die: random.Random) -> Mapping[str, str | None]:
    start: dict[str, str | None] = {"keep.md": "k"}
    for name in die.sample(NAMES, die.randint(1, 6)):
        above = name.rpartition("/")[0]
        if above and "/" not in above:
            start.setdefault(above, None)
        if name not in start and (not above or above in start):
            start[name] = f"base{len(start)}" if name.endswith(".md") else None
    return start


def random_history(side: Side, die: random.Random, most: int) -> History:
    ops, done = ops_over(NAMES), []
    wanted = die.randint(0, most)
    for number in range(60):
        if len(done) == wanted:
            break
        op = die.choice(ops)
        if do(side, op, f"{side.name}{number}"):
            done.append(op)
    return tuple(done)


def try_random(
    seed: int,
    planner: Planner = plan,
    *,
    careless: bool = False,
    most: int = 4,
    failing: float | None = None,
) -> Settled:
    """A random tree, changed on both sides at random, brought in step by an engine that shuffles and fails."""
    die = random.Random(seed)
    world = World.of(
        random_start(die),
        ids=die.random() < 0.7,
        hashes=die.random() < 0.3,
        tag_moves=die.random() < 0.3,
    )
    world.careless = careless
    mine, theirs = (random_history(world.local, die, most), random_history(world.remote, die, most))
    fails = die.choice([0, 0, 0.2, 0.5]) if failing is None else failing
    before = world.copy()
    try:
        settled = settle(
            world,
            DELETES_ARE_MEANT,
            planner=planner,
            most=200 if fails else 14,
            die=die,
            failing=fails,
        )
        check(before, world)
    except AssertionError as error:
        raise AssertionError(
            f"seed {seed}: here {mine}, on the server {theirs}: {error}"
        ) from error
    return settled


RACES = 8
"""Passes during which people go on"""
CLOSE = ["a.md", "b.md", "d", "d/a.md"]
"""Few names, so that they get into each other's way"""


def lines(side: Side) -> "Counter[str]":
    """Each line, and in how many files it is."""
    return Counter(line for thing in side.things.values() for line in thing.text or ())


def try_racing(seed: int, planner: Planner = plan, *, careless: bool = False) -> Settled:
    """People go on between a plan and what is done of it. What one wrote is there, unless one removed it who saw it."""
    die = random.Random(seed)
    world = World.of(random_start(die), ids=die.random() < 0.7, tag_moves=die.random() < 0.3)
    world.careless = careless
    ops, written, removed = ops_over(CLOSE), set(world.local.live()), set[str]()

    def person(number: int) -> None:
        if number >= RACES or die.random() > 0.5:
            return
        side, op = die.choice((world.local, world.remote)), die.choice(ops)
        before, line = lines(side), f"{side.name}{next(side.numbers)}"
        if do(side, op, line):
            removed.update(before - lines(side))
            written.update(lines(side) - before)

    for _ in range(4):
        person(0)
    settled = settle(
        world, DELETES_ARE_MEANT, planner=planner, most=RACES + 14, die=die, between=person
    )
    lost = written - removed - world.local.live()
    assert not lost, f"seed {seed}: lost {lost}"
    assert world.local.shape() == world.remote.shape()
    assert world.base.keys() == world.local.things.keys()
    return settled
