"""How many requests a pass makes on a bucket: one for a thousand keys, and one for each note that moves."""

from math import ceil
from pathlib import Path

import pytest

from tests.effort import only_full
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_proxy import S3Proxy
from tests.remote.servers.s3_stores import S3Store
from tests.sync.devices import Clock, Device
from vault_memory.addons.s3.s3_client import S3Place
from vault_memory.addons.s3.s3_remote import S3

FOLDERS = 5
PROBE = 13
"""Requests of the first pass on a home, to find out what the store can do"""
MARKER = 2
"""Requests that make a folder: a check that no note has its name, and an upload"""
SIZES = [50, pytest.param(1000, marks=only_full), pytest.param(2500, marks=only_full)]


def listing(notes: int) -> int:
    """Requests that list the notes, the folders and the home itself."""
    return ceil((notes + FOLDERS + 1) / 1000)


def requests_of_pass(device: Device) -> int:
    device.clock.pass_by(61)
    return device.run_pass().requests


def filled(base: Path, store: S3Store, url: str, notes: int) -> Device:
    device = Device(base, "laptop", store.open(url), Clock())
    for number in range(notes):
        device.save(f"f{number % FOLDERS}/{number}.md", f"- {number}\n")
    return device


def restarted(device: Device, remote: S3) -> Device:
    """The same device in a new process."""
    device.stop()
    device.remote.close()
    device.remote = remote
    device.start()
    return device


@pytest.mark.sampled
@pytest.mark.parametrize("notes", SIZES)
def test_each_note_takes_one_request_and_a_quiet_pass_one_for_a_thousand_keys(
    base: Path, store: S3Store, notes: int
) -> None:
    url = store.new_home()
    laptop = filled(base, store, url, notes)
    phone = Device(base, "phone", store.open(url), laptop.clock)

    first = requests_of_pass(laptop)
    laptop.settle()
    quiet = requests_of_pass(laptop)
    again = requests_of_pass(restarted(laptop, store.open(url)))
    cold = requests_of_pass(phone)

    assert first <= notes + MARKER * FOLDERS + PROBE
    assert quiet == again == listing(notes)
    assert cold <= notes + listing(notes) + PROBE
    assert len(phone.files()) == notes


@pytest.mark.sampled
def test_an_edit_takes_one_upload_and_one_download(base: Path, store: S3Store) -> None:
    url = store.new_home()
    laptop = filled(base, store, url, 20)
    phone = Device(base, "phone", store.open(url), laptop.clock)
    laptop.settle((phone,))
    laptop.save("f1/1.md", "- edited\n")

    sent = requests_of_pass(laptop)
    received = requests_of_pass(phone)

    assert (sent, received) == (2, 2)
    assert phone.text("f1/1.md") == "- edited\n"


@pytest.mark.sampled
def test_a_restarted_device_neither_probes_nor_checks_single_notes(
    base: Path, store: S3Store
) -> None:
    url = store.new_home()
    laptop = filled(base, store, url, 20)
    laptop.settle()
    with S3Proxy(store.endpoint) as proxy:
        place = S3Place(proxy.url, "us-east-1")
        laptop = restarted(laptop, S3(url, s3_stores.ACCOUNT, place))
        laptop.sync.state.set_meta("identity", None)
        laptop.save("f1/new.md", "- new\n")

        laptop.settle()

        methods = [seen.method for seen in proxy.log]
    assert "HEAD" not in methods
    assert methods.count("PUT") == 1
    assert "DELETE" not in methods
