"""Processes killed and paused beyond their leases, on real databases and SeaweedFS: what they acknowledged is there once."""

from pathlib import Path

import pytest

from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.store_fleet import StoreFleet
from tests.remote.servers.s3_stores import S3Store

ROUNDS = 8
ROUNDS_OF_SQLITE = 10
ALL_ROUNDS = 200
ROUNDS_OF_A_VAULT = 25
MOST_TRIES = 8


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> PostgresServer | None:
    """None: the ledger is a file of SQLite."""
    if request.param == "sqlite":
        return None
    server: PostgresServer = request.getfixturevalue("postgres")
    return server


def _play(fleet: StoreFleet, rounds: int) -> list[str]:
    try:
        fleet.play(rounds)
        fleet.settle()
        assert len(fleet.diary.acknowledged) > rounds
        assert fleet.ledger.counts().waiting == 0
        return fleet.damages()
    finally:
        fleet.close()


@pytest.mark.sampled
@pytest.mark.timeout(900)
def test_what_killed_and_paused_hosts_acknowledged_is_there_once(
    tmp_path: Path, database: PostgresServer | None, store: S3Store, seeds_from: int
) -> None:
    rounds = ROUNDS if database else ROUNDS_OF_SQLITE
    fleet = StoreFleet(tmp_path, database, store, seed=seeds_from)
    assert _play(fleet, rounds) == []


@pytest.mark.sampled
@pytest.mark.timeout(900)
def test_without_the_fence_the_same_faults_lose_something(
    tmp_path: Path, store: S3Store, seeds_from: int
) -> None:
    for attempt in range(MOST_TRIES):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        seed = seeds_from + attempt
        fleet = StoreFleet(folder, None, store, fenced=False, seed=seed)
        damages = _play(fleet, ROUNDS)
        if damages:
            return
    raise AssertionError("the faults are harmless, so the test above proves nothing")


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_two_hundred_faults_lose_nothing(
    tmp_path: Path, database: PostgresServer | None, store: S3Store, seeds_from: int
) -> None:
    acknowledged = 0
    for first in range(0, ALL_ROUNDS, ROUNDS_OF_A_VAULT):
        folder = tmp_path / str(first)
        folder.mkdir()
        fleet = StoreFleet(folder, database, store, vaults=2, seed=seeds_from + first)
        assert _play(fleet, ROUNDS_OF_A_VAULT) == []
        acknowledged += len(fleet.diary.acknowledged)
    assert acknowledged > 2 * ALL_ROUNDS
