"""Programs whose id is the address of a document: which ones are fetched, and which are believed."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from tests.addons.connector.connected import CALLBACK, Connected, Kept
from tests.remote.test_certificates import certificate, openssl
from tests.remote.wire import Wire
from vault_memory.addons.connector import client_documents
from vault_memory.addons.connector.client_documents import ClientDocuments, NoDocument, is_public

__all__ = ["openssl"]

Publish = Callable[..., str]


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """An answer of a server."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.fixture
def publish(openssl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publish]:
    """Publishes a document on a server with TLS, which counts as one of the internet."""
    pem, key = certificate(openssl, tmp_path, name="DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setattr(client_documents, "is_public", lambda number: True)
    with contextlib.ExitStack() as stack:

        def start(answer: bytes | None = None, **document: Any) -> str:
            address = ""

            def say(head: str) -> list[bytes]:
                known = {
                    "client_id": address,
                    "client_name": "Pocket helper",
                    "redirect_uris": [CALLBACK],
                    **document,
                }
                return [answer or http(json.dumps(known).encode())]

            server = Wire(say, tls=context)
            stack.callback(server.close)
            address = f"https://localhost:{urlsplit(server.origin).port}/client.json"
            return address

        yield start


def test_a_program_with_a_document_is_let_in_without_registering(
    server: Connected, publish: Publish
) -> None:
    kept = Kept()

    said = anyio.run(lambda: server.call(server.person("mira"), kept, "lamp", document=publish()))

    assert "lamp" in said
    assert kept.info is not None
    assert kept.info.client_id.endswith("/client.json")


def test_such_a_program_gets_the_next_token_when_its_document_is_gone(
    server: Connected, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = {"client_id": publish()}
    tokens = server.exchange(program, server.code(server.person("mira"), program)).json()
    monkeypatch.setattr(server.connector._provider, "_documents", ClientDocuments())

    assert server.refresh(program, tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize(
    "document",
    [
        {"client_id": "https://other.example.org/client.json"},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["http://evil.example.org/"]},
        {"redirect_uris": "x"},
        {"redirect_uris": []},
    ],
)
def test_a_document_that_cannot_be_believed_lets_nobody_ask(
    server: Connected, publish: Publish, document: dict[str, Any]
) -> None:
    answer = server.client().get(server.address(publish(**document)))

    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "answer",
    [
        http(b"{}", "302 Found", "Location: https://localhost/other.json"),
        http(b"{}", "404 Not Found"),
        http(b"{"),
        http(b"[]"),
        http(b'{"x": "' + b"y" * client_documents.LONGEST_DOCUMENT + b'"}'),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_answer_that_is_no_document_lets_nobody_ask(
    server: Connected, publish: Publish, answer: bytes
) -> None:
    refused = server.client().get(server.address(publish(answer)))

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "invalid_client"


@pytest.mark.parametrize(
    "address",
    [
        "https://localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://10.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:127.0.0.1]/client.json",
        "https://0.0.0.0/client.json",
        "https://2130706433/client.json",
    ],
)
def test_nothing_is_fetched_from_the_network_of_the_owner(
    server: Connected, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object, **named: object) -> None:
        raise AssertionError("a request was sent")

    monkeypatch.setattr(client_documents.urllib3, "HTTPSConnectionPool", never)

    answer = server.client().get(server.address(address))

    assert answer.status_code == 400


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "https://example.org/",
        "https://user@example.org/x",
        "https://example.org/x#y",
        "https://example.org/../x",
        "https://example.org:0/x",
        "https://example.org:x/x",
        "https:///x",
        "https://example.org/ x",
        "https://exämple.org/x",
    ],
)
def test_an_address_that_may_mean_another_one_is_not_asked(address: str) -> None:
    with pytest.raises(NoDocument):
        ClientDocuments().fetch(address)


@pytest.mark.parametrize(
    "number", ["127.0.0.1", "192.168.1.1", "fe80::1%eth0", "::1", "100.64.0.1"]
)
def test_numbers_of_own_networks_are_not_public(number: str) -> None:
    assert not is_public(number)
    assert is_public("1.1.1.1")


def test_a_document_is_not_fetched_for_each_request(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, documents = publish(), ClientDocuments()
    first = documents.fetch(address)
    monkeypatch.setattr(client_documents, "_fetched", lambda asked: {"client_id": "fresh"})

    assert documents.fetch(address) is first
    monkeypatch.setattr(client_documents, "FRESH_SECONDS", -1)
    assert documents.fetch(address) == {"client_id": "fresh"}


def test_a_server_that_never_ends_is_left(
    openssl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, key = certificate(openssl, tmp_path, name="DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setattr(client_documents, "is_public", lambda number: True)
    monkeypatch.setattr(client_documents, "LONGEST_SECONDS", 0.5)
    is_left = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        with context.wrap_socket(listening, server_side=True) as server:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
                for _ in range(500):
                    client.sendall(b"x")
                    is_left.wait(0.02)
                return
            is_left.set()

    port = listening.getsockname()[1]
    thread = threading.Thread(target=drip)
    thread.start()
    with pytest.raises(NoDocument):
        ClientDocuments().fetch(f"https://localhost:{port}/client.json")
    thread.join()

    assert is_left.is_set()


def test_slow_servers_take_few_threads() -> None:
    documents = ClientDocuments()
    for _ in range(client_documents.MOST_AT_ONCE):
        documents._places.acquire()

    with pytest.raises(NoDocument, match="at once"):
        documents.fetch("https://example.org/client.json")
