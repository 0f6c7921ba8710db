"""One conversation over every way there is: in memory, over a pipe to a process, and over HTTP to a real `serve`."""

import base64
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.every import every
from tests.mcp.vaults import ALICE, BOB, PLAN, WORDS, connected, fill, opened, words
from tests.scenarios.outside import PATIENCE_SECONDS, Outside, at
from vault_memory.api.vault_service import CALLER, SingleVault
from vault_memory.mcp.protocol import CAPABILITIES_KEY, STATELESS_VERSIONS, VERSION_KEY
from vault_memory.mcp.streamable_http import application
from vault_memory.rules.paths.scopes import Caller

TOKENS = {"alice": "alice-" + "a" * 40, "bob": "bob-" + "b" * 40}
OPTIONS = {
    "alice": ["--channel", "harbour", "--group", "crew", "--private"],
    "bob": ["--channel", "kitchen", "--private"],
}
CALLERS = {"alice": ALICE, "bob": BOB}
OWN = {"alice": {"albatross", "cormorant", "egret"}, "bob": {"bittern", "dunlin"}}

Connect = Callable[[str, str], AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    outside = at(tmp_path_factory.mktemp("place"))
    fill(outside)
    return outside


@dataclass(frozen=True)
class Http:
    """A `serve` of its own process."""

    url: str
    process: subprocess.Popen[str]

    def post(self, said: object, **headers: str) -> httpx.Response:
        accepts = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {TOKENS['alice']}",
        }
        told = {**accepts, "content-type": "application/json", **headers}
        return httpx.post(
            f"{self.url}/mcp", content=json.dumps(said), headers=told, timeout=PATIENCE_SECONDS
        )


@pytest.fixture(scope="module")
def http(place: Outside) -> Iterator[Http]:
    rows = []
    for user, token in TOKENS.items():
        file = place.home / f"{user}.token"
        file.touch(0o600)
        file.write_text(token)
        rows.append(f'[[serve.tokens]]\nuser = "{user}"\ntoken_file = "{file}"\n')
        rows.append(
            'channel = "harbour"\ngroups = ["crew"]\n'
            if user == "alice"
            else 'channel = "kitchen"\n'
        )
        rows.append("private = true\n")
    settings = place.home / "served.toml"
    settings.write_text("\n".join(rows))
    process = subprocess.Popen(
        place.command("--config", str(settings), "serve", "--port", "0"),
        env=place.environment,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line + process.stderr.read()
        yield Http(line.split()[-1], process)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stderr.close()


@pytest.fixture
def connect(request: pytest.FixtureRequest, place: Outside) -> Connect:
    """Connects somebody, by whichever way."""

    @asynccontextmanager
    async def in_memory(user: str, mode: str) -> AsyncIterator[Client]:
        with opened(place) as memory:
            async with connected(memory, CALLERS[user], mode=mode) as client:
                yield client

    @asynccontextmanager
    async def over_stdio(user: str, mode: str) -> AsyncIterator[Client]:
        program, *arguments = place.command("mcp", "--user", user, *OPTIONS[user])
        async with Client(
            StdioServerParameters(command=program, args=arguments, env=place.environment), mode=mode
        ) as client:
            yield client

    @asynccontextmanager
    async def over_http(user: str, mode: str) -> AsyncIterator[Client]:
        found: Http = request.getfixturevalue("http")
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKENS[user]}"}) as carrier,
            Client(
                streamable_http_client(f"{found.url}/mcp", http_client=carrier), mode=mode
            ) as client,
        ):
            yield client

    return {"memory": in_memory, "stdio": over_stdio, "http": over_http}[request.param]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("connect", "mode"),
    [
        ("memory", "auto"),
        ("memory", "legacy"),
        ("stdio", "auto"),
        ("stdio", "legacy"),
        ("http", "auto"),
        ("http", "legacy"),
    ],
    indirect=["connect"],
)
def test_a_client_can_search_read_and_get_context_over_each_transport(connect: Connect, mode: str):
    async def chat() -> None:
        async with connect("alice", mode) as client:
            assert client.server_info.name == "vault-memory"
            assert "memory_context" in client.instructions
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"memory_search", "memory_get"} <= tools
            found = await client.call_tool("memory_search", {"query": "ferry", "limit": 20})
            assert not found.is_error
            assert {word for word in WORDS.values() if word in words(found)} == OWN["alice"]
            note = await client.call_tool("memory_get", {"note": PLAN})
            assert "Paint the ferry" in note.structured_content["text"]
            block = await client.call_tool("memory_context", {"prompt": "how is the ferry?"})
            assert "albatross" in words(block)
            wrong = await client.call_tool("memory_search", {"query": "ferry", "user": "bob"})
            assert (wrong.is_error, "user" in words(wrong)) == (True, True)
            with pytest.raises(MCPError, match="memory_everything"):
                await client.call_tool("memory_everything", {})
            listed = (await client.list_resources()).resources
            assert f"vault:///{PLAN}" in {one.uri for one in listed}
            [content] = (await client.read_resource(f"vault:///{PLAN}")).contents
            assert "Paint the ferry" in content.text
            with pytest.raises(MCPError, match="there is no resource"):
                await client.read_resource("vault:///Users/bob/memories/plan.md")

    anyio.run(chat)


@pytest.mark.sampled
@pytest.mark.parametrize("connect", ["memory", "http"], indirect=True)
def test_two_concurrent_people_never_see_each_others_notes(connect: Connect):
    seen: dict[str, str] = dict.fromkeys(OWN, "")

    async def ask(user: str) -> None:
        async with connect(user, "auto") as client:
            for tool, arguments in (
                ("memory_search", {"query": "ferry secret", "limit": 50}),
                ("memory_context", {"prompt": "the ferry"}),
                ("memory_entity", {"name": "ferry", "past": True}),
                ("memory_stats", {}),
            ):
                result = await client.call_tool(tool, arguments)
                seen[user] += words(result) + json.dumps(result.structured_content)
            resources = (await client.list_resources()).resources
            seen[user] += "".join(one.uri for one in resources)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            for user in OWN:
                tasks.start_soon(ask, user)

    anyio.run(both)

    for user, own in OWN.items():
        assert {word for word in WORDS.values() if word in seen[user]} == own
        other = "bob" if user == "alice" else "alice"
        assert other not in seen[user]


def test_a_client_asks_once_for_the_tools_and_again_for_the_notes(place: Outside):
    asked: list[str] = []

    async def chat() -> None:
        with opened(place) as memory:
            app = application(SingleVault(memory))

            async def counted(scope, receive, send) -> None:
                headers = dict(scope["headers"])
                asked.append(headers.get(b"mcp-method", b"").decode())
                await app({**scope, "state": {CALLER: ALICE}}, receive, send)

            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(counted)) as carrier:
                transport = streamable_http_client("http://localhost/mcp", http_client=carrier)
                async with Client(transport) as client:
                    for _ in range(2):
                        await client.list_tools()
                        await client.list_prompts()
                        await client.list_resources()

    anyio.run(chat)

    counts = {method: asked.count(method) for method in asked if method.endswith("/list")}
    assert counts == {"tools/list": 1, "prompts/list": 1, "resources/list": 2}


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "ferry"}},
}


@every(
    "token",
    ["", "Bearer", "Bearer wrong", f"Basic {TOKENS['alice']}", f"Bearer {TOKENS['alice']}x"],
)
def test_a_request_without_a_valid_token_is_refused(http: Http, token: str):
    answer = http.post(SEARCH, authorization=token)

    assert answer.status_code == 401
    assert not any(word in answer.text for word in WORDS.values())


def test_a_request_with_a_wrong_host_or_origin_is_refused(http: Http):
    assert http.post(SEARCH, host="evil.example").status_code == 421
    assert http.post(SEARCH, origin="https://evil.example").status_code == 403
    assert http.post(SEARCH).status_code == 200


def test_requests_need_no_session_and_are_answered_in_json(http: Http):
    hello = http.post(HELLO)
    assert hello.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in hello.headers
    assert hello.json()["result"]["serverInfo"]["name"] == "vault-memory"
    found = http.post(SEARCH)
    assert found.headers["content-type"].startswith("application/json")
    assert "albatross" in found.json()["result"]["content"][0]["text"]


@every(
    ("said", "code"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/burn"}, -32601),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}},
            -32602,
        ),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {}}}, -32602),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "resources/read",
                "params": {"uri": "file:///etc/passwd"},
            },
            -32602,
        ),
        (
            {**SEARCH, "params": {"name": "memory_search", "arguments": {"query": "half \ud83d"}}},
            None,
        ),
        ([], None),
        ("hello", None),
        ({"id": 1}, None),
    ],
)
def test_an_invalid_request_is_reported_as_invalid(http: Http, said: object, code: int | None):
    answer = http.post(said)

    assert answer.status_code < 500
    assert "Traceback" not in answer.text
    assert code is None or answer.json()["error"]["code"] == code


STATELESS = {
    **SEARCH,
    "params": {
        **SEARCH["params"],
        "_meta": {VERSION_KEY: STATELESS_VERSIONS[0], CAPABILITIES_KEY: {}},
    },
}
"""A request of a version that each request names, in its headers, too"""
HEADERS = {
    "mcp-protocol-version": STATELESS_VERSIONS[0],
    "mcp-method": "tools/call",
    "mcp-name": "memory_search",
}


def test_a_request_of_a_stateless_version_says_the_same_in_its_headers(http: Http):
    in_base64 = base64.b64encode(b"memory_search").decode()
    equal = [HEADERS, {**HEADERS, "mcp-name": f"=?base64?{in_base64}?="}]

    for headers in equal:
        answer = http.post(STATELESS, **headers)
        assert answer.status_code == 200
        assert answer.json()["result"]["resultType"] == "complete"


@pytest.mark.sampled
@every(
    ("changes", "code"),
    [
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-method": None}, -32020),
        ({"mcp-name": "memory_forget"}, -32020),
        ({"mcp-name": None}, -32020),
        ({"mcp-name": "=?base64?bWVtb3J5X3NlYXJjaA?="}, -32020),
        ({"mcp-protocol-version": "2025-06-18"}, -32020),
        ({"mcp-protocol-version": None}, -32020),
        ({"mcp-protocol-version": "2031-01-01"}, -32020),
    ],
)
def test_a_header_that_contradicts_the_body_is_refused(
    http: Http, changes: dict[str, str | None], code: int
):
    headers = {name: value for name, value in {**HEADERS, **changes}.items() if value is not None}

    answer = http.post(STATELESS, **headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert "albatross" not in answer.text


def test_an_unknown_version_names_the_versions_that_are_known(http: Http):
    meta = {VERSION_KEY: "2031-01-01", CAPABILITIES_KEY: {}}
    said = {**SEARCH, "params": {**SEARCH["params"], "_meta": meta}}

    answer = http.post(said, **{**HEADERS, "mcp-protocol-version": "2031-01-01"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32022
    assert answer.json()["error"]["data"]["supported"] == list(STATELESS_VERSIONS)
    without = http.post(SEARCH, **{**HEADERS, "mcp-protocol-version": "2031-01-01"})
    assert without.json()["error"]["code"] == -32602


def test_a_notification_is_accepted_and_nothing_is_answered(http: Http):
    for said in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ):
        answer = http.post(said)
        assert (answer.status_code, answer.content) == (202, b"")


def test_a_body_or_an_answer_that_is_not_json_is_refused(http: Http):
    assert http.post(SEARCH, accept="text/event-stream").status_code == 406
    assert http.post(SEARCH, **{"content-type": "text/plain"}).status_code == 415
    assert (
        http.post(SEARCH, **{"content-type": "application/json; charset=utf-8"}).status_code == 200
    )
    assert http.post([SEARCH]).json()["error"]["code"] == -32600


def test_an_app_without_authentication_refuses_every_request(place: Outside):
    async def ask() -> httpx.Response:
        with opened(place) as memory:
            transport = httpx.ASGITransport(application(SingleVault(memory)))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                return await client.post(
                    "/mcp", json=SEARCH, headers={"accept": "application/json"}
                )

    answer = anyio.run(ask)

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorised")


def test_other_http_methods_are_refused(http: Http):
    for method in ("GET", "DELETE", "PUT"):
        token = {"authorization": f"Bearer {TOKENS['alice']}"}
        assert (
            httpx.request(
                method, f"{http.url}/mcp", headers=token, timeout=PATIENCE_SECONDS
            ).status_code
            == 405
        )
    assert http.post({**SEARCH, "params": {"name": "x" * (2 << 20)}}).status_code == 413


@pytest.mark.sampled
def test_a_running_daemon_answers_the_tools(place: Outside):
    async def reason(client: Client) -> str:
        found = await client.call_tool("memory_search", {"query": "ferry"})
        assert {hit["scope"] for hit in found.structured_content["hits"]} == {"user:alice"}
        block = await client.call_tool("memory_context", {"prompt": "the ferry"})
        assert "albatross" in words(block)
        assert "bittern" not in words(block)
        return str(found.structured_content["freshness"]["reason"])

    # The daemon looks for the server; a single search sees that no note has a vector.
    place.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "api"

    async def chat() -> None:
        with opened(place) as memory:
            async with connected(memory, Caller("alice")) as client:
                assert "no note has a vector" in await reason(client)
                with place.daemon():
                    assert "base_url" in await reason(client)
                assert "no note has a vector" in await reason(client)

    anyio.run(chat)
