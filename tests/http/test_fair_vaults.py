"""A host is fair: what the bots of one vault do does not keep those of another vault waiting."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.http.many_vaults import TOKENS, Start, starter
from tests.scenarios.outside import until
from vault_memory.http.application import MOST_CALLS, MOST_WAITING

ALMOST = 1_000_000
"""Bytes of a body that is nearly as long as one may be"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield starter(tmp_path, stack)


@pytest.mark.sampled
def test_a_vault_on_a_slow_disk_delays_no_other(start: Start) -> None:
    host = start()
    disk = threading.Event()
    opening = Counter[str]()
    open_vault = host.vaults.memory

    def open_slowly(name: str) -> object:
        opening[name] += 1
        if name == "north":
            assert disk.wait(120)
        return open_vault(name)

    host.vaults.memory = open_slowly  # type: ignore[assignment]
    north, south = host.client(TOKENS["north"]), host.client(TOKENS["south"])
    most = MOST_CALLS + MOST_WAITING
    with ThreadPoolExecutor(most + 10) as pool:
        slow = [pool.submit(north.get, "/v1/notes") for _ in range(most + 10)]
        try:
            until(lambda: sum(call.done() for call in slow) == 10)
            assert opening["north"] == MOST_CALLS
            assert south.get("/v1/notes").status_code == 200
        finally:
            disk.set()
        statuses = Counter(call.result().status_code for call in slow)

    # More requests than may wait are refused at once, and the others are answered.
    assert statuses == {200: most, 503: 10}
    assert north.get("/v1/notes").status_code == 200


def test_long_bodies_of_one_vault_leave_room_for_others(start: Start) -> None:
    host = start()
    with ExitStack() as stack:
        slow = [stack.enter_context(_half_sent(host.url, TOKENS["north"])) for _ in range(8)]
        # Six fit into the room of the vault.
        until(lambda: sum(map(_is_answered, slow)) == 2)

        answer = host.client(TOKENS["south"]).post("/v1/remember", content=b" " * ALMOST)

        assert answer.status_code == 415
        refused = next(filter(_is_answered, slow))
        assert refused.recv(100).startswith(b"HTTP/1.1 503")


def _half_sent(url: str, token: str) -> socket.socket:
    """A request whose body lacks its end."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)))
    head = (
        f"POST /v1/remember HTTP/1.1\r\nhost: {host}\r\n"
        f"authorization: Bearer {token}\r\ncontent-length: {ALMOST + 1}\r\n\r\n"
    )
    connection.sendall(head.encode() + b" " * ALMOST)
    return connection


def _is_answered(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
