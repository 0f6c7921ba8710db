"""Two vaults on one server, edited by a random person and a random bot, with restarts: nothing is lost, all ends alike."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.devices import Clock
from tests.sync.world import World
from vault_memory.remote import RamRemote, RamServer
from vault_memory.remote.ram import NEXTCLOUD, PLAIN

MEMORY = Path("/dev/shm")
"""Where files cost no disk: a test of thousands of passes is about their order, not about the disk"""


@pytest.fixture
def base() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


def run(base: Path, seed: int, steps: int, server: RamServer, trouble: float = 0.0) -> World:
    clock = Clock()
    server.clock = clock.seconds
    world = World(base, seed, lambda name: RamRemote(server), clock, trouble=trouble)
    world.run(steps)
    world.settle()
    world.check()
    return world


@pytest.mark.parametrize("seed", range(20))
def test_two_vaults_on_one_server_end_alike_and_lose_nothing(base: Path, seed: int):
    run(base, seed, 300, RamServer(traits=NEXTCLOUD if seed % 2 else PLAIN), trouble=0.0 if seed < 4 else 0.12)
