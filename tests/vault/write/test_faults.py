"""A disk that fails at any call: the note is old or new, nothing is lost, and it goes on when the disk does."""

import errno

import pytest

from tests.every import every
from tests.simulated.files import Crash, SimulatedFiles
from tests.vault.write.templates import (
    NEW,
    NOTE,
    OLD,
    TEMPLATES,
    Template,
    begin,
    plan_human,
    write,
)
from tests.vault.write.test_crashes import check, trace_of
from tests.vault.write.world import World
from vault_memory.vault.write.journal import JournalUnavailable
from vault_memory.vault.write.wait_reasons import WORDS

NEVER_FAIL = ("close", "commit", "alone")


@pytest.mark.scenario("B39", "B40", "B41")
@every("number", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.get)
@every("template", TEMPLATES, ids=lambda template: template.name)
def test_an_error_at_any_system_call_loses_nothing_and_is_overcome(
    template: Template, number: int
) -> None:
    for at, what in enumerate(trace_of(template), 1):
        if what.split()[0] in NEVER_FAIL:
            continue
        world = begin(template)
        plan_human(template, world)
        world.files.faults[at] = number

        template.act(world)
        world.files.meanwhile.clear()

        assert world.files.text(template.path) in template.live
        for op in world.writer.pending():
            assert op.reason in WORDS
        world.tend_until_quiet()
        template.act(world)
        world.tend_until_quiet()
        check(template, world)


@pytest.mark.scenario("B39")
def test_a_full_journal_refuses_writes_and_leaves_the_note_untouched() -> None:
    world = begin(TEMPLATES[0])
    world.journal.full = True

    with pytest.raises(JournalUnavailable):
        write(world)

    assert world.files.text(NOTE) == OLD
    assert world.strays() == []
    world.journal.full = False
    write(world)
    assert world.files.text(NOTE) == NEW


@pytest.mark.scenario("B39")
def test_a_write_completes_after_the_journal_fills_up_halfway() -> None:
    world = begin(TEMPLATES[0])

    def fill(files: SimulatedFiles) -> None:
        world.journal.full = True

    world.files.meanwhile["exchange"] = fill
    assert world.write(NOTE, NEW, OLD).outcome == "written"

    assert world.files.text(NOTE) == NEW
    assert world.strays(), "what was displaced is kept until the journal knows of it"
    world.journal.full = False
    world.tend_until_quiet()
    check(TEMPLATES[0], world)


@pytest.mark.scenario("B39")
def test_a_write_waits_until_there_is_enough_space() -> None:
    world = begin(TEMPLATES[0])
    world.files.space = 10

    assert world.write(NOTE, NEW, OLD).reason == "no_space"

    assert world.files.text(NOTE) == OLD
    world.files.space = 1 << 30
    assert [done.outcome for done in world.writer.tend(world.now)] == ["written"]


@pytest.mark.scenario("B41")
def test_a_file_whose_sync_failed_is_never_synced_again() -> None:
    world = begin(TEMPLATES[0])
    trace = trace_of(TEMPLATES[0])
    failing = trace.index("fsync") + 1
    world.files.faults[failing] = errno.EIO

    assert world.write(NOTE, NEW, OLD).reason == "io_error"

    assert world.files.text(NOTE) == OLD
    assert world.strays() == []
    first = next(what for what in world.files.trace if what.startswith("create"))
    world.writer.tend(world.now)
    created = [what for what in world.files.trace if what.startswith("create")]
    assert len(set(created)) == 2
    assert first in created
    assert world.files.text(NOTE) == NEW


@pytest.mark.scenario("B43")
def test_a_lost_journal_loses_no_note_and_touches_no_file() -> None:
    world = begin(TEMPLATES[0])
    swapped = next(
        at for at, what in enumerate(trace_of(TEMPLATES[0]), 1) if what.startswith("exchange")
    )
    world.files.crash_at = swapped + 1
    with pytest.raises(Crash):
        write(world)
    before = world.strays()

    fresh = World(world.files.restarted())
    fresh.tend_until_quiet()

    assert fresh.files.text(NOTE) == NEW
    assert fresh.strays() == before
