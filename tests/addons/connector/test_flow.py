"""From an address alone to the memory of one person, as the real SDK's client goes."""

from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from mcp.client.auth import OAuthFlowError

from tests.addons.connector.connected import (
    CALLBACK,
    VERIFIER,
    Connected,
    Kept,
    connected,
    query_of,
)
from vault_memory.api.vault_memory import VaultMemory


@pytest.mark.smoke
def test_a_program_gets_from_the_address_to_the_memory_of_a_person(server: Connected) -> None:
    kept = Kept()

    said = anyio.run(server.call, server.person("mira"), kept, "lamp")

    assert "lamp" in said
    assert kept.tokens is not None
    assert kept.tokens.refresh_token


def test_a_program_that_was_let_in_asks_nobody_again(server: Connected) -> None:
    kept = Kept()
    anyio.run(server.call, server.person("mira"), kept, "lamp")

    said = anyio.run(server.call, server.person(signed_in=False), kept, "lamp")

    assert "lamp" in said


def test_a_program_gets_the_next_token_without_a_person(server: Connected) -> None:
    program, first = server.let_in("mira")

    second = server.refresh(program, first["refresh_token"]).json()

    assert second["refresh_token"] != first["refresh_token"]
    assert second["access_token"] != first["access_token"]
    for tokens in (first, second):
        assert server.tools(tokens["access_token"]).status_code == 200


def test_a_program_that_is_refused_is_told_so(server: Connected) -> None:
    program, person = server.registered(), server.person("mira")

    to = person.answers(person.asks(server.address(program["client_id"])), "refuse")

    assert to.startswith(f"{CALLBACK}?")
    assert query_of(to) == {"error": "access_denied", "state": "s1", "iss": server.url}


def test_the_question_names_the_program_and_the_person(server: Connected) -> None:
    program = server.registered(
        client_name="Pocket <b>helper</b>", redirect_uris=["https://chat.example.org/back"]
    )
    address = server.address(program["client_id"], redirect_uri="https://chat.example.org/back")

    text = server.person("mira").asks(address).text

    assert "Pocket &lt;b&gt;helper&lt;/b&gt;" in text
    assert "<strong>chat.example.org</strong>" in text
    assert "the memory of <strong>mira</strong>" in text


def test_the_question_shows_hidden_letters_of_a_name(server: Connected) -> None:
    # The rest of the line would be read from right to left.
    program = server.registered(client_name="Pocket \u202ehelper")

    text = server.person("mira").asks(server.address(program["client_id"])).text

    assert "\u202e" not in text
    assert "U+202E" in text


def test_the_owner_chooses_whose_memory(server: Connected) -> None:
    program, owner = server.registered(), server.person()
    question = owner.asks(server.address(program["client_id"]))

    assert '<option value="mira">mira</option>' in question.text
    assert owner.post(question, "allow").status_code == 404
    code = query_of(owner.answers(question, user="tomas"))["code"]
    assert server.exchange(program, code).status_code == 200


def test_the_owner_of_a_new_vault_lets_a_program_in_and_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULT_MEMORY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VAULT_MEMORY_EMBEDDING_KIND", "off")
    (tmp_path / "new").mkdir()
    with VaultMemory.open(tmp_path / "new") as memory, connected(memory) as server:
        assert memory.scopes() == []

        _, tokens = server.let_in()

        assert server.tools(tokens["access_token"]).status_code == 200
        owner = server.person()
        listed = owner.client.get("/connections").text
        fields = {name: find(listed, name) for name in ("csrf", "id")}
        assert owner.client.post("/connections/end", data=fields).is_redirect
        assert server.tools(tokens["access_token"]).status_code == 401


def test_metadata_and_challenge_name_each_other(server: Connected) -> None:
    client = server.client()
    refused = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    challenge = refused.headers["www-authenticate"]
    assert refused.status_code == 401
    place = f"{server.url}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{place}"' in challenge
    resource = client.get(urlsplit(place).path).json()
    assert resource["resource"] == server.resource
    assert resource["authorization_servers"] == [server.url]
    found = client.get("/.well-known/oauth-authorization-server").json()
    assert found["issuer"] == server.url
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["client_id_metadata_document_supported"]
    assert found["authorization_response_iss_parameter_supported"]
    assert "none" in found["token_endpoint_auth_methods_supported"]


def test_a_wrong_token_is_told_where_to_get_one(server: Connected) -> None:
    challenge = server.tools("x" * 43).headers["www-authenticate"]

    assert 'error="invalid_token"' in challenge
    assert "resource_metadata=" in challenge


def test_a_program_on_a_computer_may_listen_on_any_port(server: Connected) -> None:
    program, person = server.registered(), server.person("mira")
    other = "http://localhost:51234/callback"

    to = person.answers(person.asks(server.address(program["client_id"], redirect_uri=other)))

    assert to.startswith(f"{other}?code=")
    code = query_of(to)["code"]
    assert server.exchange(program, code, redirect_uri=other).status_code == 200


def test_a_public_program_needs_no_secret(server: Connected) -> None:
    program = server.registered(token_endpoint_auth_method="none")

    answer = server.exchange(program, server.code(server.person("mira"), program))

    assert "client_secret" not in program
    assert answer.json()["token_type"] == "Bearer"
    assert answer.headers["cache-control"] == "no-store"


def test_a_program_ends_what_it_has(server: Connected) -> None:
    program, tokens = server.let_in("mira")
    given = {"client_id": program["client_id"], "client_secret": program["client_secret"]}

    answer = server.client().post("/revoke", data={**given, "token": tokens["refresh_token"]})

    assert answer.status_code == 200
    assert server.tools(tokens["access_token"]).status_code == 401
    assert server.refresh(program, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_public_program_ends_what_it_has(server: Connected) -> None:
    program = server.registered(token_endpoint_auth_method="none")
    tokens = server.exchange(program, server.code(server.person("mira"), program)).json()

    given = {"client_id": program["client_id"], "token": tokens["access_token"]}
    assert server.client().post("/revoke", data=given).status_code == 200

    assert server.tools(tokens["access_token"]).status_code == 401


def test_a_person_ends_a_connection_on_the_page(server: Connected) -> None:
    _, tokens = server.let_in("mira")
    person = server.person("mira")
    page = person.client.get("/connections")
    assert "Pocket helper" in page.text
    assert "localhost" in page.text

    csrf, key = (find(page.text, name) for name in ("csrf", "id"))
    done = person.client.post("/connections/end", data={"csrf": csrf, "id": key})

    assert done.status_code == 303
    assert server.tools(tokens["access_token"]).status_code == 401
    assert "No program was let in" in person.client.get("/connections").text


def find(text: str, name: str) -> str:
    """The value of a hidden field."""
    return text.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_the_navigation_leads_to_the_connections(server: Connected) -> None:
    assert 'href="/connections"' in server.person("mira").client.get("/sync").text


def test_a_client_refuses_an_answer_of_another_issuer(server: Connected) -> None:
    """The issuer in the answer is what lets the real client notice a mix-up."""
    person = server.person("mira")
    right = person.answers

    def mixed_up(*given: object, **named: object) -> str:
        return right(*given, **named).replace("iss=http", "iss=https")  # type: ignore[arg-type]

    person.answers = mixed_up  # type: ignore[method-assign]
    with pytest.raises(BaseExceptionGroup) as raised:
        anyio.run(server.call, person, Kept(), "lamp")

    assert raised.group_contains(OAuthFlowError)


@pytest.mark.parametrize("named", [True, False])
def test_a_program_may_say_its_secret_in_the_header(server: Connected, named: bool) -> None:
    program = server.registered(token_endpoint_auth_method="client_secret_basic")
    code = server.code(server.person("mira"), program)
    given = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    if named:
        given["client_id"] = program["client_id"]

    client = server.client()
    wrong = client.post("/token", data=given, auth=(program["client_id"], "0" * 64))
    right = client.post("/token", data=given, auth=(program["client_id"], program["client_secret"]))

    assert (wrong.status_code, right.status_code) == (401, 200)


@pytest.mark.parametrize("header", ["Basic", "Basic x", "Basic !!!!", "Basic /w==", "Bearer x"])
def test_a_damaged_header_is_refused_in_words(server: Connected, header: str) -> None:
    given = {"grant_type": "refresh_token", "refresh_token": "x"}

    answer = server.client(authorization=header).post("/token", data=given)

    assert answer.status_code == 401
    assert answer.json()["error"] == "invalid_client"
