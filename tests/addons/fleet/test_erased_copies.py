"""A host was silent while a text was forgotten: its copy from before brings nothing back."""

import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.addons.fleet.fleets import START, USER, VAULT, Faults, Fleet, append
from vault_memory.addons.fleet import fleet_calls
from vault_memory.addons.fleet.ledger.contract import Holder
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.held_vault import HeldVault

SECRET = "mackerel allergy"


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture
def forgotten(fleet: Fleet) -> Fleet:
    """The copy of the host `one` has a text that the vault has forgotten since."""
    fleet.save(USER, START.replace("- tea", f"- tea\n- {SECRET}"))
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    with fleet.visiting("two") as visit, visit.changing() as memory:
        assert memory.forget(SECRET).matches
    fleet.ledger.ask_to_erase(VAULT)
    fleet.pass_by(60)
    return fleet


def _host(fleet: Fleet, faults: Faults | None = None) -> FleetHost:
    settings = fleet.settings("one", faults)
    return FleetHost(fleet.ledger, settings, HostName("one", "http://one"))


@pytest.mark.sampled
def test_a_request_before_the_copy_is_erased_brings_nothing_back(forgotten: Fleet) -> None:
    host = _host(forgotten)
    entry = host.acquire(VAULT)
    assert isinstance(entry, HeldVault)
    entry.visit.run(append("b", "- milk", forgotten.now))
    host.release(entry)
    host.close()

    with forgotten.visiting("three") as visit:
        assert visit.memory.forget(SECRET, dry_run=True).matches == 0
    assert "- milk" in forgotten.text()
    assert "one" in forgotten.ledger.scratches(VAULT)


@pytest.mark.sampled
def test_a_copy_is_not_erased_while_a_request_opens_the_vault(forgotten: Fleet) -> None:
    is_arriving, may_arrive = Event(), Event()
    faults = Faults()

    def wait() -> None:
        is_arriving.set()
        assert may_arrive.wait(120)

    faults.meanwhile[3] = wait
    host = _host(forgotten, faults)
    request = Thread(target=host.acquire, args=(VAULT,))
    request.start()
    assert is_arriving.wait(120)

    host._turn()
    may_arrive.set()
    request.join()
    host._pool.shutdown()

    (entry,) = host.entries()
    assert entry.visit.scratch.folder.exists()
    entry.visit.run(append("b", "- milk", forgotten.now))
    host.release(entry)
    host._give_back(VAULT)
    assert forgotten.text().count("- milk") == 1


class _Config:
    """What a command needs to know of the fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def visit_settings(self, folder: Path) -> Any:
        return self._fleet.settings(folder.name)


def test_a_command_keeps_its_vault_longer_than_a_lease_lasts(fleet: Fleet) -> None:
    ledger = LocalLedger(fleet.folder / "ledger.sqlite", lease_seconds=0.5)
    config: Any = _Config(fleet)
    with fleet_calls.visiting(config, ledger, "ann") as visit:
        ends = time.monotonic() + 4 * ledger.lease_seconds
        while time.monotonic() < ends:
            assert isinstance(fleet.ledger.take(VAULT, "one", "http://one"), Holder)
            time.sleep(0.05)
        visit.run(append("a", "- coffee", fleet.now))
    assert "- coffee" in fleet.text()
    ledger.close()
