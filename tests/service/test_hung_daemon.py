"""A daemon that hangs is asked once by each process, and each door answers without it."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.vaults import call, words
from tests.scenarios.outside import Outside, at
from vault_memory import VaultMemory
from vault_memory.api import exchange, query_or_local
from vault_memory.rules.paths.scopes import Caller
from vault_memory.service.socket_server import SocketServer

NOTE = "Users/mira/memories/boats.md"
LINE = "The heron boat got amber spar varnish"


@pytest.fixture
def place(tmp_path: Path) -> Outside:
    place = at(tmp_path)
    place.write(NOTE, f"- {LINE}\n")
    place.ok("index")
    return place


@pytest.fixture
def hung(place: Outside, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a daemon that takes no question, as a stopped process does."""
    monkeypatch.chdir(place.state)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(os.path.relpath(place.socket))
        listening.listen(64)
        yield listening


def questions_to(hung: socket.socket) -> int:
    """How many clients have connected."""
    hung.setblocking(False)
    count = 0
    while True:
        try:
            connection, _ = hung.accept()
        except BlockingIOError:
            return count
        connection.close()
        count += 1


@pytest.mark.parametrize(
    "command",
    [
        ["search", "varnish"],
        ["search", "varnish", "--user", "mira", "--json"],
        ["context", "--user", "mira", "which varnish did the heron boat get?"],
        ["status"],
        ["record", "--user", "mira", "--session", "s", "--role", "user", LINE],
        ["append", NOTE, "", "- The kiel boat got none"],
    ],
    ids=lambda command: " ".join(command[:1]),
)
def test_a_command_asks_a_daemon_that_hangs_once(
    place: Outside, hung: socket.socket, command: list[str]
) -> None:
    done = place.run(*command)

    assert done.code == 0, done.err
    assert questions_to(hung) == 1


def test_a_server_of_tools_asks_a_daemon_that_hangs_once(
    place: Outside, hung: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "SILENT_SECONDS", 3600.0)
    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        for _ in range(2):
            for tool in ({"query": "varnish"}, {"prompt": "heron varnish"}):
                name = "memory_search" if "query" in tool else "memory_context"
                assert LINE in words(call(memory, name, Caller("mira"), **tool))

    assert questions_to(hung) == 1


def test_a_daemon_that_hung_is_asked_again_later(
    place: Outside, hung: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "SILENT_SECONDS", 0.0)
    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        for _ in range(2):
            answer = query_or_local.search(memory, "varnish", scopes=["user:mira"], options={})
            assert LINE in answer["hits"][0]["text"]

    assert questions_to(hung) == 2


def test_a_daemon_that_works_for_long_says_at_once_that_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    may_answer = threading.Event()

    def slow(arguments: object) -> dict[str, str]:
        assert may_answer.wait(120)
        return {"text": "done"}

    server = SocketServer(Path("daemon.sock"), {"slow": slow})
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(60)
        client.connect("daemon.sock")
        client.sendall(b'{"call": "slow", "arguments": {}}\n')
        assert client.recv(100) == exchange.SIGN
        may_answer.set()
        assert json.loads(client.recv(100)) == {"text": "done"}
    answer = exchange.exchange("daemon.sock", "slow", {}, 60)
    server.close()
    assert answer == {"text": "done"}
