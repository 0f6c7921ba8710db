"""Requests wait for one vault or one host, and those for other vaults are answered meanwhile."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.addons.fleet.fleets import HOME, VAULT, Faults, FaultyRemote, Fleet
from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host
from tests.remote.ram_remote import PLAIN, RamRemote, RamServer
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.fleet_service import LedgerTokens
from vault_memory.addons.fleet.serving.forwarding import (
    MOST_ARRIVALS,
    MOST_OF_A_HOST,
    FairThreads,
    Forwarding,
    NoThread,
)
from vault_memory.config.sections import RemoteSettings
from vault_memory.http.tokens import token_digest
from vault_memory.remote.contract import Remote
from vault_memory.rules.paths.scopes import Caller

BO = str(UUID(int=0xB0))
TOKENS = {VAULT: "a" * 32, BO: "b" * 32}
MANY = 60
"""more requests than the app has threads"""


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _ask(forwarding: Forwarding, vault: str) -> list[Message]:
    """What a search in a vault is answered."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    token = TOKENS[vault].encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/search",
        "query_string": b"",
        "headers": [(b"authorization", b"Bearer " + token)],
    }
    await forwarding(scope, receive, send)
    return sent


def test_a_vault_that_opens_slowly_lets_requests_for_others_pass(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    fleet.ledger.add(BO, "bo", f"{HOME}2")
    for vault, token in TOKENS.items():
        fleet.ledger.set_token(vault, token_digest(token), Caller("ann"))
    may_open = threading.Event()
    slow = Faults(meanwhile={0: lambda: _wait(may_open)})
    home_of_bo = RamServer(PLAIN)
    RamRemote(home_of_bo).put("bo.md", b"# Bo\n", expected=None)
    plain = fleet.settings("one", slow)

    def open_remote(remote: RemoteSettings, password: str) -> Remote:
        if remote.url.endswith("2"):
            return FaultyRemote(home_of_bo, Faults())
        return plain.open_remote(remote, password)

    settings = replace(plain, open_remote=open_remote)
    host = FleetHost(fleet.ledger, settings, HostName("one", "http://one"))
    forwarding = Forwarding(_app, host, LedgerTokens(fleet.ledger), 1000)

    async def ask() -> int:
        waiting = [asyncio.create_task(_ask(forwarding, VAULT)) for _ in range(MOST_ARRIVALS + 1)]
        try:
            start, *_ = await asyncio.wait_for(_ask(forwarding, BO), 20)
            assert not any(task.done() for task in waiting)
        finally:
            may_open.set()
        answers = await asyncio.gather(*waiting)
        assert {answer[0]["status"] for answer in answers} == {200}
        return int(start["status"])

    assert asyncio.run(ask()) == 200
    host.close()


def _wait(event: threading.Event) -> None:
    assert event.wait(120)


def test_calls_of_one_kind_leave_threads_to_another() -> None:
    is_over = threading.Event()

    async def run() -> str:
        threads = FairThreads(4, 2)
        waiting = [asyncio.create_task(threads.run("slow", _wait, is_over)) for _ in range(9)]
        answer: str = await asyncio.wait_for(threads.run("quick", str, 7), 20)
        with pytest.raises(NoThread):
            await threads.run("slow", str, 8, patience=0.01)
        is_over.set()
        await asyncio.gather(*waiting)
        assert await threads.run("slow", str, 9) == "9"
        return answer

    assert asyncio.run(run()) == "7"


@pytest.fixture
def paused() -> Iterator[socket.socket]:
    """Where a process listens that is stopped: the system accepts, and nobody answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2 * MANY)
        listening.settimeout(60)
        yield listening


@pytest.mark.sampled
def test_a_paused_host_does_not_stop_the_vaults_of_the_others(
    fleet_of_hosts: OperatedFleet, paused: socket.socket
) -> None:
    added: dict[str, Any] = {}
    for name in ("ann", "bo"):
        home = fleet_of_hosts.store.new_url()
        added[name] = fleet_of_hosts.ask("fleet", "add", name, "--home", home)
    ledger = LocalLedger(fleet_of_hosts.ledger_file, lease_seconds=300)
    address = f"http://127.0.0.1:{paused.getsockname()[1]}"
    ledger.take(added["bo"]["vault"], "west", address)
    ledger.close()
    with running_host(fleet_of_hosts, "east") as east:
        assert _status(east, added["ann"]["token"]) == 200
        threads = [
            threading.Thread(target=_give_up, args=(east, added["bo"]["token"]))
            for _ in range(MANY)
        ]
        for thread in threads:
            thread.start()
        try:
            waiting = [paused.accept()[0] for _ in range(MOST_OF_A_HOST)]
            for _ in range(5):
                assert _status(east, added["ann"]["token"]) == 200
            for connection in waiting:
                connection.close()
        finally:
            east.kill()
            for thread in threads:
                thread.join()


def _status(host: RunningHost, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    url = host.address + "/v1/search"
    return httpx.post(url, json={"query": "x"}, headers=headers, timeout=20).status_code


def _give_up(host: RunningHost, token: str) -> None:
    with suppress(httpx.HTTPError):
        host.ask(token, "/v1/search", query="x")
