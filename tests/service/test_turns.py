"""Sync, nights and embedding of a vault in turns that a pool of threads takes."""

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.service.background_turns import NightTurns, has_nights
from vault_memory.service.sync_turns import NEVER, SyncTurns

ROUNDS = 12
LONG_AGO = datetime(2026, 4, 6, 12, tzinfo=UTC)


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write("USER.md", "- green tea\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        memory.index()
        # A night begins only where something was said.
        memory.record_turn(session="s", role="user", user="mira", text="We row", now=LONG_AGO)
        yield memory


def taken_in_turn(turns: list[Callable[[], float]]) -> list[float]:
    """Takes the turns one after the other, each in another thread."""
    pools = [ThreadPoolExecutor(1) for _ in range(3)]
    try:
        return [
            pools[number % len(pools)].submit(turn).result() for number, turn in enumerate(turns)
        ]
    finally:
        for pool in pools:
            pool.shutdown()


def test_nights_run_in_turns_of_different_threads(outside: Outside, memory: VaultMemory):
    lines: list[str] = []
    fork = memory.fork()
    nights = NightTurns(fork, tell=lines.append)
    assert has_nights(memory.vault.config)
    assert nights._none_before is None

    pauses = taken_in_turn([nights.night_turn] * ROUNDS)
    assert all(0.0 <= pause <= 2.0 for pause in pauses)
    assert any("night of" in line for line in lines)

    nights._next_night = 0.0
    taken_in_turn([nights.night_turn] * 3)
    assert nights._none_before is not None
    assert nights._none_before > datetime.now(UTC)
    fork.close()


def test_an_idle_vault_wants_its_next_turn_when_its_night_begins(
    outside: Outside, memory: VaultMemory
):
    # The night must not begin during the test.
    hours_away = (datetime.now(UTC) + timedelta(hours=12)).hour
    outside.settings |= {
        "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
        "VAULT_MEMORY_SLEEP_CYCLE_CRON": f"0 {hours_away} * * *",
    }
    with VaultMemory.open(outside.vault, environment=outside.environment) as other:
        fork = other.fork()
        nights = NightTurns(fork)
        assert nights.idle_wait() <= 0.0, "nothing is known yet"
        nights.night_turn()
        assert nights.idle_wait() <= 60.0
        nights._next_night = 0.0
        nights.night_turn()
        night = nights._none_before
        assert night is not None
        until_night = (night - datetime.now(UTC)).total_seconds()
        assert abs(nights.idle_wait() - min(until_night, 3600.0)) < 5.0

        # A conversation that was not learned from is tried again earlier.
        nights._session_changes = None
        assert nights.idle_wait() <= 2.0
        fork.close()


def test_nights_closed_between_two_turns_go_on_in_the_next_ones(
    outside: Outside, memory: VaultMemory
):
    lines: list[str] = []
    for _ in range(2):
        fork = memory.fork()
        nights = NightTurns(fork, tell=lines.append)
        nights.night_turn()
        fork.close()
    assert lines, "no night ran"
    assert len(lines) == len(set(lines)), "a night ran twice"


def test_after_a_rest_a_new_person_gets_a_night(outside: Outside, memory: VaultMemory):
    lines: list[str] = []
    fork = memory.fork()
    nights = NightTurns(fork, tell=lines.append)
    nights.night_turn()
    nights._next_night = 0.0
    nights.night_turn()
    assert nights._none_before is not None
    nights.rest()

    memory.record_turn(session="s", role="user", user="ann", text="I moved to Lisbon", now=LONG_AGO)
    nights._next_night = 0.0
    nights.night_turn()
    assert any("user:ann" in line for line in lines)
    fork.close()


def test_without_a_remote_no_turn_of_sync_is_due(memory: VaultMemory):
    woken: list[str] = []
    sync = SyncTurns(memory.fork(), wake=functools.partial(woken.append, "woken"))
    assert not sync.has_remote
    assert taken_in_turn([sync.sync_turn] * 3) == [NEVER] * 3
    sync.note_vault_change()
    assert woken == [], "a save wakes nobody"
    sync.now()
    assert woken == ["woken"]
    assert sync.status() is None
    sync.close()


def test_a_server_that_is_away_costs_no_turn_its_thread(outside: Outside):
    outside.settings |= {"VAULT_MEMORY_REMOTE_URL": "http://127.0.0.1:9/dav/vault/"}
    outside.write("USER.md", "- green tea\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        memory.index()
        sync = SyncTurns(memory.fork())
        assert sync.has_remote
        pauses = taken_in_turn([sync.sync_turn] * 3)
        assert pauses[-1] > 0.0
        status = sync.status()
        assert status is not None
        assert status["state"] in ("waiting", "stopped")
        assert status["reason"]
        sync.stop()
        assert sync.sync_turn() == NEVER
        sync.close()
