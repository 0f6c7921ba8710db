"""Each route gives what the call of VaultMemory gives, in the words of the JSON contract."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from tests.every import every
from tests.http.served import MIRA, TOMAS, Served
from vault_memory.api import facts_json, json_contract
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.contract import as_json
from vault_memory.conversations.turn_lookup import REMOVED
from vault_memory.rules.paths.scopes import Caller

Serve = Callable[..., Served]
SCOPES = ["user:mira"]
NOTE = "Users/mira/memories/garden/beds.md"


def test_search_context_and_facts_return_the_persons_own_data(served: Served, sample: VaultMemory):
    client = served.client(MIRA)
    key = {"query": "where is the spare key?", "limit": 3}

    assert client.post("/v1/search", json=key).json() == json_contract.of_search(
        sample.search(key["query"], scopes=SCOPES, limit=3)
    )
    assert client.post(
        "/v1/context", json={"prompt": "the spare key", "budget": 2000}
    ).json() == as_json(sample.context("the spare key", scopes=SCOPES, budget=2000))
    assert client.get("/v1/facts").json() == facts_json.of_facts(sample.facts(scopes=SCOPES))
    assert client.get("/v1/facts", params={"entity": "Tomas"}).json() == facts_json.of_facts(
        sample.facts(scopes=SCOPES, entity="Tomas")
    )


def test_search_parameters_narrow_the_hits(served: Served):
    asked = {
        "query": "boat",
        "kinds": ["dated"],
        "since": "2026-05-01",
        "until": "2026-05-31",
        "why": True,
        "limit": 5,
    }

    answer = served.client(MIRA).post("/v1/search", json=asked).json()

    assert answer["hits"]
    assert {hit["kind"] for hit in answer["hits"]} == {"dated"}
    assert all(
        "2026-05-01" <= hit["date"] <= "2026-05-31" and hit["why"]["terms"]
        for hit in answer["hits"]
    )
    assert set(answer["left_out"]) == {"since", "until", "kind"}


def test_the_list_contains_exactly_the_readable_notes(served: Served, sample: VaultMemory):
    client = served.client(MIRA)

    listed = client.get("/v1/notes").json()

    assert listed == json_contract.of_notes(sample.notes(SCOPES))
    for one in listed["notes"]:
        answer = client.get(f"/v1/notes/{quote(one['note'])}").json()
        assert (answer["note"], answer["revision"]) == (one["note"], one["revision"])
    assert client.get(f"/v1/notes/{quote(NOTE, safe='')}").json() == as_json(sample.read(NOTE))


def test_a_recorded_turn_is_searchable_at_once_and_learned_from_at_the_end(
    memory: VaultMemory, serve: Serve
):
    client = serve(memory).client(MIRA)
    said = {
        "session": "tuesday",
        "role": "user",
        "text": "The kettle sings in F sharp",
        "source": "voice",
    }

    recorded = client.post("/v1/turns", json=said).json()
    [hit, *_] = client.post("/v1/search", json={"query": "kettle sings"}).json()["hits"]
    ended = client.post("/v1/sessions/end", json={"session": "tuesday"}).json()

    assert "F sharp" in hit["text"]
    assert hit["note"] == recorded["note"]
    assert ended == {"committed": [], "held": [], "dropped": [], "waiting": []}
    [turn] = memory.conversations.transcripts.of("user:mira")
    assert (turn.text, turn.source, turn.user, turn.channel) == (said["text"], "voice", "mira", "")


def test_what_was_asked_for_is_in_the_block_of_the_next_conversation(
    memory: VaultMemory, serve: Serve
):
    """No program ended the first one."""
    client = serve(memory).client(MIRA)
    said = {
        "session": "tuesday",
        "role": "user",
        "text": "I am allergic to walnuts; remember that",
        "source": "talk",
    }
    client.post("/v1/turns", json=said)

    block = client.post("/v1/context", json={"prompt": "Tea?", "session": "friday"})

    assert "walnuts" in block.json()["text"]


def test_a_token_with_a_channel_records_in_that_channel(memory: VaultMemory, serve: Serve):
    token = "harbour-" + "e" * 40
    client = serve(memory, {token: Caller("mira", "harbour")}).client(token)

    recorded = client.post(
        "/v1/turns", json={"session": "s", "role": "user", "text": "The ferry is late"}
    ).json()

    assert recorded["note"].startswith("Channels/harbour/transcripts/")


@pytest.mark.parametrize("hidden", [{"mode": "incognito"}, {"silent": True}])
def test_an_incognito_or_silent_turn_is_reported_as_not_recorded(
    memory: VaultMemory, serve: Serve, hidden: dict[str, Any]
):
    said = {"session": "s", "role": "user", "text": "zyzzyva", **hidden}

    answer = serve(memory).client(MIRA).post("/v1/turns", json=said)

    assert (answer.status_code, answer.json()) == (200, {"id": None, "note": None})
    assert not [path for path in memory.root.rglob("*.jsonl") if "zyzzyva" in path.read_text()]


def test_a_remembered_text_goes_to_the_note_of_the_person(memory: VaultMemory, serve: Serve):
    client = serve(memory).client(MIRA)
    said = {"session": "s", "role": "user", "text": "My kettle sings in F sharp."}
    client.post("/v1/turns", json=said)

    kept = client.post("/v1/remember", json={"text": "The kettle sings in F sharp"}).json()

    assert kept["outcome"] == "added"
    assert "sings in F sharp" in client.get(f"/v1/notes/{kept['note']}").json()["text"]
    assert client.post("/v1/remember", json={"text": "The kettle sings in F sharp"}).json() == {
        **asdict(memory.remember("The kettle sings in F sharp", scope="user:mira")),
        "outcome": "duplicate",
    }


@pytest.mark.sampled
@pytest.mark.parametrize(
    "text",
    [
        "my wifi password is quayfish",
        "Merk dir das Passwort quayfish",
        "router login admin / quayfish",
        "the code for the garage is 4417",
    ],
)
def test_a_secret_is_refused_with_a_hint_although_the_person_said_it(
    memory: VaultMemory, serve: Serve, text: str
) -> None:
    client = serve(memory).client(MIRA)
    client.post("/v1/turns", json={"session": "s", "role": "user", "text": text})

    answer = client.post("/v1/remember", json={"text": text}).json()

    assert (answer["outcome"], answer["reason"]) == ("refused", "secret")
    assert "remember --yes" in answer["hint"]
    notes = (path.read_bytes() for path in memory.root.rglob("*") if path.is_file())
    value = text.split()[-1].encode()
    assert not any(value in note for note in notes)


@pytest.mark.sampled
@every(
    ("path", "body", "code"),
    [
        ("/v1/turns", {"session": "s", "role": "user", "text": "  "}, "usage_error"),
        ("/v1/turns", {"session": "s", "role": "boss", "text": "x"}, "usage_error"),
        ("/v1/search", {"query": "x", "since": "in olden times"}, "usage_error"),
        ("/v1/search", {"query": "x", "mode": "psychic"}, "usage_error"),
        ("/v1/context", {"budget": -1}, "usage_error"),
        ("/v1/remember", {"text": " "}, "usage_error"),
    ],
)
def test_errors_have_the_same_codes_as_on_the_command_line(
    served: Served, path: str, body: dict[str, Any], code: str
):
    answer = served.client(MIRA).post(path, json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    "address", ["/v1/facts?entitiy=Tomas", "/v1/notes?scope=user:tomas", f"/v1/notes/{NOTE}?user=x"]
)
def test_an_unknown_parameter_is_refused(served: Served, address: str):
    answer = served.client(MIRA).get(address)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "usage_error")


def test_a_missing_note_is_answered_with_the_call_that_lists_notes(served: Served):
    error = served.client(MIRA).get("/v1/notes/Users/mira/memories/none.md").json()["error"]

    assert error["hint"] == "`GET /v1/notes` lists them"


def test_an_unreachable_vault_is_reported_without_its_path(memory: VaultMemory, serve: Serve):
    client = serve(memory).client(MIRA)
    memory.root.rename(memory.root.with_name("elsewhere"))

    answer = client.get(f"/v1/notes/{NOTE}")

    assert answer.status_code == 503
    assert str(memory.root.parent) not in answer.text
    assert (
        client.post("/v1/turns", json={"session": "s", "role": "user", "text": "x"}).status_code
        == 503
    )
    assert client.get("/healthz").status_code == 200


@pytest.mark.sampled
def test_twenty_concurrent_requests_are_all_answered_and_nothing_is_lost(
    memory: VaultMemory, serve: Serve
):
    server = serve(memory)
    clients = [server.client(MIRA if number % 2 else TOMAS) for number in range(20)]

    def say(number: int) -> tuple[int, list[str]]:
        client, text = clients[number], f"crate number{number}x"
        recorded = client.post("/v1/turns", json={"session": "s", "role": "user", "text": text})
        found = client.post("/v1/search", json={"query": f"number{number}x", "limit": 1}).json()
        return recorded.status_code, [hit["text"] for hit in found["hits"]]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(say, range(20)))

    assert [status for status, _ in answers] == [200] * 20
    assert all(f"number{number}x" in texts[0] for number, (_, texts) in enumerate(answers))
    assert (
        len(memory.conversations.transcripts.of("user:mira"))
        == len(memory.conversations.transcripts.of("user:tomas"))
        == 10
    )


@pytest.mark.sampled
def test_texts_remembered_concurrently_are_all_stored(memory: VaultMemory, serve: Serve):
    server = serve(memory)
    clients = [server.client(MIRA) for _ in range(8)]
    texts = [f"Crate {number} stands by the barometer" for number in range(8)]
    said = {"session": "s", "role": "user", "text": ". ".join(texts)}
    clients[0].post("/v1/turns", json=said)

    def keep(number: int) -> str:
        return str(
            clients[number].post("/v1/remember", json={"text": texts[number]}).json()["outcome"]
        )

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(keep, range(8)))

    assert outcomes == ["added"] * 8
    profile = (memory.root / "Users/mira/lantern/config/USER.md").read_text()
    assert all(text in profile for text in texts)


def test_an_automated_turn_over_http_is_recorded_as_automated(memory: VaultMemory, serve: Serve):
    said = {"session": "s", "role": "user", "text": "I live in Paris", "automated": True}

    serve(memory).client(MIRA).post("/v1/turns", json=said)

    [turn] = memory.conversations.transcripts.of("user:mira")
    assert turn.is_automated


def test_a_bot_reads_what_waits_and_logs_feedback(memory: VaultMemory, serve: Serve) -> None:
    client = serve(memory).client(MIRA)
    said = {"session": "tuesday", "role": "user", "text": "I hate myself."}
    client.post("/v1/turns", json=said)
    client.post("/v1/sessions/end", json={"session": "tuesday"})

    [held] = client.get("/v1/held").json()["held"]
    feedback = {"verdict": "bad", "about": held["id"], "text": "not any more"}

    assert (held["scope"], held["reason"]) == ("user:mira", "self_belief")
    assert client.post("/v1/feedback", json=feedback).json() == {"ok": True}
    assert client.post("/v1/feedback", json={"verdict": "fine"}).status_code == 400
    unknown = client.post("/v1/feedback", json=feedback | {"about": held["id"][:-1] + "z"})
    assert unknown.status_code == 404
    assert held["id"] in unknown.json()["error"]["candidates"]
    assert list((memory.root / "Users/mira/learning/feedback").iterdir())


@pytest.mark.sampled
def test_a_bot_asks_what_held_what_was_known_and_where_it_comes_from(
    memory: VaultMemory, serve: Serve
) -> None:
    spring, autumn = (datetime(2026, month, 5, 12, tzinfo=UTC) for month in (3, 9))
    said = [
        memory.record_turn(
            session="tea", role="user", user="mira", text=f"I moved to {home}", now=now
        ).id
        for home, now in (("Oslo", spring), ("Bergen", autumn))
    ]
    for home, moment, ref in zip(("Oslo", "Bergen"), (spring, autumn), said, strict=True):
        memory.add_fact(
            "mira",
            "lives_in",
            home,
            scope="user:mira",
            valid_from=moment.date(),
            ref=ref,
            source="tool",
            now=moment,
        )
    memory.forget("I moved to Oslo")
    client = serve(memory).client(MIRA)
    stranger = serve(memory).client(TOMAS)

    def homes(day: str) -> list[str]:
        facts = client.get("/v1/facts", params={"entity": "mira", "on": day}).json()
        return [fact["object"] for fact in facts["facts"] if fact["predicate"] == "lives_in"]

    asked = {"prompt": "", "as_of": "2026-06-01"}
    block = client.post("/v1/context", json=asked).json()["text"]
    oslo, bergen = (
        client.get("/v1/source", params={"ref": ref}).json()["turns"]
        for ref in _ids_of_homes(memory)
    )

    assert (homes("2026-06-01"), homes("2026-10-01")) == (["Oslo"], ["Bergen"])
    assert "lives_in: Oslo" in block
    assert "Bergen" not in block
    assert "Oslo" not in stranger.post("/v1/context", json=asked).json()["text"]
    assert [turn["gone"] for turn in oslo] == [REMOVED]
    assert [turn["turn"]["text"] for turn in bergen] == ["I moved to Bergen"]
    refused = stranger.get("/v1/source", params={"ref": said[1]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unclear_id")


def _ids_of_homes(memory: VaultMemory) -> list[str]:
    timeline = memory.timeline("mira", scopes=SCOPES)
    return [fact.id for fact in timeline if fact.object in ("Oslo", "Bergen")]


FREEZING = {
    "stars before a letter that is missing": "*a" * 14 + "*b",
    "four hundred folders": "**/" * 400,
    "too many letters": "a" * 201,
    "seventeen globs": [f"folder{number}" for number in range(17)],
}


@every("paths", FREEZING.values(), ids=FREEZING)
def test_paths_over_a_limit_are_refused_with_the_limit(served: Served, paths: str | list[str]):
    globs = [paths] if isinstance(paths, str) else paths
    asked = {"query": "boat", "paths": globs}

    answer = served.client(MIRA).post("/v1/search", json=asked)

    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert "at most" in message or "length <= 200" in message


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/search", {"query": "boat"}),
        ("POST", "/v1/context", {"prompt": "the boat"}),
        ("POST", "/v1/turns", {"session": "s", "role": "user", "text": "hello"}),
        ("POST", "/v1/remember", {"text": "the boat is blue"}),
        ("GET", "/v1/notes", None),
        ("GET", f"/v1/notes/{NOTE}", None),
        ("GET", "/v1/facts", None),
        ("GET", "/v1/held", None),
    ],
)
def test_a_vault_that_is_closed_during_a_call_is_unavailable_and_no_bug(
    memory: VaultMemory, serve: Serve, method: str, path: str, body: object
):
    client = serve(memory).client(MIRA)
    memory.close()

    answer = client.request(method, path, json=body)

    assert answer.status_code == 503, answer.text
    assert answer.json()["error"]["code"] == "vault_unavailable"
    assert str(memory.root) not in answer.text
