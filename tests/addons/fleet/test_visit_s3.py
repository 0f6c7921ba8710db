"""A visit of a home in a real store: the same vault on each host, with few requests."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.addons.fleet.fleets import START, USER, append, turn
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_stores import S3Store
from vault_memory.addons.fleet import bundle_store
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.visit import Visit
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.config.sections import RemoteSettings
from vault_memory.remote.contract import Capabilities, Remote

NOTES = 40


class S3Fleet:
    """Hosts with one ledger, and a vault whose home is in a store."""

    def __init__(self, store: S3Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.home = store.new_home(versions=True)
        self.person = store.open(self.home)
        self.person.put(USER, START.encode(), expected=None)
        for number in range(NOTES):
            path = f"memory/note-{number}.md"
            self.person.put(path, b"# Note\n\n- item\n", expected=None)
        self.ledger = LocalLedger(folder / "ledger.sqlite", create=True, lease_seconds=0.001)
        self.vault = str(uuid4())
        self.ledger.add(self.vault, "ann", self.home)
        self.capabilities: dict[str, Capabilities] = {}

    def visit(self, host: str) -> Visit:
        def open_remote(settings: RemoteSettings, password: str) -> Remote:
            return self.store.open(settings.url)

        settings = VisitSettings(
            scratch=self.folder / host,
            remote=RemoteSettings(),
            environment={"VAULT_MEMORY_CACHE": str(self.folder / "cache")},
            open_remote=open_remote,
            capabilities=self.capabilities,
        )
        taken: Any = None
        while not isinstance(taken, Lease):
            taken = self.ledger.take(self.vault, host, f"http://{host}")
        return Visit.open(taken, self.ledger, settings)

    def text(self) -> str:
        return self.person.get(USER, max_bytes=1 << 20).raw.decode()


@pytest.fixture(params=s3_stores.NAMES)
def fleet(
    request: pytest.FixtureRequest, s3_store_named: Callable[[str], S3Store], tmp_path: Path
) -> S3Fleet:
    return S3Fleet(s3_store_named(request.param), tmp_path)


@pytest.mark.sampled
def test_a_vault_in_a_store_goes_from_host_to_host(fleet: S3Fleet) -> None:
    now = datetime.now(UTC)
    visit = fleet.visit("one")
    visit.run(append("a", "- coffee", now))
    visit.run(turn("b", "I like coffee", now))
    visit.leave()
    visit = fleet.visit("two")
    assert visit.memory.search("coffee", scopes=["user:ann"]).hits
    assert len(visit.memory.log(USER)) == 1
    visit.run(append("c", "- milk", now))
    visit.leave()
    assert fleet.text().count("- coffee") == 1
    assert fleet.text().count("- milk") == 1


@pytest.mark.sampled
def test_a_visit_of_an_unchanged_home_is_one_request(fleet: S3Fleet) -> None:
    visit = fleet.visit("one")
    visit.run(append("a", "- coffee", datetime.now(UTC)))
    visit.leave()
    # A tag that is younger than two seconds is looked at twice.
    time.sleep(2.5)
    visit = fleet.visit("two")
    cold = visit.requests
    visit.leave()
    fleet.visit("two").leave()
    visit = fleet.visit("two")
    visit.leave()
    assert visit.requests == 1
    assert cold <= 1.1 * (NOTES + 2) + 2


@pytest.mark.sampled
def test_a_paused_host_overwrites_nothing_in_a_store(fleet: S3Fleet) -> None:
    now = datetime.now(UTC)
    paused = fleet.visit("one")
    paused.run(append("a", "- coffee", now))
    visit = fleet.visit("two")
    visit.run(append("b", "- milk", now))
    visit.leave()
    with pytest.raises(LeaseLost):
        paused.flush()
    assert fleet.text().count("- coffee") == 1
    assert fleet.text().count("- milk") == 1


@pytest.mark.sampled
def test_a_store_lists_the_versions_of_a_bundle(fleet: S3Fleet) -> None:
    for op_id, line in (("a", "- coffee"), ("b", "- milk")):
        visit = fleet.visit("one")
        visit.run(append(op_id, line, datetime.now(UTC)))
        visit.leave()
    fleet.person.probe()
    store = bundle_store.BundleStore(fleet.person, visit.bundles.owner, visit.lease)
    versions = list(store.earlier_versions())
    assert len(versions) >= 2
    assert all(store.read_version(raw) for _, raw in versions)
