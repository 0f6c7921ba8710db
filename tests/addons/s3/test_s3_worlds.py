"""Two vaults on one bucket: a random person, bot, restarts and trouble, as on servers of WebDAV."""

from pathlib import Path

import pytest

from tests.effort import cases
from tests.remote.servers.s3_stores import S3Store
from tests.sync.devices import Clock, Device
from tests.sync.world import World

STEPS = 60


def run(base: Path, store: S3Store, seed: int, steps: int = STEPS) -> None:
    """Of every two runs one keeps all files: then no device may delete any."""
    url = store.new_home()
    trouble = 0.12 if seed else 0.0
    world = World(base, seed, lambda name: store.open(url), Clock(), trouble=trouble)
    if seed % 2:
        world.keep_all()
    world.run(steps)
    world.settle()
    world.check()
    for device in world.devices:
        assert_idle(device)
        device.stop()
        device.remote.close()
    assert_tidy(store, url)


def assert_idle(device: Device) -> None:
    """A pass makes one request once no upload is left to check."""
    for _ in range(10):
        device.clock.pass_by(15)
        if device.run_pass().requests == 1 and not device.sync.state.racy():
            break
    device.clock.pass_by(15)
    assert device.run_pass().requests == 1


def assert_tidy(store: S3Store, url: str) -> None:
    """Neither a probe nor an upload has left a scratch key."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    listed = store.boto().list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")
    keys = [item["Key"] for item in listed["Contents"]]
    assert not [key for key in keys if key.endswith(".tmp")]


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(cases(8)))
def test_two_vaults_on_a_bucket_converge_and_lose_nothing(
    base: Path, store: S3Store, seed: int
) -> None:
    run(base, store, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(8, 100))
def test_a_hundred_runs_on_a_bucket_lose_nothing(base: Path, store: S3Store, seed: int) -> None:
    run(base, store, seed, 100)
