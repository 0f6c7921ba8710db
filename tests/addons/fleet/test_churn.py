"""A fleet under churn loses no word, calls no stale answer fresh, and answers nothing as a bug."""

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.addons.fleet.churn import FAULTS, Churn
from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import OperatedFleet
from tests.in_memory import tmp_path as tmp_path
from tests.remote.servers.s3_stores import S3Store

PEOPLE = ("ann", "bo", "cleo")


def live_through(tmp_path: Path, store: S3Store, faults: list[str], seed: int) -> Churn:
    """A fleet of three hosts and three vaults that meets these faults."""
    if reason := servers.missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        postgres = PostgresServer(fsync=False)
        stack.callback(postgres.stop)
        fleet = OperatedFleet(tmp_path, postgres, store)
        assert fleet.ask("fleet", "init")["fleet"]
        tokens = {
            name: fleet.ask(*("fleet", "add", name, "--home", store.new_url(), "--user", name))[
                "token"
            ]
            for name in PEOPLE
        }
        churn = Churn(fleet, postgres, tokens, stack, seed)
        churn.run(faults)
        lost = churn.lost()
        diary = churn.diary
        print(
            f"seed {seed}: {len(faults)} faults, {len(diary.words)} words,"
            f" {diary.searches} searches, {diary.stale} stale, {dict(diary.statuses)}"
        )
        assert (lost, diary.wrong, diary.bugs) == ([], [], [])
    return churn


@pytest.mark.sampled
@pytest.mark.timeout(600)
def test_a_few_faults_lose_nothing_and_no_stale_answer_is_called_fresh(
    tmp_path: Path, store: S3Store, seeds_from: int
) -> None:
    chance = random.Random(seeds_from)
    faults = ["long stop", "kill", "postgres kill", "read-only"]
    chance.shuffle(faults)

    churn = live_through(tmp_path, store, faults, seeds_from)

    assert churn.diary.words
    assert churn.diary.searches


@pytest.mark.deep
@pytest.mark.timeout(7200)
def test_two_hundred_faults_lose_nothing_and_no_stale_answer_is_called_fresh(
    tmp_path: Path, store: S3Store, seeds_from: int
) -> None:
    chance = random.Random(seeds_from)
    faults = [chance.choice(FAULTS) for _ in range(200)]

    churn = live_through(tmp_path, store, faults, seeds_from)

    # How many there are depends on how busy the machine is.
    assert len(churn.diary.words) > len(faults) // 2
    assert churn.diary.searches > len(faults) // 2
