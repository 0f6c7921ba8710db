"""A life that fails, told with as few steps as it takes, as a text that can be pinned."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.simulated.dice import Line
from tests.simulated.engines import Make
from tests.simulated.script import Life, recorded, text_of
from tests.simulated.violation import Violation
from tests.simulated.world import Setting, Step, World, drawn_life


class Outcome(NamedTuple):
    """How a life ends."""

    oracle: str
    """The oracle that finds it wrong, or the class of the error; empty when all is well"""
    problem: str
    lines: list[Line]
    """The decisions up to the end"""
    story: list[str]


def retold(seed: int, make: Make) -> str:
    """The text of the shortest life that goes wrong in the same way, and below it what happens.

    The text can be pinned once its title says what goes wrong. If all goes well, it is the whole life.
    """
    setting, steps = drawn_life(seed)
    first = outcome(setting, steps, make)
    if first.oracle:

        def fails_alike(fewer: Sequence[Step]) -> bool:
            return outcome(setting, fewer, make).oracle == first.oracle

        steps = fewest(steps, fails_alike)
    last = outcome(setting, steps, make)
    title = f"Seed {seed}: {last.problem or 'all is well'}".replace("\n", " ")
    text = text_of(Life(title, setting, tuple(last.lines)))
    return "\n".join((text, *last.story))


def outcome(setting: Setting, steps: Sequence[Step], make: Make) -> Outcome:
    """How the life of these steps ends."""
    lines: list[Line] = []
    world = World(setting, make)
    try:
        for step in recorded(steps, lines):
            world.step(step)
        world.settle()
        world.judge()
    except Violation as violation:
        return Outcome(violation.oracle, str(violation), lines, world.story)
    except Exception as error:
        return Outcome(type(error).__name__, repr(error), lines, world.story)
    return Outcome("", "", lines, world.story)


def fewest(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Steps that fail still, none of which can be left out alone: delta debugging."""
    remaining = list(steps)
    size = len(remaining) // 2
    while size:
        start = 0
        while start < len(remaining):
            fewer = remaining[:start] + remaining[start + size :]
            if fails(fewer):
                remaining = fewer
            else:
                start += size
        size //= 2
    return remaining
