"""The clock leaps, or the computer sleeps, in the middle of a write: it decides nothing, and no name goes astray."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.every import every
from tests.simulated.files import SimulatedFiles
from tests.vault.write.lines import note
from tests.vault.write.templates import NEW, NOTE, OLD, TEMPLATES, begin, write
from tests.vault.write.test_meanwhile import calls
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

DAY = 86400.0
LEAPS = {
    "3 days ahead": 3 * DAY,
    "10 years ahead": 3650 * DAY,
    "a year back": -365 * DAY,
    "an hour back": -3600.0,
}


def leap(files: SimulatedFiles, seconds: float, *, saves: bool) -> Iterator[None]:
    files.clock += seconds
    if saves:
        files.person_saves(NOTE, (files.text(NOTE) or OLD) + b"ann\n")
    yield


@pytest.mark.scenario("B50", "B51")
@every("seconds", LEAPS.values(), ids=LEAPS)
@every("saves", [False, True], ids=["no save", "with a save"])
def test_a_clock_jump_at_any_system_call_of_a_write_changes_nothing(
    seconds: float, saves: bool
) -> None:
    for at in range(1, calls(write) + 1):
        world = begin(TEMPLATES[0])
        world.files.every = (at, 10**6, leap(world.files, seconds, saves=saves))

        write(world)
        world.tend_until_quiet()

        assert sorted((world.files.text(NOTE) or b"").split()) == sorted(
            [*NEW.split(), *([b"ann"] if saves else [])]
        )
        assert world.strays() == []
        assert world.writer.pending() == []


@pytest.mark.scenario("B50")
@every("seconds", LEAPS.values(), ids=LEAPS)
def test_a_save_into_a_displaced_file_is_found_despite_a_clock_jump(seconds: float) -> None:
    world = begin(TEMPLATES[0])
    files = world.files
    held = files.number_of(NOTE)
    files.others[held] = 1
    write(world)
    world.later(seconds)
    files.person_writes(held, note("a", "b", "late"))

    for _ in range(6):
        world.later(5)
        if world.writer.is_due(world.now.timestamp()):
            world.writer.tend(world.now)

    assert sorted((files.text(NOTE) or b"").split()) == [b"a", b"b", b"bot", b"late"]


@pytest.mark.scenario("B50")
def test_a_waiting_op_is_done_although_the_clock_was_set_back(root: Path, writer: Writer) -> None:
    (root / ".USER.md.swp").write_bytes(b"of an editor that crashed")
    now = datetime.now(UTC) + timedelta(hours=1)
    new = Replacement("USER.md", b"bot\n", expected=None, op_id="op", quiet=0.0)
    pending = writer.write(new, now=now, merge=lambda base, ours, theirs: theirs + ours)
    assert pending.reason == "in_editor"

    writer.tend(now - timedelta(days=365))

    assert writer.pending() == []


@pytest.mark.scenario("G114")
def test_a_write_across_midnight_and_time_zones_has_the_date_of_its_start(
    root: Path, writer: Writer
) -> None:
    home, away = timezone(timedelta(hours=1)), timezone(timedelta(hours=-9))
    asked = datetime(2036, 11, 21, 23, 59, 59, tzinfo=home)
    (root / "memory").mkdir()
    (root / "memory/2036-11-21.md").write_bytes(b"CONFLICT\n")
    (root / "memory/2036-11-21.md").chmod(0o444)
    new = Replacement("memory/2036-11-21.md", b"ours\n", expected=None, op_id="op", record=b"x")
    done = writer.write(new, now=asked)
    assert done.outcome == "pending"
    (root / "memory/2036-11-21.md").chmod(0o644)

    writer.tend((asked + timedelta(minutes=2)).astimezone(away))

    names = sorted(path.name for path in (root / "memory").iterdir())
    assert names == ["2036-11-21 (memory copy 2036-11-21 235959 bot).md", "2036-11-21.md"]
    assert (root / "memory" / names[0]).read_bytes() == b"ours\n"
