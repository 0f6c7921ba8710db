"""What fails in a fleet, and what people notice of it. Killed and paused hosts: `test_kills_in_store`."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tests.hosting.fleet.fleets import Fleet, append
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


def test_a_vault_in_use_at_the_planned_moment_still_has_its_night(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
        vault, memory = visit.lease.vault, visit.memory
        cycle = memory.vault.config.sleep_cycle._replace(enabled=True)
        memory.vault.config = memory.vault.config._replace(sleep_cycle=cycle)
        planned = memory.learning.next_night(fleet.now)
        delay = due.night_delay(vault)
        assert delay > timedelta(minutes=2)
        for moment in (planned - due.MINUTE, planned + due.MINUTE):
            night = due.next_visit(memory, moment, vault=vault, is_waiting=False)
            assert night.reason == "night"
            assert night.moment == planned + delay
