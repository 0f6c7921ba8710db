"""A write cut short at every call, on disks that forget in every way they may: the note is old or new, and is finished.

Then the recovery is cut short at every one of its calls as well.
"""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.every import every
from tests.simulated.files import MODELS, Crash, Model
from tests.vault.write.templates import TEMPLATES, Template, begin, plan_human
from tests.vault.write.world import World


def trace_of(template: Template) -> list[str]:
    """The calls of the template when nothing goes wrong."""
    world = begin(template)
    plan_human(template, world)
    template.act(world)
    return list(world.files.trace)


def crashed(template: Template, at: int, model: Model, *, torn: bool = False) -> World:
    """The world at the moment of the crash."""
    world = begin(template)
    world.files.model = model
    plan_human(template, world)
    world.files.crash_at, world.files.torn = at, torn
    with suppress(Crash):
        template.act(world)
    return world


def finish(template: Template, world: World) -> None:
    """What the next process does: recover, do again what was never taken on, tend until all is quiet."""
    world.writer.tend(world.now)
    template.act(world)
    world.tend_until_quiet()


def check(template: Template, world: World) -> None:
    lines = (world.files.text(template.path) or b"").decode().split()
    wanted = (
        template.lines if template.alone is None or world.files.person_wrote else template.alone
    )
    assert sorted(lines) == sorted(wanted), "each line once"
    assert world.strays() == []
    assert world.writer.displaced() == []
    assert world.writer.pending() == []
    assert world.journal.ops("planned") == []
    assert len(world.writer.finished()) == template.records


LOOKING = (
    "open",
    "open_folder",
    "read",
    "stat",
    "look",
    "link_target",
    "attributes",
    "alone",
    "free_bytes",
    "close",
)


def moments(trace: list[str]) -> list[int]:
    """The calls before which a crash is different from one before a later call, and the end."""
    changing = [at for at, what in enumerate(trace, 1) if what.split()[0] not in LOOKING]
    return [*changing, len(trace) + 1]


def states(template: Template, model: Model, seen: set[object]) -> Iterator[World]:
    """Every different world after a crash at any call; ``seen`` are those that were had before."""
    for at in moments(trace_of(template)):
        for torn in (False, True) if model == "kill" else (False,):
            yield from crashed(template, at, model, torn=torn).after_crash(model, seen)


@pytest.mark.scenario("B33", "B34", "B35", "B36", "B37", "B38", "A31")
@every("template", TEMPLATES, ids=lambda template: template.name)
def test_a_crash_at_any_system_call_leaves_the_note_old_or_new_and_is_recovered(
    template: Template,
) -> None:
    seen: set[object] = set()
    for model in MODELS:
        for world in states(template, model, seen):
            assert world.files.text(template.path) in template.live
            finish(template, world)
            check(template, world)


@pytest.mark.scenario("B48")
@every("template", TEMPLATES, ids=lambda template: template.name)
def test_a_crash_at_any_system_call_of_the_recovery_is_recovered(template: Template) -> None:
    for model in ("kill", "posix"):
        crash_twice(template, model)


@pytest.mark.deep
@pytest.mark.scenario("B48")
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_crash_during_recovery_is_recovered_under_every_disk_model(template: Template) -> None:
    for model in MODELS:
        crash_twice(template, model)


def crash_twice(template: Template, model: Model) -> int:
    """Crash, and crash in the recovery, each at every call; returns how many different worlds that gave."""
    seen: set[object] = set()
    for world in states(template, model, set()):
        image, files = world.image(), world.files.clone()
        world.writer.tend(world.now)
        for at in moments(world.files.trace):
            second = World(files.clone(), image)
            second.files.model, second.files.crash_at = model, at
            with suppress(Crash):
                second.writer.tend(second.now)
            for third in second.after_crash(model, seen):
                assert third.files.text(template.path) in template.live
                finish(template, third)
                check(template, third)
    return len(seen)
