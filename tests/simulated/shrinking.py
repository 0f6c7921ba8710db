"""A life that went wrong, retold with as few steps as it takes."""

from collections.abc import Callable, Sequence

from tests.simulated.engines import Make
from tests.simulated.violation import Violation
from tests.simulated.world import Step, World, told_by


def retold(seed: int, make: Make) -> str:
    """What goes wrong, in which world, by which steps, and what happens in them."""
    setting, steps = told_by(seed)
    first = _wrong(seed, steps, make)
    steps = fewest(steps, lambda fewer: _wrong(seed, fewer, make)[:1] == first[:1])
    oracle, said, story = _wrong(seed, steps, make)
    lines = [f"seed {seed}: {said or oracle}", f"{setting}", f"steps = {steps}", *story]
    return "\n".join(lines)


def _wrong(seed: int, steps: Sequence[Step], make: Make) -> tuple[str, str, list[str]]:
    """By whom these steps are found wrong, with which words, and the story; empty when they are not."""
    setting, _ = told_by(seed)
    world = World(setting, make)
    try:
        for step in steps:
            world.step(step)
        world.settle()
        world.judge()
    except Violation as violation:
        return violation.oracle, str(violation), world.story
    except Exception as error:
        return type(error).__name__, repr(error), world.story
    return "", "", world.story


def fewest(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]
) -> list[Step]:
    """Steps that fail still, none of which can be left out alone: delta debugging."""
    left = list(steps)
    size = len(left) // 2
    while size:
        at = 0
        while at < len(left):
            fewer = left[:at] + left[at + size :]
            if fails(fewer):
                left = fewer
            else:
                at += size
        size //= 2
    return left
