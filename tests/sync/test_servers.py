"""Two vaults on real servers and the fake Nextcloud: a random person, bot, restarts and trouble, as in memory."""

from pathlib import Path

import pytest

from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.clouded import Others, connected, flaky
from tests.sync.devices import Clock
from tests.sync.world import World


def on_nextcloud(base: Path, seed: int, steps: int) -> World:
    """Of every two runs one is over a line that breaks anywhere; of every four one is on a server that gets killed."""
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    lines = [flaky(fake, seed * 2 + number, 0.08 if seed % 2 else 0.0) for number in range(2)]
    apps = iter([app for app, _ in lines])
    world = World(base, seed, lambda name: connected(fake, next(apps)), clock, trouble=0.0 if seed < 2 else 0.1)
    world.halves = seed % 2 == 1 or seed % 4 == 2
    others = Others(fake, world.ledger, halves=world.halves)
    world.run(steps, others if seed else lambda chance: None)
    for _, script in lines:
        script.clear()
    others.end()
    world.settle()
    world.check()
    return world


@pytest.mark.parametrize("seed", range(20))
def test_two_vaults_on_a_nextcloud_end_alike_and_lose_nothing(base: Path, seed: int):
    on_nextcloud(base, seed, 300)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20, 520))
def test_hundreds_of_runs_on_a_nextcloud_lose_nothing(base: Path, seed: int):
    on_nextcloud(base, seed, 300)
