"""Behind a proxy all clients of a host have one address."""

import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from tests.service.many import Vaults
from tests.service.running_host import running_host
from vault_memory.http.listen import limits_of_process

REQUEST = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_a_host_keeps_hundreds_of_connections_of_one_address(vaults: Vaults) -> None:
    count = 300
    if limits_of_process().most_of_address < count:
        pytest.skip("this process may have too few open files")
    vaults.add("ann")

    with running_host(vaults) as host, ExitStack() as stack:
        place = urlsplit(host.url)
        clients = [
            stack.enter_context(socket.create_connection((place.hostname, place.port), timeout=60))
            for _ in range(count)
        ]
        # The answer to the last one says that the host has accepted all of them.
        clients[-1].sendall(REQUEST)

        assert clients[-1].recv(4096).startswith(b"HTTP/1.1 200")
        assert sum(map(is_open, clients)) == count
