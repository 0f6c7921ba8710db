"""Two hosts serve the vaults of a fleet: any of them answers, and no acknowledged word is lost."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.addons.fleet.ledger import servers
from tests.addons.fleet.ledger.servers import PostgresServer
from tests.addons.fleet.running import ON_BOTH, OperatedFleet, RunningHost, running_host, until
from tests.remote.servers.s3_stores import S3Store
from vault_memory.addons.fleet.ledger.contract import LEASE_SECONDS
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/ann/bot/config/USER.md"
TEXT = "# Ann\n\n## Likes\n\n- tea from the harbour\n"


@pytest.fixture
def ann(fleet_of_hosts: OperatedFleet, tmp_path: Path) -> tuple[str, str]:
    """A vault of the fleet: its token and its home."""
    root = tmp_path / "notes"
    note = root / NOTE
    note.parent.mkdir(parents=True)
    note.write_text(TEXT)
    ensure_marker(root)
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(root))
    return added["token"], home


@pytest.fixture
def hosts(fleet_of_hosts: OperatedFleet) -> Iterator[tuple[RunningHost, RunningHost]]:
    with ExitStack() as stack:
        east = stack.enter_context(running_host(fleet_of_hosts, "east"))
        west = stack.enter_context(running_host(fleet_of_hosts, "west"))
        yield east, west


def _notes(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {hit["note"] for hit in answer.json()["hits"]}


def _holder(fleet: OperatedFleet) -> str:
    status = fleet.ask("fleet", "status")
    return str(status["vaults"][0]["holder"])


@pytest.mark.sampled
@ON_BOTH
def test_either_host_answers_and_finds_what_the_other_was_told(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str], hosts: tuple[RunningHost, RunningHost]
) -> None:
    token, home = ann
    for host in hosts:
        assert _notes(host.ask(token, "/v1/search", query="harbour")) == {NOTE}
        # A mark that no host of the fleet made changes nothing.
        forged = httpx.post(
            host.address + "/v1/search",
            json={"query": "harbour"},
            headers={"authorization": f"Bearer {token}", "x-vault-memory-forwarded": "1"},
            timeout=60,
        )
        assert _notes(forged) == {NOTE}
    for number, host in enumerate(hosts):
        text = f"I like word{number} at sea"
        answer = host.remember(token, text)
        assert answer.status_code == 200, answer.text
    for host in hosts:
        for number in range(2):
            found = _notes(host.ask(token, "/v1/search", query=f"word{number}"))
            assert NOTE in found
    assert _holder(fleet_of_hosts) in ("east", "west")
    until(lambda: b"word1" in fleet_of_hosts.texts(home)[NOTE])


@pytest.mark.sampled
def test_an_edit_in_the_home_is_found_while_a_host_holds_the_vault(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str]
) -> None:
    token, home = ann
    with running_host(fleet_of_hosts, "east") as east:
        assert east.ask(token, "/v1/search", query="harbour").status_code == 200
        remote = fleet_of_hosts.store.open(home)
        note = remote.get(NOTE, max_bytes=1 << 20)
        remote.put(NOTE, note.raw + b"- walks to the lighthouse\n", expected=note.etag)
        remote.close()

        def is_found() -> bool:
            answer = east.ask(token, "/v1/search", query="lighthouse")
            return NOTE in _notes(answer)

        until(is_found, seconds=50)


def test_a_wrong_token_opens_nothing_on_either_host(
    ann: tuple[str, str], hosts: tuple[RunningHost, RunningHost]
) -> None:
    for host in hosts:
        answer = host.ask("f" * 64, "/v1/search", query="harbour")
        assert answer.status_code == 401
        assert "harbour" not in answer.text


def test_a_request_that_is_too_long_is_refused_as_such_by_both_hosts(
    ann: tuple[str, str], hosts: tuple[RunningHost, RunningHost]
) -> None:
    token, _ = ann
    for host in hosts:
        assert host.ask(token, "/v1/search", query="harbour").status_code == 200
    for host in hosts:
        answer = host.ask(token, "/v1/search", query="x" * 3_000_000)
        assert answer.status_code == 413, answer.text


@pytest.mark.sampled
@ON_BOTH
def test_a_killed_host_whose_disk_is_lost_loses_no_acknowledged_word(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str], hosts: tuple[RunningHost, RunningHost]
) -> None:
    token, home = ann
    assert hosts[0].ask(token, "/v1/search", query="harbour").status_code == 200
    by_name = {host.name: host for host in hosts}

    def is_held() -> bool:
        # The first visit of a new vault gives it back when its work is done.
        assert hosts[0].ask(token, "/v1/search", query="harbour").status_code == 200
        return _holder(fleet_of_hosts) in by_name

    until(is_held)
    holder = by_name.pop(_holder(fleet_of_hosts))
    (other,) = by_name.values()
    assert holder.remember(token, "I like cocoa").status_code == 200
    holder.kill()
    shutil.rmtree(fleet_of_hosts.folder / "scratch" / holder.name)

    def is_found() -> bool:
        answer = other.ask(token, "/v1/search", query="cocoa")
        return answer.status_code == 200 and NOTE in _notes(answer)

    # After one lease at most another host takes it; a busy machine opens it slowly.
    until(is_found, seconds=2 * LEASE_SECONDS)
    until(lambda: b"cocoa" in fleet_of_hosts.texts(home)[NOTE])
    assert fleet_of_hosts.texts(home)[NOTE].count(b"cocoa") == 1


@pytest.mark.sampled
def test_a_drained_host_ends_without_a_lost_request(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str], hosts: tuple[RunningHost, RunningHost]
) -> None:
    token, _ = ann
    failures: list[str] = []
    answered = [0]
    is_over = threading.Event()

    def ask_all_the_time(first: int) -> None:
        number = first
        while not is_over.is_set():
            number += 1
            for host in (hosts[number % 2], hosts[(number + 1) % 2]):
                try:
                    answer = host.ask(token, "/v1/search", query="harbour")
                except httpx.ConnectError:
                    # The proxy of an operator asks the next host then.
                    continue
                except httpx.HTTPError as error:
                    failures.append(repr(error))
                    break
                if answer.status_code != 200:
                    failures.append(answer.text)
                answered[0] += 1
                break
            else:
                failures.append("no host answers")
            time.sleep(0.05)

    threads = [threading.Thread(target=ask_all_the_time, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: answered[0] > 4)
        leaving = _holder(fleet_of_hosts)
        drained = fleet_of_hosts.ask("fleet", "drain", leaving)
        assert drained == {"host": leaving}
        process = next(host for host in hosts if host.name == leaving).process
        assert process.wait(120) == 0
        before = answered[0]
        until(lambda: answered[0] > before + 4)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert _holder(fleet_of_hosts) not in ("", leaving)


@pytest.mark.sampled
@pytest.mark.skipif(bool(servers.missing()), reason="there is no PostgreSQL")
def test_without_the_database_reads_go_on_and_writes_are_not_acknowledged(
    tmp_path: Path, store: S3Store
) -> None:
    server = PostgresServer(fsync=False)
    try:
        fleet = OperatedFleet(tmp_path, server, store)
        fleet.ask("fleet", "init")
        home = store.new_url()
        token = fleet.ask("fleet", "add", "ann", "--home", home)["token"]
        with running_host(fleet, "east") as east:
            told = east.remember(token, "I like the harbour")
            assert told.status_code == 200, told.text
            server.kill()
            found = east.ask(token, "/v1/search", query="harbour")
            assert found.status_code == 200, found.text
            assert found.json()["hits"]
            refused = east.remember(token, "I like cocoa")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "pending"
            server.start()
            until(lambda: b"harbour" in b"".join(fleet.texts(home).values()))
    finally:
        server.stop()
