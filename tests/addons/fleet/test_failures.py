"""What fails in a fleet, and what people notice of it. Killed and paused hosts: `test_kills_in_store`."""

import asyncio
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.addons.fleet.fleets import (
    HOME,
    START,
    USER,
    VAULT,
    Faults,
    FaultyRemote,
    Fleet,
    append,
    remember,
    turn,
)
from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.store_fleet import StoreFleet
from tests.remote.ram_remote import PLAIN, RamRemote, RamServer
from tests.remote.servers.s3_stores import S3Store
from vault_memory.addons.fleet import bundle
from vault_memory.addons.fleet.fleet_errors import HostFull
from vault_memory.addons.fleet.ledger.contract import Holder, Lease, LedgerCaller
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerAway
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.serving import forwarding
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.fleet_server import warn_of_address
from vault_memory.addons.fleet.serving.fleet_service import (
    HELD,
    MOST_LOOKUPS,
    HeldVaults,
    LedgerTokens,
)
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.api import vault_service as api
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.config.sections import RemoteSettings
from vault_memory.http.tokens import TokenOwner, token_digest
from vault_memory.remote.contract import Remote
from vault_memory.remote.remote_errors import RemoteBusy
from vault_memory.rules.paths.scopes import Caller
from vault_memory.service import background_turns

NIGHTS = 100_000
BO = str(UUID(int=0xB0))


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.mark.sampled
def test_a_hundred_thousand_nights_are_spread_over_an_hour() -> None:
    delays = [background_turns.night_delay(str(UUID(int=number))) for number in range(NIGHTS)]
    assert timedelta(0) <= min(delays)
    assert max(delays) < background_turns.NIGHTS
    minutes = Counter(int(delay.total_seconds() // 60) for delay in delays)
    assert len(minutes) == 60
    assert max(minutes.values()) < 1.2 * NIGHTS / 60


def test_what_was_acknowledged_while_its_note_was_locked_is_there_later(fleet: Fleet) -> None:
    faults = Faults()
    visit = fleet.visit("one", faults)
    visit.run(append("a", "- coffee", fleet.now))
    visit.flush(fleet.now)
    visit.run(append("b", "- milk", fleet.now))
    faults.locked = USER
    assert not visit.flush(fleet.now).is_complete
    visit.close()
    with fleet.visiting("two"):
        pass
    assert fleet.text().count("- milk") == 1


def test_what_was_acknowledged_waits_while_its_note_is_no_text(fleet: Fleet) -> None:
    killed = fleet.visit("one")
    killed.run(remember("a", "I like cocoa", fleet.now))
    killed.run(turn("b", "words of ann", fleet.now))
    killed.close()
    note = fleet.person.look(USER)
    fleet.person.put(USER, START.encode("utf-16"), expected=note.etag)
    for name in ("two", "three"):
        fleet.pass_by(200)
        with fleet.visiting(name):
            pass
    row = fleet.ledger.vault(VAULT)
    assert row.waiting
    assert "refuses" in row.trouble

    fleet.save(USER, START)
    fleet.pass_by(200)
    with fleet.visiting("two"):
        pass

    assert fleet.text().count("I like cocoa") == 1
    assert "".join(fleet.notes().values()).count("words of ann") == 1
    assert fleet.ledger.vault(VAULT).waiting == 0


def test_while_the_home_is_away_reads_go_on_and_writes_are_kept(fleet: Fleet) -> None:
    faults = Faults()
    visit = fleet.visit("one", faults)
    faults.away = True
    visit.run(append("a", "- coffee", fleet.now))
    found = visit.memory.search("coffee", scopes=["user:ann"])
    assert {hit.note for hit in found.hits} == {USER}
    with pytest.raises(RemoteBusy):
        visit.flush(fleet.now)
    found = visit.memory.search("coffee", scopes=["user:ann"])
    assert USER in found.freshness.stale_files
    assert {hit.note for hit in found.hits} == {USER}
    with pytest.raises(RemoteBusy):
        visit.leave(fleet.now)
    assert "- coffee" not in fleet.text()
    with fleet.visiting("two"):
        pass
    assert fleet.text().count("- coffee") == 1


def test_notes_are_stale_until_the_home_answers_again(fleet: Fleet) -> None:
    faults = Faults()
    visit = fleet.visit("one", faults)
    faults.away = True
    with pytest.raises(RemoteBusy):
        visit.flush(fleet.now, follow=True)
    stale = visit.memory.search("tea", scopes=["user:ann"]).freshness.stale_files
    assert USER in stale

    faults.away = False
    fleet.save(USER, fleet.text() + "- saffron\n")
    visit.flush(fleet.now, follow=True)

    found = visit.memory.search("saffron", scopes=["user:ann"])
    assert not found.freshness.stale_files
    assert {hit.note for hit in found.hits} == {USER}
    visit.leave(fleet.now)


@pytest.mark.sampled
def test_while_the_database_is_away_reads_go_on_and_no_write_is_acknowledged(
    tmp_path: Path, store: S3Store
) -> None:
    if reason := servers.missing():
        pytest.skip(reason)
    postgres = PostgresServer()
    try:
        fleet = StoreFleet(tmp_path, postgres, store)
        (vault,) = fleet.homes
        visit = fleet.visit(vault, "one")
        now = datetime.now(UTC)
        visit.run(append("a", "- word-a- coffee", now))
        postgres.kill()
        found = visit.memory.search("coffee", scopes=["user:ann"])
        assert {hit.note for hit in found.hits} == {USER}
        lost_answer = append("b", "- word-b- milk", now)
        with pytest.raises(LedgerAway):
            visit.run(lost_answer)
        with pytest.raises(LedgerAway):
            visit.flush()
        with pytest.raises(LedgerAway):
            fleet.ledger.take(vault, "two", "")
        assert "word-" not in fleet.notes(vault)[USER]
        postgres.start()
        visit.run(lost_answer, again=True)
        visit.leave()
        text = fleet.notes(vault)[USER]
        assert [text.count(word) for word in ("word-a-", "word-b-")] == [1, 1]
        assert fleet.damages() == []
        fleet.close()
    finally:
        postgres.stop()


def test_two_hosts_with_one_address_are_warned(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.ledger.take(VAULT, "west", "http://127.0.0.1:8377")
    warn_of_address(fleet.ledger, HostName("west", "http://127.0.0.1:8377"))
    warn_of_address(fleet.ledger, HostName("east", "http://127.0.0.1:8378"))
    assert caplog.messages == []

    warn_of_address(fleet.ledger, HostName("east", "http://127.0.0.1:8377"))

    assert ["west has the address" in text for text in caplog.messages] == [True]


def test_a_poisoned_vault_is_tried_ever_more_seldom_and_the_others_go_on(fleet: Fleet) -> None:
    poisoned = str(UUID(int=13))
    fleet.ledger.add(poisoned, "poisoned", f"{HOME}13")
    plain = fleet.settings("one")

    def open_remote(remote: RemoteSettings, password: str) -> Remote:
        if remote.url.endswith("13"):
            return FaultyRemote(fleet.server, Faults(away=True))
        return plain.open_remote(remote, password)

    settings = replace(plain, open_remote=open_remote)
    host = FleetHost(fleet.ledger, settings, HostName("one", "http://one"))
    waits = []
    for tries in range(1, 4):
        with pytest.raises(VaultUnavailable):
            host.acquire(poisoned)
        row = fleet.ledger.vault(poisoned)
        assert row.tries == tries
        assert row.trouble == "remote_busy"
        assert row.holder is None
        waits.append(row.due - datetime.now(UTC))

    assert [round(wait.total_seconds(), -1) for wait in waits] == [30, 60, 120]
    assert poisoned not in {lease.vault for lease in fleet.ledger.claim("two", "", 9)}
    fleet.expire()
    entry = host.acquire(VAULT)
    assert isinstance(entry, HeldVault)
    host.release(entry)
    host.close()


def test_a_vault_that_was_lost_and_taken_again_is_not_forgotten(fleet: Fleet) -> None:
    host = FleetHost(fleet.ledger, fleet.settings("one"), HostName("one", "http://one"))
    lost = host.acquire(VAULT)
    assert isinstance(lost, HeldVault)
    host.release(lost)
    lost.visit.lost = True
    fleet.expire()
    held = host.acquire(VAULT)
    assert isinstance(held, HeldVault)
    host.release(held)

    # The turn of the host began with the entry that was lost.
    host._tend(VAULT, lost)

    assert host.vaults() == [VAULT]
    host.close()
    assert fleet.ledger.vault(VAULT).holder is None


def test_a_vault_that_is_lost_after_it_was_acquired_is_asked_for_again(fleet: Fleet) -> None:
    host = FleetHost(fleet.ledger, fleet.settings("one"), HostName("one", "http://one"))
    held = host.acquire(VAULT)
    assert isinstance(held, HeldVault)
    held.visit.lost = True

    async def use() -> None:
        state: Any = {HELD: held, api.VAULT: VAULT}
        async with HeldVaults().vault(state):
            raise AssertionError

    with pytest.raises(VaultUnavailable):
        asyncio.run(use())
    host.release(held)
    held.visit.lost = False
    host.close()


def test_reads_end_with_the_lease_while_the_database_is_away(fleet: Fleet) -> None:
    host = FleetHost(fleet.ledger, fleet.settings("one"), HostName("one", "http://one"))
    held = host.acquire(VAULT)
    assert isinstance(held, HeldVault)
    host.release(held)
    # Nothing has renewed the lease.
    held.deadline = time.monotonic()

    with pytest.raises(LedgerAway):
        host.acquire(VAULT)

    host.close()


def test_a_host_leaves_a_vault_of_a_newer_version_alone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(bundle, "FORMAT", bundle.FORMAT + 1)
        with fleet.visiting("newer") as visit:
            visit.run(append("a", "- coffee", fleet.now))
    before = fleet.notes()
    fleet.faults.log.clear()
    host = FleetHost(fleet.ledger, fleet.settings("one"), HostName("one", "http://one"))

    with pytest.raises(VaultUnavailable):
        host.acquire(VAULT)

    assert fleet.ledger.vault(VAULT).trouble == "bundle_newer"
    assert not [line for line in fleet.faults.log if line.startswith("put")]
    assert fleet.notes() == before
    host.close()


def _host_for_one(fleet: Fleet) -> FleetHost:
    """A host that may hold one vault, in a fleet with another vault `bo`."""
    fleet.ledger.add(BO, "bo", f"{HOME}2")
    home_of_bo = RamServer(PLAIN)
    RamRemote(home_of_bo).put("bo.md", b"# Bo\n", expected=None)
    plain = fleet.settings("one")

    def open_remote(remote: RemoteSettings, password: str) -> Remote:
        if remote.url.endswith("2"):
            return FaultyRemote(home_of_bo, Faults())
        return plain.open_remote(remote, password)

    settings = replace(plain, open_remote=open_remote)
    return FleetHost(fleet.ledger, settings, HostName("one", "http://one", 1))


def test_a_full_host_gives_back_an_unused_vault_for_one_that_is_asked_for(fleet: Fleet) -> None:
    host = _host_for_one(fleet)
    ann = host.acquire(VAULT)
    assert isinstance(ann, HeldVault)
    with pytest.raises(HostFull):
        host.acquire(BO)
    ann.visit.run(append("a", "- coffee", fleet.now))
    host.release(ann)

    bo = host.acquire(BO)

    assert isinstance(bo, HeldVault)
    assert host.vaults() == [BO]
    assert fleet.ledger.vault(VAULT).holder is None
    assert "- coffee" in fleet.text(USER)
    host.release(bo)
    host.close()


def test_a_full_host_leads_to_the_holder_of_a_vault(fleet: Fleet) -> None:
    host = _host_for_one(fleet)
    ann = host.acquire(VAULT)
    assert isinstance(ann, HeldVault)
    assert isinstance(fleet.ledger.take(BO, "two", "http://two"), Lease)

    holder = host.acquire(BO)

    assert isinstance(holder, Holder)
    assert holder.host == "two"
    host.release(ann)
    host.close()


class _BusyLedger:
    """Notes how many threads ask it for tokens at once."""

    def __init__(self, ledger: LocalLedger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._asking = 0
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def caller(self, token_hash: bytes) -> LedgerCaller | None:
        with self._lock:
            self._asking += 1
            self.most = max(self.most, self._asking)
        time.sleep(0.01)
        try:
            return self._ledger.caller(token_hash)
        finally:
            with self._lock:
                self._asking -= 1


def test_wrong_tokens_leave_threads_and_connections_to_the_leases(fleet: Fleet) -> None:
    ledger: Any = _BusyLedger(fleet.ledger)
    tokens = LedgerTokens(ledger)

    async def ask() -> list[TokenOwner | None]:
        digests = [bytes([number]) * 32 for number in range(60)]
        return await asyncio.gather(*map(tokens.owner, digests))

    assert not any(asyncio.run(ask()))
    assert 1 <= ledger.most <= MOST_LOOKUPS


def test_a_request_whose_body_never_comes_does_not_wait_for_ever(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "READING_SECONDS", 0.05)
    fleet.ledger.set_token(VAULT, token_digest("a" * 32), Caller("ann"))
    host = FleetHost(fleet.ledger, fleet.settings("one"), HostName("one", "http://one"))
    refused: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        refused.append(scope["path"])

    async def receive() -> Message:
        return await asyncio.Future()

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/search",
        "query_string": b"",
        "headers": [(b"authorization", b"Bearer " + b"a" * 32)],
    }
    around = forwarding.Forwarding(app, host, LedgerTokens(fleet.ledger), 1000)
    asyncio.run(asyncio.wait_for(around(scope, receive, send), 10))
    assert refused == ["/v1/search"]
    assert host.vaults() == []
