"""Two vaults on real servers and the fake Nextcloud: a random person, bot, restarts and trouble, as in memory."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import cases
from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.servers.real import Server
from tests.sync.clouded import Others, connected, flaky
from tests.sync.devices import Clock, Device
from tests.sync.world import World
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.webdav import WebDav

REAL = ("apache-digest", "lighttpd", "sabre", "wsgidav")
TAGS_AGE = 0.7
"""Seconds between the last passes: a tag is relied on when it is two seconds old"""


def run_on_nextcloud(base: Path, seed: int, steps: int) -> World:
    """Of every two runs one is over a line that breaks anywhere; of every four one is on a server that gets killed."""
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    lines = [flaky(fake, seed * 2 + number, 0.08 if seed % 2 else 0.0) for number in range(2)]
    apps = iter([app for app, _ in lines])
    world = World(
        base,
        seed,
        lambda name: connected(fake, next(apps)),
        clock,
        trouble=0.0 if seed < 2 else 0.1,
    )
    world.halves = seed % 2 == 1 or seed % 4 == 2
    others = Others(fake, world.ledger, halves=world.halves)
    world.run(steps, others if seed else lambda chance: None)
    for _, script in lines:
        script.clear()
    others.end()
    world.settle()
    world.check()
    return world


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(cases(20)))
def test_two_vaults_on_a_nextcloud_converge_and_lose_nothing(base: Path, seed: int):
    run_on_nextcloud(base, seed, 300)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20, 520))
def test_hundreds_of_runs_on_a_nextcloud_lose_nothing(base: Path, seed: int):
    run_on_nextcloud(base, seed, 300)


def over_http(
    base: Path, seed: int, steps: int, connect: Callable[[str], WebDav], halves: bool
) -> World:
    world = World(base, seed, connect, Clock(), trouble=0.1)
    world.halves = halves
    world.rest = lambda: time.sleep(TAGS_AGE)
    world.run(steps)
    world.settle()
    world.check()
    return world


def assert_idle(device: Device) -> None:
    """Once tags are old enough and no upload is left to check, a pass makes the fewest requests."""
    folders = sum(path.is_dir() for path in device.vault.rglob("*"))
    at_once = device.remote.traits.infinity or device.remote.traits.recursive_etags
    fewest = 1 if at_once else 1 + folders
    for _ in range(10):
        time.sleep(TAGS_AGE)
        device.clock.pass_by(15)
        # An upload whose time is ahead of the server's clock is checked once more later.
        requests = device.run_pass().requests
        if requests == fewest and not device.sync.state.racy():
            break
    device.clock.pass_by(15)
    assert device.run_pass().requests == fewest


def run_on_server(base: Path, server: Server, seed: int, steps: int) -> None:
    url = server.make_folder(f"world{seed}-{base.name}")
    account = Account(server.user, server.password)
    world = over_http(
        base, seed, steps, lambda name: WebDav(url, account), server.name == "wsgidav"
    )
    for device in world.devices:
        assert_idle(device)
    left = [
        path.name
        for path in server.root_dir.glob(f"world{seed}-{base.name}/**/*")
        if "probe" in path.name
    ]
    assert not left


@pytest.mark.sampled
@pytest.mark.parametrize("name", REAL)
def test_two_vaults_on_a_real_server_converge_and_lose_nothing(
    base: Path, name: str, server_named: Callable[[str], Server]
):
    run_on_server(base, server_named(name), 7, 40)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", REAL)
def test_more_runs_on_real_servers_lose_nothing(
    base: Path, name: str, seed: int, server_named: Callable[[str], Server]
):
    run_on_server(base, server_named(name), seed, 300)


def run_over_tcp(base: Path, seed: int, steps: int) -> None:
    fake = FakeNextcloud()
    with Front(fake) as front:
        account = Account(fake.user, fake.app_password)
        world = over_http(
            base,
            seed,
            steps,
            lambda name: Nextcloud(front.url + fake.dav_path, account),
            halves=False,
        )
        for device in world.devices:
            assert_idle(device)
            device.remote.close()


def test_two_vaults_on_a_nextcloud_over_tcp_converge_and_lose_nothing(base: Path):
    run_over_tcp(base, 7, 40)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_more_runs_on_a_nextcloud_over_tcp_lose_nothing(base: Path, seed: int):
    run_over_tcp(base, seed, 300)
