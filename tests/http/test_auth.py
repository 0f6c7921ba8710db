"""Who is let in over a real socket, and how everybody else is sent away."""

import socket
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pytest
from starlette.types import Receive, Scope, Send

from tests.every import every
from tests.http.served import CALLERS, MIRA, TOMAS, Served, serving
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http.auth import Gate, host_name
from vault_memory.rules.paths.scopes import Caller

Serve = Callable[..., Served]


def assert_refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert set(answer.json()["error"]) >= {"code", "message", "hint"}
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.sampled
@every(
    "said",
    [
        [],
        [("authorization", "Bearer")],
        [("authorization", "Bearer " + MIRA[:-1])],
        [("authorization", "Bearer " + MIRA.upper())],
        [("authorization", "Basic " + MIRA)],
        [("authorization", MIRA)],
        [("authorization", f"Bearer {MIRA} {MIRA}")],
        [("authorization", f"Bearer {MIRA}"), ("authorization", f"Bearer {TOMAS}")],
        [("x-api-key", MIRA), ("cookie", f"token={MIRA}")],
        [("authorization", b"Bearer \xff\xfe")],
    ],
)
def test_a_request_without_a_known_token_is_refused(served: Served, said: list):
    answer = served.client(None).get("/v1/notes", headers=said)

    assert_refused(answer, 401, "unauthorised")
    assert answer.headers["www-authenticate"].startswith('Bearer realm="vault-memory"')
    assert MIRA not in answer.text


def test_a_token_in_the_url_is_not_accepted(served: Served):
    assert_refused(
        served.client(None).get("/v1/notes", params={"token": MIRA, "access_token": MIRA}),
        401,
        "unauthorised",
    )


def test_the_word_bearer_is_case_insensitive(served: Served):
    assert served.client(None, authorization=f"bearer {MIRA}").get("/v1/notes").status_code == 200


@pytest.mark.sampled
@every(
    "path",
    ["/", "/v1", "/v1/nothing", "/mcp", "/docs", "/healthz/", "//healthz", "/openapi.json/x"],
)
def test_without_a_token_a_missing_path_is_unauthorised_not_missing(served: Served, path: str):
    assert_refused(served.client(None).get(path), 401, "unauthorised")
    assert_refused(served.client().get(path), 404, "not_found")


def test_health_and_the_openapi_document_need_no_token_but_the_right_host(served: Served):
    assert served.client(None).get("/healthz").json() == {"ok": True}
    assert served.client(None).get("/openapi.json").json()["openapi"] == "3.1.0"
    assert_refused(served.client(None, host="example.org").get("/openapi.json"), 421, "wrong_host")


@every(
    "host",
    [
        "example.org",
        "127.0.0.1.example.org",
        "localhost.example.org:80",
        "169.254.169.254",
        "[::2]",
    ],
)
def test_a_wrong_host_is_refused_even_with_a_token(served: Served, host: str):
    assert_refused(served.client(host=host).get("/v1/notes"), 421, "wrong_host")


@every("host", ["localhost", "LOCALHOST:8377", "127.0.0.1", "[::1]:80", "localhost."])
def test_the_names_of_this_machine_are_accepted_as_host(served: Served, host: str):
    assert served.client(host=host).get("/healthz").status_code == 200


@every(
    ("header", "name"),
    [
        ("a.example:80", "a.example"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("A.example.", "a.example"),
        ("", ""),
    ],
)
def test_the_host_name_is_parsed_from_the_host_header(header: str, name: str):
    assert host_name(header) == name


@every("origin", ["http://example.org", "null", "http://localhost:3000", "http://127.0.0.1"])
def test_a_browser_page_is_refused_unless_its_origin_is_allowed(served: Served, origin: str):
    assert_refused(served.client(origin=origin).get("/v1/notes"), 403, "wrong_origin")
    preflight = served.client(None, origin=origin).options(
        "/v1/search", headers={"access-control-request-method": "POST"}
    )
    assert_refused(preflight, 403, "wrong_origin")


@every(
    ("origin", "host"),
    [
        ("http://localhost:8377", "localhost:8377"),
        ("http://127.0.0.1:8377", "127.0.0.1:8377"),
        ("http://[::1]:8377", "[::1]:8377"),
        ("HTTP://LOCALHOST", "localhost"),
        # Behind a proxy with a certificate, the server itself speaks no TLS.
        ("https://localhost", "localhost"),
    ],
)
def test_a_page_of_the_server_itself_may_call_it(served: Served, origin: str, host: str):
    assert served.client(origin=origin, host=host).get("/v1/notes").status_code == 200


@every(
    ("origin", "host"),
    [
        ("http://localhost:3000", "localhost:8377"),
        ("http://localhost", "localhost:8377"),
        ("http://evil.example", "localhost"),
        ("null", "localhost"),
        ("file://", "localhost"),
        ("http://localhost.evil.example", "localhost"),
        ("ftp://localhost", "localhost"),
    ],
)
def test_a_page_of_another_address_may_not_call(served: Served, origin: str, host: str):
    assert_refused(served.client(origin=origin, host=host).get("/v1/notes"), 403, "wrong_origin")


def test_a_request_without_a_host_is_answered_where_the_host_is_empty():
    """`serve.host` may be empty, and a client of HTTP/1.0 names no host."""
    reached = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["path"])

    gate = Gate(application, hosts=("",), origins=())
    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": []}
    anyio.run(gate, scope, None, None)

    assert reached == ["/healthz"]


def test_a_page_with_the_name_of_a_foreign_host_is_refused_for_the_name(served: Served):
    client = served.client(origin="http://evil.example", host="evil.example")

    assert_refused(client.get("/v1/notes"), 421, "wrong_host")


def test_an_allowed_origin_and_host_are_served(memory: VaultMemory, serve: Serve):
    page = "https://chat.example.org"
    server = serve(memory, allowed_origins=(page,), allowed_hosts=("memory.example.org",))
    browser = server.client(origin=page, host="memory.example.org")
    asks = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }

    preflight = server.client(None, origin=page).options("/v1/search", headers=asks)

    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == page
    assert browser.get("/v1/notes").headers["access-control-allow-origin"] == page
    assert_refused(
        server.client(origin="https://example.org").get("/v1/notes"), 403, "wrong_origin"
    )


def test_a_token_over_its_rate_limit_waits_without_affecting_others(
    memory: VaultMemory, serve: Serve
):
    server = serve(memory, requests_per_minute=3)
    mira, tomas = server.client(MIRA), server.client(TOMAS)

    assert [mira.get("/v1/facts").status_code for _ in range(3)] == [200] * 3

    late = mira.get("/v1/facts")
    assert_refused(late, 429, "too_often")
    assert 1 <= int(late.headers["retry-after"]) <= 20
    assert tomas.get("/v1/facts").status_code == 200
    assert mira.get("/healthz").status_code == 200


def test_guessing_tokens_is_slowed_down_without_locking_others_out(
    memory: VaultMemory, serve: Serve
):
    server = serve(memory)
    stranger = server.client("guessed" * 8)

    statuses = [stranger.get("/v1/notes").status_code for _ in range(40)]

    assert statuses[:30] == [401] * 30
    assert statuses[-1] == 429
    assert server.client(MIRA).get("/v1/notes").status_code == 200


def test_a_body_that_is_too_long_is_refused_however_it_is_sent(memory: VaultMemory, serve: Serve):
    server = serve(memory, max_body_bytes=1000)
    client = server.client(**{"content-type": "application/json"})
    long = b'{"query": "' + b"x" * 1000 + b'"}'

    assert_refused(client.post("/v1/search", content=long), 413, "too_long")
    assert_refused(
        client.post("/v1/search", content=iter([long[:600], long[600:]])), 413, "too_long"
    )
    assert_refused(client.post("/healthz", content=long), 413, "too_long")
    assert client.post("/v1/search", content=b'{"query": "x"}' + b" " * 900).status_code == 200


@every("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_of_another_content_type_is_not_read(served: Served, kind: str | None):
    headers = {"content-type": kind} if kind else {}

    assert_refused(
        served.client().post("/v1/search", content=b'{"query": "x"}', headers=headers),
        415,
        "not_json",
    )


@pytest.mark.sampled
@every(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"{",
        b'{"query": 1}',
        b'{"query": ' + b"[" * 100_000,
        b'{"query": "\\ud800"}',
        b'{"query": "\xff"}',
        b'{"query": "x", "limit": 1e999}',
        b'{"query": "x", "limit": 0}',
        b'{"query": "x"} {}',
        b'{"x": ' + b'{"x": ' * 50_000 + b"1" + b"}" * 50_001,
    ],
    ids=range(13),
)
def test_an_invalid_body_is_refused_with_the_reason(served: Served, body: bytes):
    assert_refused(
        served.client().post(
            "/v1/search", content=body, headers={"content-type": "application/json"}
        ),
        400,
        "usage_error",
    )


def test_a_wrong_method_is_answered_with_the_allowed_one(served: Served):
    answer = served.client().delete("/v1/search")

    assert_refused(answer, 405, "wrong_method")
    assert answer.headers["allow"] == "POST"


@pytest.mark.sampled
def test_the_owner_of_a_unix_socket_needs_no_token(
    memory: VaultMemory, serve: Serve, tmp_path: Path
):
    path = tmp_path / "vault.sock"
    server = serve(memory, local=Caller("mira"), uds=path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (
        server.client(None).get("/v1/notes").json() == server.client(MIRA).get("/v1/notes").json()
    )
    assert (
        server.client(TOMAS).get("/v1/notes").json() != server.client(MIRA).get("/v1/notes").json()
    )
    assert_refused(server.client("wrong" * 8).get("/v1/notes"), 401, "unauthorised")
    assert_refused(server.client(None, host="example.org").get("/v1/notes"), 421, "wrong_host")


def test_a_truncated_request_changes_nothing(memory: VaultMemory, serve: Serve):
    server = serve(memory)
    url = httpx.URL(server.url)
    body = b'{"session": "s", "role": "user", "text": "zyzzyva"}'
    lines = ("POST /v1/turns HTTP/1.1", "Host: localhost", f"Authorization: Bearer {MIRA}")
    head = "\r\n".join(
        [*lines, "Content-Type: application/json", f"Content-Length: {len(body) + 1}", "", ""]
    )

    with socket.create_connection((url.host, url.port or 0)) as connection:
        connection.sendall(head.encode() + body)

    assert server.client().post("/v1/search", json={"query": "zyzzyva"}).json()["hits"] == []


class Beside:
    """An app that is mounted: it tells whom it was asked by, and whether it was started."""

    started = stopped = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            self.started = True
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self.stopped = True
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = (await receive())["body"]
        said = f"{scope['state']['caller'].user} {scope['path']} {body.decode()}"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": said.encode()})


def test_a_mounted_app_shares_the_authentication_and_the_lifespan(
    memory: VaultMemory, serve: Serve
):
    beside = Beside()

    with serving(memory, CALLERS, mounts={"/beside": beside}) as server:
        assert beside.started
        assert server.client(TOMAS).post("/beside", content=b"hello").text == "tomas /beside hello"
        assert server.client(MIRA).post("/beside/more", content=b"").text == "mira /beside/more "
        assert_refused(server.client(None).post("/beside"), 401, "unauthorised")
        assert_refused(server.client(host="example.org").post("/beside"), 421, "wrong_host")
        assert_refused(server.client().get("/besides"), 404, "not_found")
        assert not beside.stopped
    assert beside.stopped
