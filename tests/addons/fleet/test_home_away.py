"""A vault whose home does not answer: people read the copy of before, and no word of theirs is lost."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from moto.server import ThreadedMotoServer

from tests.addons.fleet.fleets import START, USER, VAULT, Faults, Fleet, append, remember, turn
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host, until
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_stores import S3Store
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.fleet_errors import AnotherFleet, HomeChanged
from vault_memory.addons.fleet.home_link import is_away
from vault_memory.addons.fleet.serving import away_homes, held_vault
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.addons.fleet.visit import Visit
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.remote.remote_errors import (
    AnsweredByProxy,
    NotUnderstood,
    RemoteBusy,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)

REASON = RemoteUnreachable("nobody listens")
SCOPES = ["user:ann"]


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def visit_away(fleet: Fleet, host: str) -> Visit:
    """Visit a vault whose home answers nothing."""
    faults = Faults(away=True)
    settings = fleet.settings(host, faults)
    return Visit.open_away(fleet.lease(host), fleet.ledger, settings, REASON)


def leave_all_but(fleet: Fleet, visit: Visit) -> None:
    """Close a visit without a flush, as after a kill."""
    visit.close()
    fleet.pass_by(60)


def found(visit: Visit, query: str) -> set[str]:
    return {hit.note for hit in visit.memory.search(query, scopes=SCOPES).hits}


def kept(fleet: Fleet) -> int:
    return fleet.ledger.vault(VAULT).waiting


def files(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_what_was_read_before_is_read_while_the_home_is_away(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    away = visit_away(fleet, "one")
    answer = away.memory.search("coffee", scopes=SCOPES)
    assert {hit.note for hit in answer.hits} == {USER}
    assert USER in answer.freshness.stale_files
    with pytest.raises(RemoteUnreachable):
        away.flush(fleet.now)
    away.close()


@pytest.mark.sampled
@pytest.mark.parametrize("is_lost", [False, True])
def test_what_is_written_while_the_home_is_away_comes_home_once(
    fleet: Fleet, is_lost: bool
) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    away = visit_away(fleet, "one")
    assert not away.is_behind
    away.run(append("b", "- milk", fleet.now))
    away.run(remember("c", "the cat is called Miso", fleet.now))
    away.run(turn("d", "I like the harbour", fleet.now))
    assert found(away, "miso")
    assert "- milk" not in fleet.text()
    leave_all_but(fleet, away)
    # A person edits the home before any host finds it again.
    fleet.save(USER, fleet.text() + "\n## Pets\n\n- a cat\n")
    if is_lost:
        shutil.rmtree(away.scratch.folder)
    with fleet.visiting("two" if is_lost else "one"):
        pass
    text = "".join(fleet.notes().values())
    assert fleet.text().count("- coffee") == 1
    assert fleet.text().count("- milk") == 1
    assert fleet.text().count("called Miso") == 1
    assert fleet.text().count("- a cat") == 1
    assert text.count("I like the harbour") == 1
    assert not [path for path in fleet.paths() if "conflict" in path]
    assert kept(fleet) == 0


def test_an_old_copy_takes_no_edit_and_keeps_each_turn(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    with fleet.visiting("two") as visit:
        visit.run(append("b", "- milk", fleet.now))
    home = fleet.notes()
    away = visit_away(fleet, "one")
    assert away.is_behind
    before = files(away.scratch.root)
    assert found(away, "coffee") == {USER}
    assert not found(away, "milk")
    refused = [
        append("c", "- cocoa", fleet.now),
        remember("d", "I like cocoa", fleet.now),
        _without_person(turn("e", "I like cocoa", fleet.now)),
    ]
    for op in refused:
        with pytest.raises(VaultUnavailable):
            away.run(op)
    assert kept(fleet) == 0
    answer: Any = away.run(turn("f", "I like the lighthouse", fleet.now))
    assert kept(fleet) == 1
    assert files(away.scratch.root) == before
    assert fleet.notes() == home
    leave_all_but(fleet, away)
    with fleet.visiting("one") as visit:
        assert found(visit, "milk") == {USER}
    assert fleet.text() == home[USER]
    turns = fleet.text(answer.note)
    assert turns.count("I like the lighthouse") == 1
    assert answer.id in turns
    assert kept(fleet) == 0
    assert not [path for path in fleet.paths() if "INBOX" in path]


def _without_person(op: AcknowledgedOp) -> AcknowledgedOp:
    arguments = {key: op.arguments[key] for key in op.arguments if key != "user"}
    return AcknowledgedOp(op.op_id, op.call, arguments, op.now)


def test_a_private_turn_is_not_kept_for_later_either(fleet: Fleet) -> None:
    for host in ("one", "two"):
        with fleet.visiting(host):
            pass
    away = visit_away(fleet, "one")
    assert away.is_behind
    op = turn("a", "a secret of ann", fleet.now)
    silent = AcknowledgedOp("a", "record", {**op.arguments, "silent": True}, op.now)
    answer: Any = away.run(silent)
    assert answer.id is None
    assert kept(fleet) == 0
    away.close()


def test_a_copy_stays_old_however_often_the_home_is_away(fleet: Fleet) -> None:
    with fleet.visiting("one"):
        pass
    with fleet.visiting("two") as visit:
        visit.run(append("a", "- milk", fleet.now))
    for _ in range(2):
        with pytest.raises(RemoteBusy):
            fleet.visit("one", Faults(away=True))
        away = visit_away(fleet, "one")
        assert away.is_behind
        leave_all_but(fleet, away)
    with fleet.visiting("one") as visit:
        assert found(visit, "milk") == {USER}


def test_what_was_kept_before_is_there_while_the_home_is_away(fleet: Fleet) -> None:
    faults = Faults()
    visit = fleet.visit("one", faults)
    visit.leave(fleet.now)
    visit = fleet.visit("one", faults)
    faults.away = True
    visit.run(append("a", "- coffee", fleet.now))
    visit.close()
    away = visit_away(fleet, "one")
    assert found(away, "coffee") == {USER}
    away.run(append("b", "- milk", fleet.now))
    leave_all_but(fleet, away)
    assert kept(fleet) == 2
    with fleet.visiting("one"):
        pass
    assert [fleet.text().count(word) for word in ("- coffee", "- milk")] == [1, 1]
    assert kept(fleet) == 0


def test_without_a_copy_of_before_the_home_has_to_answer(fleet: Fleet) -> None:
    with pytest.raises(RemoteUnreachable):
        visit_away(fleet, "one")
    with fleet.visiting("one") as visit:
        folder = visit.scratch.root
    # The notes are gone, and their absence says nothing about the vault.
    shutil.rmtree(folder)
    with pytest.raises(RemoteUnreachable):
        visit_away(fleet, "one")
    fleet.pass_by(60)
    with fleet.visiting("one"):
        pass
    assert fleet.text() == START


def test_changes_that_another_host_has_replayed_are_not_shown_twice(fleet: Fleet) -> None:
    with fleet.visiting("one"):
        pass
    killed = fleet.visit("one")
    killed.run(append("a", "- coffee", fleet.now))
    killed.close()
    with fleet.visiting("two"):
        pass
    with pytest.raises(RemoteUnreachable):
        visit_away(fleet, "one")
    with fleet.visiting("one"):
        pass
    assert fleet.text().count("- coffee") == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RemoteUnreachable("no route"), True),
        (RemoteBusy("maintenance"), True),
        (NotUnderstood("no answer in time", is_silence=True), True),
        (NotUnderstood("a login page"), False),
        (AnsweredByProxy("status 403"), False),
        (Unauthorised(), False),
        (RootMissing("s3://homes/ann"), False),
        (HomeChanged("it is empty"), False),
        (AnotherFleet(), False),
    ],
)
def test_only_a_home_that_does_not_answer_is_away(error: VaultMemoryError, expected: bool) -> None:
    assert is_away(error) is expected


# --- A host ---


@dataclass
class Host:
    """A host in this process, whose home can go away."""

    fleet: Fleet
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        settings = self.fleet.settings("one", self.faults)
        name = HostName("one", "http://one", idle_seconds=3600.0)
        self.running = FleetHost(self.fleet.ledger, settings, name)

    def use(self) -> Visit:
        entry = self.running.acquire(VAULT)
        assert isinstance(entry, HeldVault)
        self.running.release(entry)
        return entry.visit


@pytest.fixture
def host(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(away_homes, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr(held_vault, "FIRST_RETURN", 0.2)
    monkeypatch.setattr(held_vault, "LONGEST_RETURN", 0.4)
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    host = Host(fleet)
    yield host
    host.running.close()


def test_a_host_goes_on_with_the_home_as_soon_as_it_answers(host: Host) -> None:
    fleet = host.fleet
    host.faults.away = True
    away = host.use()
    assert away.away is not None
    away.run(append("b", "- milk", fleet.now))
    host.running.start()
    time.sleep(2.5)
    # The home was asked, and the vault is still read without it.
    assert host.use() is away
    fleet.save(USER, fleet.text() + "- saffron\n")
    host.faults.away = False
    until(lambda: host.use().away is None)
    visit = host.use()
    assert visit.lease.epoch == away.lease.epoch
    assert found(visit, "saffron") == {USER}
    until(lambda: "- milk" in fleet.text() and not kept(fleet))
    assert fleet.text().count("- milk") == 1
    assert not visit.memory.search("tea", scopes=SCOPES).freshness.stale_files


def test_a_text_that_was_forgotten_is_not_read_without_the_home(host: Host) -> None:
    fleet = host.fleet
    fleet.ledger.ask_to_erase(VAULT)
    host.faults.away = True
    with pytest.raises(VaultUnavailable):
        host.use()


def test_a_home_that_refuses_its_host_is_no_home_that_is_away(host: Host) -> None:
    host.faults.refusal = REASON
    assert host.use().away is REASON
    host.running._give_back(VAULT)
    host.faults.refusal = Unauthorised()
    time.sleep(away_homes.SILENT_SECONDS)
    for _ in range(2):
        with pytest.raises(VaultUnavailable):
            host.use()
    host.faults.refusal = None
    assert host.use().away is None


def test_a_vault_that_is_only_due_waits_for_its_home(host: Host) -> None:
    host.faults.away = True
    host.fleet.ledger.wake(VAULT, datetime.now(UTC))
    host.running.start()
    until(lambda: host.fleet.ledger.vault(VAULT).trouble == "remote_busy")
    assert host.running.vaults() == []


def test_one_caller_asks_a_silent_server_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = away_homes.SilentServers()
    homes = [f"s3://homes/{name}" for name in ("ann", "bo")]
    assert silent.reason(homes[0]) is None
    silent.note(homes[0], REASON)
    assert [silent.reason(home) for home in homes] == [REASON, REASON]
    assert silent.reason("s3://others/ann") is None
    monkeypatch.setattr(away_homes, "SILENT_SECONDS", 0.0)
    assert silent.reason(homes[1]) is None
    monkeypatch.undo()
    assert silent.reason(homes[0]) is REASON
    silent.forget(homes[1])
    assert silent.reason(homes[0]) is None
    # A server that is busy says so at once, and perhaps to one account only.
    silent.note(homes[0], RemoteBusy("maintenance"))
    assert silent.reason(homes[0]) is None


# --- Real hosts and a real store ---


class StoppedStore:
    """A store of S3 that can be stopped, and started again with what it had."""

    def __init__(self) -> None:
        self._port = next(s3_stores._free_ports(1))
        self.start()
        self.store = S3Store("s3-moto", f"http://127.0.0.1:{self._port}", self.stop)
        s3_stores._make_buckets(self.store)

    def start(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", self._port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def stoppable() -> Iterator[StoppedStore]:
    stoppable = StoppedStore()
    yield stoppable
    stoppable.stop()


@pytest.mark.sampled
@pytest.mark.parametrize("copy", ["held", "newest", "old"])
def test_people_go_on_while_the_store_is_stopped(
    tmp_path: Path, postgres: PostgresServer, stoppable: StoppedStore, copy: str
) -> None:
    another = copy == "old"
    fleet = OperatedFleet(tmp_path, postgres, stoppable.store)
    fleet.ask("fleet", "init")
    home = stoppable.store.new_url()
    token = fleet.ask("fleet", "add", "ann", "--home", home, "--user", "ann")["token"]
    with running_host(fleet, "east") as east:
        assert east.remember(token, "I like cocoa").status_code == 200
    if another:
        with running_host(fleet, "west") as west:
            told = west.remember(token, "I like the harbour")
            assert told.status_code == 200, told.text
    with running_host(fleet, "east") as east:
        if copy == "held":
            answer = east.ask(token, "/v1/search", query="cocoa")
            assert not answer.json()["freshness"]["stale_files"]
        stoppable.stop()
        if copy == "held":
            # The host notices it at its next look, and goes on.
            until(_is_stale(east, token))
        answer = east.ask(token, "/v1/search", query="cocoa")
        assert answer.status_code == 200, answer.text
        notes = {hit["note"] for hit in answer.json()["hits"]}
        (note,) = {name for name in notes if name.endswith("USER.md")}
        assert note in answer.json()["freshness"]["stale_files"]
        spoken = east.ask(
            token, "/v1/turns", session="s1", role="user", text="I saw the lighthouse"
        )
        assert spoken.status_code == 200, spoken.text
        told = east.remember(token, "I like saffron")
        assert told.status_code == (503 if another else 200), told.text
        # What is not an operation is safe in the home only.
        refused = east.ask(token, "/v1/sessions/end", session="s1")
        assert refused.status_code == 503
        searched = _call_tool(east, token, "memory_search", query="cocoa")
        assert searched.status_code == 200, searched.text
        assert note in searched.text
        compacted = _call_tool(east, token, "memory_compact", text="They like cocoa")
        assert compacted.status_code == 503, compacted.text
        stoppable.start()
        until(_is_back(fleet, home, "I saw the lighthouse"))
        texts = b"".join(fleet.texts(home).values()).decode()
        assert texts.count("I saw the lighthouse") == 1
        answer = east.ask(token, "/v1/search", query="cocoa harbour saffron")
        assert answer.status_code == 200, answer.text
        assert not answer.json()["freshness"]["stale_files"]
    notes = fleet.texts(home)
    assert not [path for path in notes if "INBOX" in path or "conflict" in path]
    text = notes[note].decode()
    words = {"cocoa": 1, "harbour": int(another), "saffron": int(not another)}
    assert {word: text.count(word) for word in words} == words


def _is_stale(host: RunningHost, token: str) -> Callable[[], bool]:
    def is_stale() -> bool:
        answer = host.ask(token, "/v1/search", query="cocoa")
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["freshness"]["stale_files"])

    return is_stale


def _call_tool(host: RunningHost, token: str, name: str, **arguments: str) -> httpx.Response:
    parameters = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    address = f"{host.address}/mcp"
    return httpx.post(address, json=message, headers=headers, timeout=60)


def _is_back(fleet: OperatedFleet, home: str, words: str) -> Callable[[], bool]:
    return lambda: words in b"".join(fleet.texts(home).values()).decode()
