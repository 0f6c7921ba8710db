"""A file that a write displaced is looked at while an editor may save into it, and not a moment longer."""

import errno
from collections.abc import Callable

import pytest

from tests.every import every
from tests.simulated.files import SimulatedFiles
from tests.vault.write.lines import note
from tests.vault.write.templates import NEW, NOTE, TEMPLATES, begin, write
from tests.vault.write.world import World
from vault_memory.vault.write.displaced import LAST_DELAY, LOOKS, UNPROVED


def with_open_editor() -> tuple[World, int]:
    """A world after a write to a note that an editor has open, and the file of the editor."""
    world = begin(TEMPLATES[0])
    editor = world.files.number_of(NOTE)
    world.files.others[editor] = 1
    write(world)
    assert len(world.writer.displaced()) == 1
    return world, editor


def delay(world: World) -> float:
    """Seconds until the next look."""
    [entry] = world.writer.displaced()
    return round(entry.next_look - world.files.clock, 3)


def look(world: World) -> None:
    """Lets the time of the next look come."""
    [entry] = world.writer.displaced()
    world.files.clock = entry.next_look + 0.001
    world.writer.tend(world.now)


@pytest.mark.scenario("A6")
def test_an_open_file_is_looked_at_more_and_more_rarely_and_goes_when_it_is_closed() -> None:
    world, editor = with_open_editor()

    delays = [delay(world)]
    for _ in range(6):
        look(world)
        delays.append(delay(world))

    assert delays == [LOOKS[0], *LOOKS, LAST_DELAY, LAST_DELAY]
    assert world.strays()
    world.files.others.pop(editor)
    look(world)
    assert (world.writer.displaced(), world.strays()) == ([], [])


@pytest.mark.scenario("A5")
def test_a_save_into_the_displaced_file_is_merged_and_makes_the_looks_frequent_again() -> None:
    world, editor = with_open_editor()
    for _ in range(6):
        look(world)

    world.files.person_writes(editor, note("a", "b", "late"))
    look(world)
    assert world.files.text(NOTE) == NEW, "it must stay the same before it is believed"
    look(world)

    assert world.files.text(NOTE) == note("a", "b", "late", "bot")
    look(world)
    assert delay(world) < LAST_DELAY
    world.files.others.pop(editor)
    world.tend_until_quiet()
    assert (world.writer.displaced(), world.strays()) == ([], [])


@pytest.mark.scenario("A6")
def test_where_nobody_says_who_has_it_open_it_is_watched_for_a_day() -> None:
    world = begin(TEMPLATES[0])
    world.files.leases = False
    write(world)
    since = world.files.clock

    world.files.clock = since + UNPROVED
    world.writer.tend(world.now)
    assert world.strays()
    world.files.clock = since + UNPROVED + LAST_DELAY
    world.writer.tend(world.now)
    assert (world.writer.displaced(), world.strays()) == ([], [])


@pytest.mark.scenario("A3")
@every("half", [b"", b"a\n", b"a\nb"])
def test_half_a_save_does_not_empty_the_note(half: bytes) -> None:
    world, editor = with_open_editor()
    world.files.person_writes(editor, half)
    for _ in range(4):
        look(world)
        assert world.files.text(NOTE) == NEW
    world.files.person_writes(editor, note("a", "b", "late"))
    for _ in range(9):
        look(world)

    assert world.files.text(NOTE) == note("a", "b", "late", "bot")


def fail(files: SimulatedFiles) -> None:
    raise OSError(errno.EIO, "the disk does not answer")


def is_away(world: World) -> None:
    world.files.meanwhile["open_folder memory"] = fail


def cannot_be_read(world: World) -> None:
    world.files.meanwhile["open .USER.md.~"] = fail


@pytest.mark.scenario("C57", "B40")
@every("trouble", [is_away, cannot_be_read])
def test_a_file_that_cannot_be_examined_now_is_looked_at_later(
    trouble: Callable[[World], None],
) -> None:
    world, editor = with_open_editor()
    world.files.person_writes(editor, note("a", "b", "late"))
    for _ in range(2):
        trouble(world)
        look(world)
        assert not world.files.meanwhile
        assert delay(world) > 0
    for _ in range(3):
        look(world)

    assert world.files.text(NOTE) == note("a", "b", "late", "bot")


def test_a_file_that_a_person_removed_is_forgotten() -> None:
    world, _ = with_open_editor()
    [stray] = world.strays()
    world.files.person_removes(f"memory/{stray}")

    look(world)

    assert world.writer.displaced() == []
    assert world.files.text(NOTE) == NEW
