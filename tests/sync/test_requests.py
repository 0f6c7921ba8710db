"""How many requests a pass makes: one when nothing happened, a handful for an edit, one a note for the first upload."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.remote.ram_remote import PLAIN, RamRemote, RamServer
from tests.remote.servers import real
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.clouded import connected
from tests.sync.devices import Clock, Device
from vault_memory.remote.contract import Capabilities
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.webdav import WebDav

NOTES = {
    f"{folder}{number}.md": f"- {folder} {number}\n"
    for folder in ("", "a/", "a/b/")
    for number in range(3)
}
LEVELS = replace(PLAIN, infinity=False)
"""As most servers: a listing is of one folder"""


class LevelsOnly(RamRemote):
    """Lists one folder in one request, also when asked for all."""

    def list(self, folder: str = "", *, deep: bool = False):  # type: ignore[no-untyped-def]
        assert not deep
        return super().list(folder)


def on_ram(base: Path, traits: Capabilities) -> Device:
    clock = Clock()
    server = RamServer(traits=traits, clock=clock.seconds)
    return Device(
        base, "laptop", RamRemote(server) if traits.infinity else LevelsOnly(server), clock
    )


def on_nextcloud(base: Path) -> Device:
    clock = Clock()
    return Device(base, "laptop", connected(FakeNextcloud(clock=clock.seconds)), clock)


PLACES: dict[str, Callable[[Path], Device]] = {
    "nextcloud": on_nextcloud,
    "infinity": lambda base: on_ram(base, PLAIN),
    "levels": lambda base: on_ram(base, LEVELS),
}
IDLE = {"nextcloud": 1, "infinity": 1, "levels": 3}
"""Of the last one: the folder itself, and two in it"""


@pytest.fixture(params=list(PLACES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def device(base: Path, kind: str) -> Device:
    """In step, and nothing in doubt."""
    device = PLACES[kind](base)
    for path, text in NOTES.items():
        device.save(path, text)
    settle(device)
    return device


def settle(device: Device) -> None:
    device.settle()
    device.clock.pass_by(15)
    device.run_pass()
    device.clock.pass_by(15)


def requests_of_pass(device: Device, **how: bool) -> int:
    device.clock.pass_by(15)
    return device.run_pass(**how).requests


def test_an_idle_pass_makes_one_request_or_one_per_folder(device: Device, kind: str):
    assert requests_of_pass(device) == IDLE[kind]
    assert requests_of_pass(device) == IDLE[kind]


@pytest.mark.parametrize(("size", "most"), [(100, 4), (20_000, 6)])
def test_an_edited_note_and_its_verification_stay_within_the_request_limit(
    device: Device, kind: str, size: int, most: int
):
    device.save("a/0.md", "- text\n" * (size // 7))
    settle(device)
    device.save("a/0.md", "- text\n" * (size // 7) + "- more\n")

    first = device.run_pass(ask=False).requests
    second = requests_of_pass(device)

    assert first + second <= most + IDLE[kind] - 1
    assert requests_of_pass(device) == IDLE[kind]


def test_an_edit_on_the_server_costs_a_check_a_listing_and_a_download(device: Device, kind: str):
    other = other_device(device)
    other.sync.run_pass(other.clock.now)
    settle(other)
    other.save("a/b/0.md", "- text\n")
    other.run_pass()
    settle(other)

    report = device.run_pass()

    assert report.downloaded == 1
    assert report.requests <= IDLE[kind] + (2 if kind == "nextcloud" else 1)
    assert requests_of_pass(device) == IDLE[kind]


def other_device(device: Device) -> Device:
    """Another device on the same server."""
    remote = device.remote
    base = device.vault.parent.parent
    if isinstance(remote, RamRemote):
        return Device(base, "phone", type(remote)(remote.server), device.clock)
    assert isinstance(remote, Nextcloud)
    adapter = remote._transport._adapter
    assert isinstance(adapter, DirectAdapter)
    assert isinstance(adapter.app, FakeNextcloud)
    return Device(base, "phone", connected(adapter.app), device.clock)


def test_without_deep_listings_an_edit_costs_two_requests_plus_its_depth(base: Path):
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    device = Device(base, "laptop", connected(fake), clock)
    for path, text in NOTES.items():
        device.save(path, text)
    settle(device)
    device.remote.traits = replace(device.remote.traits, infinity=False)
    fake.other_client_put("a/b/0.md", b"- text\n")
    clock.pass_by(15)

    report = device.run_pass()

    assert report.downloaded == 1
    assert report.requests <= 2 + 3


@pytest.mark.sampled
def test_uploading_a_thousand_notes_takes_one_request_each_over_few_connections(base: Path):
    fake = FakeNextcloud()
    addresses = set()

    class Seen:
        def handle(self, method, path, headers, body=b"", *, address="127.0.0.1"):  # type: ignore[no-untyped-def]
            addresses.add(threading.get_ident())
            return fake.handle(method, path, headers, body, address=address)

    with Front(Seen()) as front:
        remote = Nextcloud(front.url + fake.dav_path, Account(fake.user, fake.app_password))
        device = Device(base, "laptop", remote, Clock())
        for number in range(1000):
            device.save(f"{number % 20}/{number}.md", f"- {number}\n" * 80)
        report = device.run_pass()
        remote.close()

    assert report.uploaded == 1000
    assert report.requests <= 1100
    assert len(addresses) <= 8
    assert len(fake.files()) == 1000


@pytest.mark.sampled
@pytest.mark.parametrize("kind", real.HONEST)
@pytest.mark.parametrize("change", ["none", "edit", "rename", "delete"])
def test_a_time_in_the_future_costs_nothing_on_later_passes(
    base: Path, kind: str, change: str, request: pytest.FixtureRequest
):
    server: real.Server = request.getfixturevalue("server_named")(kind)
    name = f"future-{base.name}"
    account = Account(server.user, server.password)
    remote = WebDav(server.make_folder(name), account, sleep=lambda seconds: None)
    device = Device(base, "laptop", remote, Clock())
    for path, text in NOTES.items():
        device.save(path, text)
    settle(device)
    idle = min(requests_of_pass(device) for _ in range(3))
    file = server.root_dir / name / "a" / "future.md"
    file.write_text("- from the future\n")
    owner, later = server.root_dir.stat(), device.clock.seconds() + 30 * 24 * 3600
    os.chown(file, owner.st_uid, owner.st_gid)
    os.utime(file, (later, later))
    settle(device)
    here = device.vault / "a/future.md"
    match change:
        case "edit":
            device.save("a/future.md", "- from the future\n- and of today\n")
        case "rename":
            here.rename(device.vault / "a/renamed.md")
        case "delete":
            here.unlink()
    device.settle()
    settle(device)

    assert min(requests_of_pass(device) for _ in range(3)) == idle
    listed = {entry.path for entry in remote.list("a").entries if not entry.is_folder}
    assert listed == {path for path in device.files() if path.count("/") == 1}
    if file.exists():
        assert file.read_text() == device.text("a/future.md")
    remote.close()
