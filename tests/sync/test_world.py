"""Two vaults on one server, a random person, a random bot, restarts, trouble: nothing is lost, all ends alike."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.effort import cases
from tests.remote.ram_remote import NEXTCLOUD, PLAIN, RamRemote, RamServer
from tests.sync.conftest import MEMORY
from tests.sync.devices import Clock
from tests.sync.world import World
from vault_memory.remote.contract import PutResult
from vault_memory.remote.remote_errors import RemoteError
from vault_memory.sync.apply.transfers import FileTransfers


def run(
    base: Path,
    seed: int,
    steps: int,
    server: RamServer,
    *,
    trouble: float = 0.0,
    cuts: bool = False,
    removals: bool = True,
    clock: Clock | None = None,
) -> World:
    clock = clock or Clock()
    server.clock = clock.seconds
    world = World(base, seed, lambda name: RamRemote(server), clock, trouble=trouble, cuts=cuts)
    if not removals:
        world.keep_all()
    world.run(steps)
    world.settle()
    world.check()
    return world


def any_run(base: Path, seed: int, steps: int = 300, *, clock: Clock | None = None) -> World:
    """Of every two runs one is on a server with the traits of Nextcloud, of every four one leaves halves of uploads."""
    server = RamServer(traits=NEXTCLOUD if seed % 2 else PLAIN)
    trouble, cuts, removals = 0.0 if seed < 2 else 0.12, seed % 4 > 1, seed % 5 > 0
    return run(
        base, seed, steps, server, trouble=trouble, cuts=cuts, removals=removals, clock=clock
    )


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [*range(cases(20)), 173, 193, 233, 285, 305, 481])
def test_two_vaults_on_one_server_converge_and_lose_nothing(base: Path, seed: int):
    any_run(base, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20, 520))
def test_hundreds_of_runs_lose_nothing(base: Path, seed: int):
    any_run(base, seed)


def caught(seeds: range, *, removals: bool = True) -> int | None:
    """In which run the oracle noticed something."""
    for number, seed in enumerate(seeds, 1):
        folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        try:
            run(folder, seed, 150, RamServer(traits=PLAIN), trouble=0.2, removals=removals)
        except AssertionError:
            return number
        finally:
            shutil.rmtree(folder)
    return None


def test_a_sync_without_preconditions_is_caught(monkeypatch: pytest.MonkeyPatch):
    put = RamRemote.put

    def overwrite(
        self: RamRemote, path: str, raw: bytes, *, expected: str | None, after: int = 0
    ) -> PutResult:
        try:
            expected = self.look(path).etag
        except RemoteError:
            expected = None
        return put(self, path, raw, expected=expected)

    monkeypatch.setattr(RamRemote, "put", overwrite)

    assert caught(range(100, 120)) is not None


def test_a_sync_where_the_last_writer_wins_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        FileTransfers, "_merged", lambda self, action, ours, fetched, now: fetched.raw
    )

    assert caught(range(200, 220)) is not None


def test_a_sync_that_trusts_a_single_listing_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("vault_memory.sync.engine.TWICE_SECONDS", -1.0)
    monkeypatch.setattr("vault_memory.sync.engine.MINUTE_SECONDS", -1.0)
    monkeypatch.setattr(
        "vault_memory.sync.apply.transfers.FileTransfers._is_there", lambda self, path: False
    )

    assert caught(range(300, 340), removals=False) is not None
