"""Three vaults behind one address: a token reaches its own, and learns of no other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.http.many_vaults import IDS, NAMES, NOTE, TOKENS, WORDS, Host, Start, callers_of, starter
from tests.http.served import digests_of
from tests.mcp.vaults import words
from tests.scenarios.outside import until
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import ConfigError, Locked, VaultUnreachable
from vault_memory.http.application import MOST_CALLS
from vault_memory.http.tokens import Tokens, token_digest
from vault_memory.rules.paths.scopes import Caller

UNKNOWN = "unknown-" + "u" * 40
SEARCH = {"query": "ferry", "limit": 50}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """For tests that only read."""
    with ExitStack() as stack:
        yield starter(tmp_path_factory.mktemp("host"), stack)()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """For tests that write, or break a vault."""
    with ExitStack() as stack:
        yield starter(tmp_path, stack)


def others(name: str) -> set[str]:
    return {word for vault, word in WORDS.items() if vault != name}


def assert_only_own(text: str, name: str) -> None:
    assert WORDS[name] in text
    assert [word for word in others(name) if word in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_token_reaches_the_notes_of_its_own_vault(host: Host, name: str) -> None:
    client = host.client(TOKENS[name])

    answers = [
        client.post("/v1/search", json=SEARCH),
        client.post("/v1/context", json={"prompt": "what does the ferry carry?"}),
        client.get(f"/v1/notes/{NOTE}"),
    ]

    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert_only_own(answer.text, name)


def test_what_a_bot_saves_is_in_no_other_vault(start: Start) -> None:
    host = start()
    north, south = host.client(TOKENS["north"]), host.client(TOKENS["south"])
    said = "I own a red kayak. I saw a puffin today."
    turn = {"session": "walk", "role": "user", "text": said}

    assert north.post("/v1/turns", json=turn).status_code == 200
    saved = north.post("/v1/remember", json={"text": "I own a red kayak"})

    assert saved.json()["outcome"] == "added"
    for query, text in (("puffin", "puffin"), ("kayak", "kayak")):
        hits = north.post("/v1/search", json={"query": query})
        assert text in hits.text
        strange = south.post("/v1/search", json={"query": query})
        assert strange.json()["hits"] == []
    files = [
        file.read_text()
        for name in ("south", "west")
        for file in host.vaults.folders[IDS[name]].rglob("*.*")
        if file.is_file()
    ]
    assert not any("puffin" in text or "kayak" in text for text in files)


@pytest.mark.sampled
def test_many_bots_at_once_get_their_own_answers(host: Host) -> None:
    def ask(number: int) -> tuple[str, httpx.Response]:
        name = NAMES[number % len(NAMES)]
        client = clients[name]
        return name, client.post("/v1/search", json=SEARCH)

    clients = {name: host.client(TOKENS[name]) for name in NAMES}
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(60)))

    for name, answer in answers:
        assert answer.status_code == 200
        assert_only_own(answer.text, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_bot_over_mcp_reaches_the_notes_of_its_own_vault(host: Host, name: str) -> None:
    async def chat() -> None:
        headers = {"authorization": f"Bearer {TOKENS[name]}"}
        async with (
            httpx2.AsyncClient(headers=headers) as carrier,
            Client(streamable_http_client(f"{host.url}/mcp", http_client=carrier)) as client,
        ):
            hits = await client.call_tool("memory_search", {"query": "ferry"})
            note = await client.call_tool("memory_get", {"note": NOTE})
            listed = await client.list_resources()
            uri = next(
                resource.uri
                for resource in listed.resources
                if str(resource.uri).endswith("harbour.md")
            )
            resource = await client.read_resource(uri)
            for answer in (words(hits), words(note), resource.model_dump_json()):
                assert_only_own(answer, name)

    anyio.run(chat)


@pytest.mark.sampled
def test_an_unknown_token_opens_no_vault(start: Start) -> None:
    host = start()

    for path in ("/v1/notes", "/mcp", "/v1/nothing"):
        for token in (None, UNKNOWN, TOKENS["north"][:-1]):
            assert host.client(token).get(path).status_code == 401

    assert host.vaults.openings == {}


def test_a_vault_that_is_gone_looks_like_an_unknown_token(start: Start) -> None:
    """Its token was good a moment ago: the host has not read its catalog again."""
    host = start()
    del host.vaults.folders[IDS["south"]]
    gone, unknown = host.client(TOKENS["south"]), host.client(UNKNOWN)

    for path in ("/v1/notes", "/v1/facts"):
        assert_same(gone.get(path), unknown.get(path))
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert_same(gone.post("/mcp", json=message), unknown.post("/mcp", json=message))


def assert_same(one: httpx.Response, other: httpx.Response) -> None:
    """The same answer but for its date."""

    def shown(answer: httpx.Response) -> object:
        headers = [pair for pair in answer.headers.multi_items() if pair[0] != "date"]
        return answer.status_code, headers, answer.content

    assert shown(one) == shown(other)


TROUBLES = [
    VaultUnreachable("`/srv/people/south` is gone", hint="mount `/srv/people`"),
    ConfigError("`/srv/people/south.toml` is damaged", hint="see north's"),
    Locked("a process of `/srv/people/north` writes", hint="stop pid 7"),
    OSError(5, "Input/output error", "/srv/people/south/index"),
    DatabaseError("/srv/people/south/index is malformed"),
]


@pytest.mark.sampled
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda error: type(error).__name__)
def test_a_vault_that_cannot_be_opened_says_so_without_a_name(
    start: Start, trouble: Exception
) -> None:
    host = start()
    host.vaults.trouble["south"] = trouble
    client = host.client(TOKENS["south"])
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    answers = [client.get("/v1/notes"), client.post("/mcp", json=message)]

    for answer in answers:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert answer.json()["error"]["code"] == "vault_unavailable"
        assert "try again" in answer.json()["error"]["hint"]
        for name in ("srv", *NAMES, *IDS.values()):
            assert name not in answer.text
    assert host.client(TOKENS["north"]).get("/v1/notes").status_code == 200


def test_a_vault_is_in_use_only_while_it_answers(start: Start) -> None:
    host = start()
    client = host.client(TOKENS["north"])

    assert client.get("/v1/notes").status_code == 200
    assert client.get("/v1/notes/Users/mira/none.md").status_code == 404
    assert client.post("/v1/search", json={"query": 7}).status_code == 400

    assert host.vaults.most_in_use["north"] == 1
    assert host.vaults.in_use["north"] == 0


@pytest.mark.sampled
def test_one_vault_takes_only_a_few_threads(start: Start) -> None:
    host = start()
    client = host.client(TOKENS["north"])
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: client.get("/v1/notes"), range(72)))

    assert {answer.status_code for answer in answers} == {200}
    assert host.vaults.most_in_use["north"] <= MOST_CALLS


def test_the_limits_of_the_host_are_those_of_each_token(start: Start) -> None:
    host = start(requests_per_minute=3, max_body_bytes=200)
    north, south = host.client(TOKENS["north"]), host.client(TOKENS["south"])

    long_search = {"query": "ferry " * 100}
    assert north.post("/v1/search", json=long_search).status_code == 413
    statuses = [north.get("/v1/notes").status_code for _ in range(4)]

    assert statuses == [200, 200, 429, 429]
    assert south.get("/v1/notes").status_code == 200


def test_the_counts_of_a_host_name_no_vault_and_no_note(start: Start) -> None:
    host = start()
    client = host.client(TOKENS["north"])
    client.get(f"/v1/notes/{NOTE}")
    client.get("/mcp/north")

    def paths() -> set[str]:
        return {
            sample.labels["path"] for family in host.counts.families() for sample in family.samples
        }

    # A request is counted after its answer was sent.
    until(lambda: paths() == {"/v1/notes/{note}", "/mcp/{rest}"}, says=paths)


def test_a_host_has_no_routes_of_single_vaults(host: Host) -> None:
    for path in ("/metrics", "/talk"):
        assert host.client(TOKENS["north"]).get(path).status_code == 404
    for path in ("/healthz", "/openapi.json"):
        assert host.client(None).get(path).status_code == 200


def owner(tokens: Tokens, token: str) -> str | None:
    async def ask() -> str | None:
        match = await tokens.owner(token_digest(token))
        return None if match is None else match.vault

    return anyio.run(ask)


def test_a_token_of_two_vaults_opens_neither() -> None:
    callers = callers_of(TOKENS)
    both = digests_of({TOKENS["north"]: Caller("mira"), UNKNOWN: Caller("mira")})

    tokens = Tokens(callers | {IDS["south"]: both})

    assert owner(tokens, TOKENS["north"]) is None
    assert owner(tokens, UNKNOWN) == IDS["south"]
    assert list(tokens.shared()) == [(IDS["north"], IDS["south"])]
    assert tokens.ambiguous() == [token_digest(TOKENS["north"])]

    del callers[IDS["south"]]
    tokens = Tokens(callers)

    assert owner(tokens, TOKENS["north"]) == IDS["north"]
    assert owner(tokens, UNKNOWN) is None
    assert list(tokens.shared()) == []


def test_a_changed_token_opens_the_vault_and_the_old_one_does_not() -> None:
    changed = {IDS["north"]: digests_of({UNKNOWN: Caller("mira")})}
    tokens = Tokens(callers_of(TOKENS) | changed)

    assert owner(tokens, UNKNOWN) == IDS["north"]
    assert owner(tokens, TOKENS["north"]) is None
    assert len(tokens) == len(NAMES)
