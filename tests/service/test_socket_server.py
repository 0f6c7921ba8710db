"""The private socket: clients that hold it do not keep others waiting for ever."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.scenarios.outside import until
from vault_memory.api.daemon_client import ask
from vault_memory.service import socket_server
from vault_memory.service.socket_server import SocketServer


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(socket_server, "PATIENCE_SECONDS", 0.4)
    monkeypatch.setattr(socket_server, "MOST_CLIENTS", 4)
    running = SocketServer(tmp_path / "s", {"echo": dict})
    yield tmp_path / "s"
    running.close()


def connect(path: Path, stack: ExitStack) -> socket.socket:
    connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    connection.settimeout(30)
    connection.connect(str(path))
    return connection


def test_an_endless_request_is_cut_off(path: Path):
    with ExitStack() as stack:
        connection = connect(path, stack)

        def trickle() -> None:
            with suppress(OSError):
                while True:
                    connection.sendall(b"x")
                    threading.Event().wait(0.05)

        threading.Thread(target=trickle, daemon=True).start()

        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_silent_clients_use_few_threads_and_others_are_answered(path: Path):
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(20):
            connect(path, stack)

        until(lambda: ask(path, "echo", {"tea": "green"}) == {"tea": "green"})
        assert threading.active_count() <= before + 4


def test_of_two_lines_sent_at_once_only_the_first_is_a_request(path: Path):
    with ExitStack() as stack:
        connection = connect(path, stack)

        connection.sendall(json.dumps({"call": "echo", "arguments": {"a": 1}}).encode() + b"\nmore")

        assert json.loads(connection.makefile("rb").readline()) == {"a": 1}
