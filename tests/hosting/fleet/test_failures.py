"""What fails in a fleet, and what people notice of it. Killed and paused hosts: `test_kills_in_store`."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tests.hosting.fleet.fleets import USER, Faults, Fleet, append
from vault_memory.hosting.fleet import due

NIGHTS = 100_000


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_a_hundred_thousand_nights_are_spread_over_an_hour() -> None:
    delays = [due.night_delay(str(UUID(int=number))) for number in range(NIGHTS)]
    assert timedelta(0) <= min(delays)
    assert max(delays) < due.NIGHTS
    minutes = Counter(int(delay.total_seconds() // 60) for delay in delays)
    assert len(minutes) == 60
    assert max(minutes.values()) < 1.2 * NIGHTS / 60


def test_what_was_acknowledged_while_its_note_was_locked_is_there_later(
    fleet: Fleet,
) -> None:
    faults = Faults()
    visit = fleet.visit("one", faults)
    visit.run(append("a", "- coffee", fleet.now))
    visit.flush(fleet.now)
    visit.run(append("b", "- milk", fleet.now))
    faults.locked = USER
    assert not visit.flush(fleet.now).is_complete
    visit.close()
    with fleet.visiting("two"):
        pass
    assert fleet.text().count("- milk") == 1
