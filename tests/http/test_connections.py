"""Strangers hold connections, and whoever has a token is answered all the same. All over real sockets."""

import contextlib
import logging
import os
import re
import resource
import socket
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.http.served import MIRA, Served
from tests.http.test_serve import serve as serve_process
from tests.http.test_serve import token_for
from tests.scenarios.outside import PATIENCE_SECONDS, Outside, until
from tests.scenarios.outside import outside as outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http import auth, listen
from vault_memory.http.connections import Limits
from vault_memory.http.listen import limits_of_process

Serve = Callable[..., Served]
HEAD = b"Host: localhost\r\n"
TOKEN = f"Authorization: Bearer {MIRA}\r\n".encode()
JSON = b"Content-Type: application/json\r\n"


class Strangers:
    """Sockets that are opened and held."""

    def __init__(self, url: str) -> None:
        self._address = (httpx.URL(url).host, httpx.URL(url).port or 0)
        self._stack = contextlib.ExitStack()

    def connect(self, first: bytes = b"") -> socket.socket:
        connection = self._stack.enter_context(
            socket.create_connection(self._address, PATIENCE_SECONDS)
        )
        connection.sendall(first)
        return connection

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def strangers() -> Iterator[Callable[[str], Strangers]]:
    with contextlib.ExitStack() as stack:

        def to(url: str) -> Strangers:
            made = Strangers(url)
            stack.callback(made.close)
            return made

        yield to


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side ends it."""
    received = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while block := connection.recv(65_536):
            received += block
    return received


def trickle(connection: socket.socket, byte: bytes) -> threading.Thread:
    """Sends a byte now and then, as slowly as it can without being idle, until it is cut off."""

    def send() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(byte)
                threading.Event().wait(0.05)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def many_files(count: int) -> Iterator[None]:
    """This process may hold so many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            pytest.skip(f"only {hard} files may be open here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_endless_request_head_does_not_keep_its_slot(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    url = serve(memory, limits=Limits(head_seconds=0.5)).url
    connection = strangers(url).connect(b"GET /healthz HTTP/1.1\r\n")
    trickle(connection, b"a: b\r\n")

    answer = rest(connection)

    assert answer.startswith(b"HTTP/1.1 408")
    assert b"too_slow" in answer


def test_a_silent_connection_does_not_keep_its_slot(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    url = serve(memory, limits=Limits(head_seconds=0.3)).url

    assert rest(strangers(url).connect()) == b""


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 1000000\r\n", b"Transfer-Encoding: chunked\r\n"]
)
def test_a_body_that_continues_after_its_refusal_does_not_keep_its_slot(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers], framing: bytes
):
    url = serve(memory, limits=Limits(body_seconds=0.5)).url
    connection = strangers(url).connect(b"POST /v1/search HTTP/1.1\r\n" + HEAD + framing + b"\r\n")
    trickle(connection, b"1\r\nx\r\n")

    assert rest(connection).startswith(b"HTTP/1.1 401")


def test_an_endless_body_with_a_token_is_refused_in_time(
    memory: VaultMemory,
    serve: Serve,
    strangers: Callable[[str], Strangers],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(auth, "PATIENCE_SECONDS", 0.3)
    url = serve(memory, limits=Limits(body_seconds=0.6)).url
    head = b"POST /v1/search HTTP/1.1\r\n" + HEAD + TOKEN + JSON + b"Content-Length: 100000\r\n\r\n"
    connection = strangers(url).connect(head)
    trickle(connection, b"x")

    assert rest(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.sampled
def test_a_client_that_does_not_read_its_answers_does_not_keep_its_slot(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    server = serve(memory, limits=Limits(stall_seconds=0.3))
    connection = strangers(server.url).connect()
    connection.settimeout(0.5)
    with contextlib.suppress(OSError):  # nothing more fits in, or it is cut already
        while True:
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\n" + HEAD + b"\r\n")

    def is_cut() -> bool:
        try:
            connection.sendall(b"x")
        except TimeoutError:
            return False
        except OSError:
            return True
        return False

    until(is_cut)


@pytest.mark.sampled
def test_a_thousand_idle_connections_lock_no_client_out(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    server = serve(memory, limits=Limits(head_seconds=600, most_of_address=256))
    crowd = strangers(server.url)

    with many_files(4096):
        for number in range(1000):
            crowd.connect(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
            if number % 100 == 0:
                assert server.client().get("/v1/notes").status_code == 200
        assert server.client().get("/v1/notes").status_code == 200

        assert server.connections() <= 257
        crowd.close()


def test_an_upload_with_a_token_continues_during_a_flood_of_strangers(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    server = serve(memory, limits=Limits(most=8, most_of_address=8))
    body = b'{"query": "key", "limit": 1}'
    head = b"POST /v1/search HTTP/1.1\r\n" + HEAD + TOKEN + JSON + b"Connection: close\r\n"
    upload = strangers(server.url).connect(head + b"Content-Length: %d\r\n\r\n" % len(body))
    server.client().get("/v1/notes")  # whatever was sent before it has arrived
    crowd = strangers(server.url)

    for _ in range(100):
        crowd.connect(b"POST /healthz HTTP/1.1\r\n" + HEAD + b"Content-Length: 10\r\n\r\nx")
    until(lambda: server.connections() <= 8)
    upload.sendall(body)

    assert rest(upload).startswith(b"HTTP/1.1 200")


def test_a_request_is_told_to_wait_when_all_slots_are_uploads(
    memory: VaultMemory, serve: Serve, strangers: Callable[[str], Strangers]
):
    server = serve(memory, limits=Limits(most=8, most_of_address=4))
    crowd = strangers(server.url)
    head = b"POST /v1/search HTTP/1.1\r\n" + HEAD + TOKEN + JSON + b"Content-Length: 9\r\n\r\n"
    uploads = [crowd.connect(head) for _ in range(4)]
    until(lambda: server.trusted() == 4)

    assert b"busy" in rest(crowd.connect())
    for upload in uploads:
        upload.close()
    until(lambda: server.connections() == 0)
    assert server.client().get("/v1/notes").status_code == 200


def test_all_request_bodies_together_stay_within_the_memory_limit(
    memory: VaultMemory,
    serve: Serve,
    strangers: Callable[[str], Strangers],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(auth, "MOST_BUFFERED", 40_000)
    server = serve(memory, max_body_bytes=10_000)
    crowd = strangers(server.url)
    length = b"Content-Length: 10000\r\n\r\n"
    for _ in range(20):
        crowd.connect(b"POST /healthz HTTP/1.1\r\n" + HEAD + length + b"x" * 9_000)
    for _ in range(3):
        crowd.connect(b"POST /v1/search HTTP/1.1\r\n" + HEAD + TOKEN + JSON + length + b"x" * 9_000)
    client = server.client(**{"content-type": "application/json"})
    asked = b'{"query": "key"}' + b" " * 5_000

    until(lambda: client.post("/v1/search", content=asked).status_code == 503)
    crowd.close()

    until(lambda: client.post("/v1/search", content=asked).status_code == 200)


def test_bodies_without_a_token_use_no_memory_reserved_for_clients(
    memory: VaultMemory,
    serve: Serve,
    strangers: Callable[[str], Strangers],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(auth, "MOST_BUFFERED", 40_000)
    server = serve(memory, max_body_bytes=10_000)
    crowd = strangers(server.url)
    stranger = server.client(None, **{"content-type": "application/json"})
    for _ in range(20):
        crowd.connect(
            b"POST /healthz HTTP/1.1\r\n" + HEAD + b"Content-Length: 10000\r\n\r\n" + b"x" * 9_000
        )

    until(lambda: stranger.post("/healthz", content=b"x" * 5_000).status_code == 503)

    client = server.client(**{"content-type": "application/json"})
    assert client.post("/v1/search", content=b'{"query": "key"}' + b" " * 9_000).status_code == 200


SECOND = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(SECOND)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
END = b"0\r\n\r\n"
SMUGGLED = {
    "both": (b"POST", LENGTH + CHUNKED, END),
    "both, the other way round": (b"POST", CHUNKED + LENGTH, END),
    "two lengths": (b"POST", b"Content-Length: 0\r\n" + LENGTH, b""),
    "a list of lengths": (b"POST", LENGTH.replace(b": ", b": 0, "), b""),
    "a length with a sign": (b"POST", LENGTH.replace(b": ", b": +"), b""),
    "a blank before the colon": (b"POST", LENGTH.replace(b":", b" :"), b""),
    "an unknown encoding": (b"POST", CHUNKED.replace(b"chunked", b"xchunked"), END),
    "two encodings": (b"POST", CHUNKED.replace(b"chunked", b"gzip, chunked"), END),
    "rubbish behind a chunk": (b"POST", CHUNKED, b"1\r\nxGET\r\n" + END),
    "a body of GET": (b"GET", LENGTH, b""),
    "a chunked body of GET": (b"GET", CHUNKED, END),
    "a body of HEAD": (b"HEAD", LENGTH, b""),
}
"""Method, headers and body: a server in front may see the end of such a request elsewhere"""


@pytest.mark.parametrize("shape", SMUGGLED)
def test_no_second_request_can_be_smuggled_behind_the_first(
    served: Served, strangers: Callable[[str], Strangers], shape: str
):
    method, framing, body = SMUGGLED[shape]
    first = method + b" /healthz HTTP/1.1\r\n" + HEAD + framing + b"\r\n" + body
    connection = strangers(served.url).connect(first + SECOND)

    answer = rest(connection)

    assert re.match(rb"HTTP/1.1 (400|501) ", answer), answer
    assert answer.count(b"HTTP/1.1") == 1


def test_pipelined_requests_are_all_answered(served: Served, strangers: Callable[[str], Strangers]):
    plain = b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n"
    connection = strangers(served.url).connect(
        plain * 3 + plain.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    )

    assert rest(connection).count(b"HTTP/1.1 200") == 4


def test_garbage_does_not_fill_the_log(
    memory: VaultMemory,
    serve: Serve,
    strangers: Callable[[str], Strangers],
    caplog: pytest.LogCaptureFixture,
):
    server = serve(memory)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            assert rest(strangers(server.url).connect(b"\x16\x03\x01 rubbish\r\n\r\n")).startswith(
                b"HTTP/1.1 400"
            )

    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) <= 1


@pytest.mark.sampled
@pytest.mark.parametrize("files", [48, 64, 256])
def test_with_few_descriptors_strangers_neither_block_clients_nor_fill_the_log(
    outside: Outside, strangers: Callable[[str], Strangers], files: int
):
    outside.write("Users/mira/memories/2026-05-01.md", "- The marigold is in bloom\n")
    token = token_for(outside, "mira")
    with serve_process(outside, "--config", "vault-memory.toml", "--port", "0") as process:
        # a limit that it was not told of when it started: it finds out when a connection cannot be taken
        resource.prlimit(process.process.pid, resource.RLIMIT_NOFILE, (files, files))
        crowd = strangers(process.place)
        for _ in range(300):
            crowd.connect(b"GET / HTTP/1.1\r\n")
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=process.place, headers=headers, timeout=PATIENCE_SECONDS
        ) as client:
            until(lambda: client.post("/v1/search", json={"query": "marigold"}).status_code == 200)
            answers = [client.post("/v1/search", json={"query": "marigold"}) for _ in range(20)]
        assert process.end() == 0

    assert [answer.status_code for answer in answers] == [200] * 20
    assert len(process.errors) <= 5, process.errors


def test_after_a_shortage_of_descriptors_as_many_clients_are_accepted_as_before(
    memory: VaultMemory, serve: Serve, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listen, "RECOVERY_SECONDS", 0.2)
    limits = Limits()
    server = serve(memory, limits=limits)
    url = httpx.URL(server.url)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    with socket.socket() as connection:
        free = os.dup(connection.fileno())
        os.close(free)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
            connection.connect((url.host, url.port))
            until(lambda: limits.most < Limits().most)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    until(lambda: server.client().get("/healthz").status_code == 200)
    until(lambda: server.client().get("/healthz") and limits.most == Limits().most)


@pytest.mark.parametrize(
    ("files", "most", "of_address"), [(20, 10, 8), (64, 32, 24), (1024, 512, 384)]
)
def test_half_of_the_descriptors_are_reserved_for_files(files: int, most: int, of_address: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        limits = limits_of_process()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (limits.most, limits.most_of_address) == (most, of_address)


LOOSE = {
    "a bare LF behind a header": b"POST /mcp HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "a bare LF behind the request line": b"GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n",
    "bare LFs only": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "a bare LF at the end of the head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n",
    "a header that continues after a blank": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: y\r\n z\r\n\r\n",
    "a header that continues after a tab": b"GET /v1/facts HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\tz\r\n\r\n",
    "a folded length": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n 2\r\n\r\n{}",
    "folded trailers": b"POST /v1/search HTTP/1.1\r\n"
    + HEAD
    + TOKEN
    + JSON
    + b"Transfer-Encoding: chunked\r\n"
    + b"\r\n0\r\nX: y\r\n z\r\n\r\n",
    "a bare LF at the end of a body in chunks": b"POST /v1/search HTTP/1.1\r\n"
    + HEAD
    + TOKEN
    + JSON
    + b"Transfer-Encoding: chunked\r\n"
    + b"\r\n10\r\n"
    + b'{"query":"boat"}'
    + b"\r\n0\r\n\n",
}


@pytest.mark.parametrize("request_bytes", LOOSE.values(), ids=LOOSE)
@pytest.mark.parametrize("step", [1, 1 << 16], ids=["byte by byte", "at once"])
def test_a_head_that_a_proxy_may_read_in_another_way_is_refused(
    served: Served, strangers: Callable[[str], Strangers], request_bytes: bytes, step: int
) -> None:
    connection = strangers(served.url).connect()

    # The server may answer and hang up before it has read all of it.
    with contextlib.suppress(OSError):
        for start in range(0, len(request_bytes), step):
            connection.sendall(request_bytes[start : start + step])
        connection.shutdown(socket.SHUT_WR)

    answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1") == 1


def test_a_body_may_have_any_lines(served: Served, strangers: Callable[[str], Strangers]) -> None:
    body = b'{"query":\n "boat"\n\n}'
    head = b"POST /v1/search HTTP/1.1\r\n" + HEAD + TOKEN + JSON
    length = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
    connection = strangers(served.url).connect(head + length + body)

    assert rest(connection).startswith(b"HTTP/1.1 200")
