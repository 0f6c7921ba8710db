"""What an attacker tries: with codes, tokens, redirects, forms, names and floods."""

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from mcp.server.auth.provider import AuthorizationParams

from tests.addons.connector.connected import CALLBACK, Connected, query_of
from vault_memory.addons.connector import grants
from vault_memory.addons.connector.connector import REQUESTS_PER_MINUTE, Connector
from vault_memory.addons.connector.provider import KnownClient
from vault_memory.addons.page.browser_sessions import Rights
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import UsageError


def error_of(answer: httpx.Response) -> str:
    """The code of an OAuth error."""
    assert answer.status_code in (400, 401), answer.text
    found: str = answer.json()["error"]
    return found


# --- Codes ---


def test_a_code_that_is_used_twice_ends_what_it_opened(server: Connected) -> None:
    program = server.registered()
    code = server.code(server.person("mira"), program)
    tokens = server.exchange(program, code).json()
    assert server.tools(tokens["access_token"]).status_code == 200

    assert error_of(server.exchange(program, code)) == "invalid_grant"

    assert server.tools(tokens["access_token"]).status_code == 401
    assert error_of(server.refresh(program, tokens["refresh_token"])) == "invalid_grant"


def test_a_code_is_of_no_use_to_another_program(server: Connected) -> None:
    program, thief = server.registered(), server.registered()
    code = server.code(server.person("mira"), program)

    assert error_of(server.exchange(thief, code)) == "invalid_grant"
    assert server.exchange(program, code).status_code == 200


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"code": "x" * 43}, "invalid_grant"),
        ({"redirect_uri": CALLBACK + "/"}, "invalid_request"),
        ({"redirect_uri": "http://localhost:1/callback"}, "invalid_request"),
        ({"client_secret": "0" * 64}, "invalid_client"),
        ({"client_id": "unknown"}, "invalid_client"),
        ({"resource": "https://other.example.org/mcp"}, "invalid_target"),
    ],
)
def test_a_code_opens_nothing_when_one_thing_differs(
    server: Connected, changed: dict[str, str], error: str
) -> None:
    program = server.registered()
    code = server.code(server.person("mira"), program)

    assert error_of(server.exchange(program, code, **changed)) == error


def test_a_code_is_too_old_after_a_minute(
    server: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = server.registered()
    monkeypatch.setattr("vault_memory.addons.connector.provider.CODE_SECONDS", -1)

    answer = server.exchange(program, server.code(server.person("mira"), program))

    assert error_of(answer) == "invalid_grant"


# --- Requests and redirects ---


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.example.org/callback",
        CALLBACK + "/../evil",
        CALLBACK + "?next=https://evil.example.org",
        CALLBACK + "#x",
        "http://localhost.evil.example.org:33418/callback",
        "http://localhost:33418@evil.example.org/callback",
        "http://127.0.0.1:33418/callback",
        "https://localhost:33418/callback",
        "javascript:alert(1)",
        "//evil.example.org/callback",
        "",
    ],
)
def test_no_answer_goes_where_the_program_did_not_say(server: Connected, redirect: str) -> None:
    program = server.registered()

    answer = server.client().get(server.address(program["client_id"], redirect_uri=redirect))

    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "redirect",
    [
        "javascript:alert(1)",
        "javascript://localhost/%0aalert(1)",
        "data:text/html,x",
        "http://evil.example.org/callback",
        "https://user@evil.example.org/callback",
        "https://evil.example.org/callback#x",
        "file:///tmp/x",
    ],
)
def test_no_program_registers_such_an_address(server: Connected, redirect: str) -> None:
    asked = {"client_name": "Trick", "redirect_uris": [redirect]}

    answer = server.client().post("/register", json=asked)

    assert error_of(answer) == "invalid_redirect_uri"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example.org/mcp"}, "invalid_target"),
    ],
)
def test_a_wrong_request_goes_back_with_the_issuer(
    server: Connected, changed: dict[str, str | None], error: str
) -> None:
    program = server.registered()

    answer = server.client().get(server.address(program["client_id"], **changed))

    target = answer.headers["location"]
    assert target.startswith(CALLBACK)
    back = query_of(target)
    assert (back["error"], back["state"], back["iss"]) == (error, "s1", server.url)


def test_an_unknown_program_is_sent_nowhere(server: Connected) -> None:
    answer = server.client().get(server.address("unknown"))

    assert answer.status_code == 400
    assert "location" not in answer.headers


# --- Tokens ---


def stored(server: Connected) -> tuple[Path, Any]:
    """The file of connections, and what it says."""
    file = server.memory.vault.state.path / grants.FILE
    return file, json.loads(file.read_text("utf-8"))


def test_a_refresh_token_that_was_replaced_ends_the_connection(server: Connected) -> None:
    program, first = server.let_in("mira")
    second = server.refresh(program, first["refresh_token"]).json()

    assert error_of(server.refresh(program, first["refresh_token"])) == "invalid_grant"

    assert server.tools(second["access_token"]).status_code == 401
    assert error_of(server.refresh(program, second["refresh_token"])) == "invalid_grant"


def test_a_refresh_token_is_of_no_use_to_another_program(server: Connected) -> None:
    program, tokens = server.let_in("mira")

    assert error_of(server.refresh(server.registered(), tokens["refresh_token"])) == "invalid_grant"
    assert server.refresh(program, tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/turns", {"role": "user", "text": "I like plum jam.", "session": "s"}),
        ("/v1/search", {"query": "jam"}),
    ],
)
def test_a_token_opens_mcp_alone(server: Connected, path: str, body: dict[str, str]) -> None:
    _, tokens = server.let_in("mira")

    for scheme in ("Bearer", "bearer "):
        client = server.client(authorization=f"{scheme} {tokens['access_token']}")
        answer = client.post(path, json=body)
        assert answer.status_code == 401, answer.text
        assert "resource_metadata" in answer.headers["www-authenticate"]
    assert server.tools(tokens["access_token"]).status_code == 200


def test_an_access_token_refreshes_nothing_and_ends_nothing(server: Connected) -> None:
    program, tokens = server.let_in("mira")

    assert error_of(server.refresh(program, tokens["access_token"])) == "invalid_grant"
    assert server.tools(tokens["refresh_token"]).status_code == 401
    assert server.tools(tokens["access_token"]).status_code == 200


def test_an_expired_token_is_none(server: Connected) -> None:
    program, tokens = server.let_in("mira")
    file, value = stored(server)
    value["connections"][0]["access"][0]["ends"] = 0
    file.write_text(json.dumps(value))

    refused = server.tools(tokens["access_token"])

    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert server.refresh(program, tokens["refresh_token"]).status_code == 200


def test_a_connection_that_nobody_used_for_months_has_ended(server: Connected) -> None:
    program, tokens = server.let_in("mira")
    file, value = stored(server)
    value["connections"][0]["used"] -= grants.IDLE_SECONDS
    file.write_text(json.dumps(value))

    assert server.tools(tokens["access_token"]).status_code == 401
    assert error_of(server.refresh(program, tokens["refresh_token"])) == "invalid_grant"


def test_a_token_for_another_address_of_the_vault_opens_nothing_here(server: Connected) -> None:
    program, tokens = server.let_in("mira")
    file, value = stored(server)
    value["connections"][0]["address"][1] = "https://old.example.org/mcp"
    file.write_text(json.dumps(value))

    assert server.tools(tokens["access_token"]).status_code == 401
    assert error_of(server.refresh(program, tokens["refresh_token"])) == "invalid_grant"


def test_nobody_ends_the_connection_of_another_program(server: Connected) -> None:
    _, tokens = server.let_in("mira")
    thief = server.registered()
    given = {"client_id": thief["client_id"], "client_secret": thief["client_secret"]}

    server.client().post("/revoke", data={**given, "token": tokens["access_token"]})

    assert server.tools(tokens["access_token"]).status_code == 200


def test_the_file_opens_nothing_for_its_thief(server: Connected) -> None:
    _, tokens = server.let_in("mira")
    file, _ = stored(server)

    text = file.read_text("utf-8")

    assert file.stat().st_mode & 0o777 == 0o600
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert not any(part in text for part in token.split("."))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"connections": [{"id": 1}]}', '{"x": 1}'])
def test_a_damaged_file_lets_nobody_in_and_stops_nobody(server: Connected, text: str) -> None:
    _, tokens = server.let_in("mira")
    stored(server)[0].write_text(text)

    assert server.tools(tokens["access_token"]).status_code == 401
    assert server.tools(server.let_in("mira")[1]["access_token"]).status_code == 200


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("connections", "since", 1e300),
        ("connections", "used", 1e300),
        ("connections", "refresh", "\u00e9"),
        ("registrations", "metadata", {"redirect_uris": ["::"]}),
    ],
)
def test_an_edited_file_is_no_failure_of_the_server(
    server: Connected, part: str, name: str, value: object
) -> None:
    program, tokens = server.let_in("mira")
    file, content = stored(server)
    entries = content[part]
    entry = entries[0] if part == "connections" else entries[program["client_id"]]
    entry[name] = value
    file.write_text(json.dumps(content), encoding="utf-8")

    answers = [
        server.person("mira").client.get("/connections"),
        server.client().get(server.address(program["client_id"])),
        server.refresh(program, tokens["refresh_token"]),
    ]

    assert [answer.status_code for answer in answers if answer.status_code >= 500] == []


# --- Two people ---


def test_each_person_reaches_their_own_memory_only(server: Connected) -> None:
    _, of_mira = server.let_in("mira")
    _, of_tomas = server.let_in("tomas")
    note = server.memory.root / "Users/mira/memories/2026-06-01.md"
    note.write_text("- Zanzibar is the word of today\n", "utf-8")
    server.memory.index()

    assert "Zanzibar" in server.found(of_mira["access_token"], "Zanzibar")
    assert "Zanzibar" not in server.found(of_tomas["access_token"], "Zanzibar")


def test_no_session_lets_a_program_in_to_the_memory_of_another_person(server: Connected) -> None:
    program, person = server.registered(), server.person("mira")
    question = person.asks(server.address(program["client_id"]))

    assert person.post(question, "allow", "tomas").status_code == 404
    assert person.answers(question, user="mira").startswith(CALLBACK)


def test_no_session_sees_or_ends_the_connections_of_another_person(server: Connected) -> None:
    _, tokens = server.let_in("mira")
    key = stored(server)[1]["connections"][0]["id"]
    other = server.person("tomas")
    page = other.client.get("/search?q=lamp")
    csrf = page.text.partition('name="csrf" value="')[2].partition('"')[0]
    csrf = csrf or server.sessions.find(other.client.headers["cookie"].partition("=")[2]).csrf  # type: ignore[union-attr]

    assert "Pocket helper" not in other.client.get("/connections").text
    ended = other.client.post("/connections/end", data={"csrf": csrf, "id": key})

    assert ended.status_code == 404
    assert server.tools(tokens["access_token"]).status_code == 200


# --- Forms ---


def test_another_page_lets_nobody_in(server: Connected) -> None:
    program, person = server.registered(), server.person("mira")
    question = person.asks(server.address(program["client_id"]))
    fields = {"csrf": "0" * 64, "id": "x", "user": "mira"}

    forged = person.client.post("/connection/allow", data=fields)
    person.client.headers["origin"] = "https://evil.example.org"
    elsewhere = person.post(question, "allow")

    assert (forged.status_code, elsewhere.status_code) == (403, 403)


def test_a_session_that_may_only_look_lets_nobody_in(server: Connected) -> None:
    program, person = server.registered(), server.person(signed_in=False)
    key = server.sessions.make_link(Rights(("mira",), may_write=False))
    opened = person.client.post(f"/open/{key}")
    person.client.headers["cookie"] = opened.headers["set-cookie"].partition(";")[0]
    question = person.asks(server.address(program["client_id"]))

    assert person.post(question, "allow").status_code == 403


def test_a_question_is_answered_once(server: Connected) -> None:
    program, person = server.registered(), server.person("mira")
    question = person.asks(server.address(program["client_id"]))
    person.answers(question)

    again = person.post(question, "allow")

    assert again.status_code == 404
    assert "connect again in the program" in again.text


def test_a_question_is_too_old_after_ten_minutes(
    server: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, person = server.registered(), server.person("mira")
    monkeypatch.setattr("vault_memory.addons.connector.provider.ASK_SECONDS", -1)

    assert person.asks(server.address(program["client_id"])).status_code == 404


def test_a_stranger_sees_no_question(server: Connected) -> None:
    program, stranger = server.registered(), server.person(signed_in=False)

    answer = stranger.asks(server.address(program["client_id"]))

    assert answer.status_code == 401
    assert "Pocket helper" not in answer.text


def test_the_question_is_in_no_frame(server: Connected) -> None:
    answer = server.person("mira").asks(server.address(server.registered()["client_id"]))

    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


# --- Floods ---


def test_requests_without_end_are_slowed_down_by_address(
    server: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine needs longer than a minute for these requests.
    monkeypatch.setattr(server.connector._limiter, "_clock", lambda: 1_000.0)
    client = server.client()
    answers = [client.post("/register", content="{}") for _ in range(REQUESTS_PER_MINUTE + 1)]

    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    # The server with TLS in front says who asks.
    other = server.client(**{"x-forwarded-for": "10.0.0.1, 192.0.2.7"})
    assert other.post("/register", content="{}").status_code == 400
    forged = server.client(**{"x-forwarded-for": "192.0.2.8, 127.0.0.1"})
    assert forged.post("/register", content="{}").status_code == 429


def test_registrations_without_end_push_nobody_out(tmp_path: Path) -> None:
    now = [1_000_000.0]
    kept = grants.Grants(tmp_path, lambda: now[0])
    kept.register("used", {"client_id": "used"})
    program = grants.ConnectedProgram("used", "Pocket helper", "localhost")
    kept.open(program, grants.MemoryAddress("mira", "https://memory.example.org/mcp"))

    for number in range(grants.MOST_UNUSED + 5):
        now[0] += 1
        kept.register(f"flood-{number}", {})

    assert kept.registration("used")
    assert kept.registration("flood-0") is None
    assert kept.registration(f"flood-{grants.MOST_UNUSED + 4}") is not None
    now[0] += grants.UNUSED_SECONDS + 1
    kept.register("last", {})
    assert kept.registration(f"flood-{grants.MOST_UNUSED + 4}") is None
    assert kept.registration("used")


def test_a_long_registration_is_refused(server: Connected) -> None:
    asked = {"client_name": "x" * 100_000, "redirect_uris": [CALLBACK]}

    answer = server.client().post("/register", json=asked)

    assert error_of(answer) == "invalid_client_metadata"
    assert not (server.memory.vault.state.path / grants.FILE).exists()


def test_programs_ask_while_people_answer(server: Connected) -> None:
    provider = server.connector._provider
    program = KnownClient(client_id="x", redirect_uris=[CALLBACK])  # type: ignore[list-item]
    params = AuthorizationParams(
        state="s",
        scopes=None,
        code_challenge="c",
        redirect_uri=CALLBACK,  # type: ignore[arg-type]
        redirect_uri_provided_explicitly=True,
    )
    keys: list[str] = []
    errors: list[Exception] = []
    asks = 2000

    def ask() -> None:
        for _ in range(asks):
            try:
                target = asyncio.run(provider.authorize(program, params))
                keys.append(target.rpartition("/")[2])
            except RuntimeError as error:
                errors.append(error)

    def answer() -> None:
        while asking.is_alive() or keys:
            try:
                target = provider.allow(keys.pop(), "mira")
                assert target is None or query_of(target)["code"] in provider._codes
            except IndexError:
                continue
            except (RuntimeError, AssertionError) as error:
                errors.append(error)

    asking = threading.Thread(target=ask)
    threads = [asking, *(threading.Thread(target=answer) for _ in range(4))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert not errors


# --- The address ---


@pytest.mark.parametrize(
    "address",
    [
        "memory.example.org",
        "http://memory.example.org",
        "https://memory.example.org/path",
        "https://memory.example.org/?x=1",
        "https://memory.example.org#x",
        "https://user@memory.example.org",
        "https://",
        "https://memory.example.org:0",
        "https://memory.example.org:99999",
        "https://[::1",
        "ftp://memory.example.org",
        "https://memory.example.org.",
        "https://memory..org",
        "https://memory.example.org:" + "9" * 5000,
        "",
    ],
)
def test_an_address_that_others_cannot_reach_safely_is_refused(
    memory: VaultMemory, address: str
) -> None:
    with pytest.raises(UsageError) as raised:
        Connector(memory, address)

    assert "--public https://memory.example.org" in raised.value.hint


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("https://memory.example.org", "https://memory.example.org"),
        ("https://Memory.Example.org/", "https://memory.example.org"),
        ("https://memory.example.org:8443", "https://memory.example.org:8443"),
        ("https://memory.example.org:443", "https://memory.example.org"),
        ("https://memory.example.org:80/", "https://memory.example.org:80"),
        ("http://localhost:80", "http://localhost"),
        ("http://127.0.0.1:8377", "http://127.0.0.1:8377"),
    ],
)
def test_an_address_is_kept_without_its_last_slash(
    memory: VaultMemory, address: str, url: str
) -> None:
    connector = Connector(memory, address)

    assert connector.url == url
    assert connector.host == urlsplit(url).hostname


def test_the_public_name_is_the_name_of_the_server(server: Connected) -> None:
    answer = server.client(host="evil.example.org").get("/.well-known/oauth-authorization-server")

    assert answer.status_code == 421
