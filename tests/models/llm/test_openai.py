"""A language model's server that answers well, badly, late, too much and too little."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import (
    ANOTHER_SCHEMA,
    NONSENSE,
    Asked,
    Reply,
    ScriptedModel,
    Sent,
    completion,
    drops_beyond,
    fails,
    knows_only,
    learned,
    learns,
    learns_fenced,
    reads_at_most,
    says,
    trespasses,
    writes_at_most,
)
from vault_memory.config import load
from vault_memory.config.sections import BrainSettings, Config
from vault_memory.errors import BrainUnavailable
from vault_memory.models.credentials import BRAIN
from vault_memory.models.llm.factory import load_brain
from vault_memory.models.llm.openai import FAILURES, Breaker, OpenAIBrain
from vault_memory.models.llm.templates import instructions
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

KEY = "sk-very-secret-0123456789"
SECRET = "the spare key is under the fern"
EMPTY: dict[str, Any] = {"memories": [], "facts": [], "topics": {}, "ops": []}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(learns) as model:
        yield model


def settings(server: ScriptedModel, **more: Any) -> BrainSettings:
    told: dict[str, Any] = {
        "kind": "openai",
        "base_url": server.url,
        "model": "small",
        "timeout_seconds": 5.0,
    }
    return BrainSettings(**told | more)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.waited: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)


def brain(model: ScriptedModel, clock: Clock | None = None, **more: Any) -> OpenAIBrain:
    clock = clock or Clock()
    return OpenAIBrain(
        settings(model, **more), "small", wait=clock.wait, breaker=Breaker(clock=clock)
    )


def asking(*texts: str) -> Prompt:
    turns = [Excerpt(f"t{number}", text, "alice", own=True) for number, text in enumerate(texts, 1)]
    return Prompt("extraction", instructions("extraction"), (), tuple(turns))


ONE = asking(f"Remember that {SECRET}.")


def test_the_answer_is_bound_to_the_schema_with_evidence_from_the_persons_turns(
    model: ScriptedModel,
) -> None:
    answer = brain(model).answer(ONE)

    assert (answer.rung, answer.model, answer.reason) == ("schema", "small", "")
    assert read_answer(answer.text, ONE.turn_ids).memories[0].evidence == ("t1",)
    [asked] = model.asked
    assert asked.path == "/v1/chat/completions"
    shape = asked.body["response_format"]["json_schema"]
    assert shape["strict"] is True
    rows = shape["schema"]["properties"]["memories"]
    assert rows["items"]["properties"]["turn"]["enum"] == ["t1"]
    assert asked.body["temperature"] == 0
    assert "Authorization" not in asked.headers


@pytest.mark.parametrize(
    ("formats", "rung"),
    [({"json_schema", "json_object", ""}, "schema"), ({"json_object", ""}, "json"), ({""}, "text")],
)
def test_the_strictest_supported_format_is_used_and_remembered(
    model: ScriptedModel, formats: set[str], rung: str
) -> None:
    model.script = [knows_only(formats)]
    asker = brain(model)

    assert asker.answer(ONE).rung == rung
    before = len(model.asked)
    assert asker.answer(ONE).rung == rung
    assert len(model.asked) == before + 1


def test_a_server_that_rejects_the_schema_with_500_is_asked_without_it(
    model: ScriptedModel,
) -> None:
    model.script = [fails(500, "failed to parse grammar"), learns]

    assert brain(model).answer(ONE).rung == "json"


def test_a_model_that_rejects_a_temperature_is_asked_without_it(model: ScriptedModel) -> None:
    def picky(asked: Asked) -> Sent:
        refused = fails(400, "Unsupported value: 'temperature' does not support 0 with this model")
        return refused(asked) if "temperature" in asked.body else learns(asked)

    model.script = [picky]

    assert brain(model).answer(ONE).rung == "schema"
    assert len(model.asked) == 2


def test_fenced_json_surrounded_by_text_is_accepted(model: ScriptedModel) -> None:
    model.script = [learns_fenced]

    answer = brain(model).answer(ONE)

    assert answer.rung == "text"
    assert len(model.asked) == 1
    assert read_answer(answer.text, ONE.turn_ids).memories


@pytest.mark.parametrize(
    "bad",
    [
        ANOTHER_SCHEMA,
        NONSENSE,
        "",
        None,
        {"memories": "tea"},
        {"memories": [7]},
        '{"memories": [{"te',
    ],
    ids=["another schema", "nonsense", "empty", "null", "no list", "no objects", "broken"],
)
def test_an_invalid_answer_is_sent_back_once_and_repaired(
    model: ScriptedModel, bad: object
) -> None:
    model.script = [says(bad), learns]

    answer = brain(model).answer(ONE)

    assert answer.rung == "repair"
    assert read_answer(answer.text, ONE.turn_ids).memories
    told = model.asked[1].body["messages"][-1]["content"]
    assert told.startswith("This cannot be used: ")
    assert "`memories`" in told or "no JSON object with the keys" in told


def test_invented_evidence_is_sent_back_too(model: ScriptedModel) -> None:
    invented = {
        **EMPTY,
        "memories": [{"text": "Likes tea", "type": "preference", "topic": "", "evidence": ["t99"]}],
    }
    model.script = [says(invented), learns]

    assert brain(model).answer(ONE).rung == "repair"
    assert "cites turns that are not among" in model.asked[1].text


def test_after_two_unusable_answers_the_rules_take_over(model: ScriptedModel) -> None:
    model.script = [says(NONSENSE)]

    with pytest.raises(BrainUnavailable, match="unusable, also after a repair request"):
        brain(model).answer(ONE)
    answer = load_brain(settings(model), "extraction").answer(ONE)

    assert (answer.rung, answer.model) == ("rules", "rules")
    assert "is unusable" in answer.reason
    assert [one.text for one in read_answer(answer.text, ONE.turn_ids).memories] == [SECRET]


def test_after_a_truncated_answer_smaller_prompts_are_sent(model: ScriptedModel) -> None:
    model.script = [writes_at_most(1)]
    prompt = asking("I live in Porto.", "I work at Acme.", "I love tea.")

    answer = brain(model).answer(prompt)

    found = read_answer(answer.text, prompt.turn_ids)
    assert [one.evidence for one in found.memories] == [("t1",), ("t2",), ("t3",)]


def test_an_answer_that_is_always_truncated_leaves_it_to_the_rules(model: ScriptedModel) -> None:
    model.script = [says('{"memories": []}', finish="length")]

    with pytest.raises(BrainUnavailable, match="truncated"):
        brain(model).answer(ONE)
    assert len(model.asked) == 1


def test_a_prompt_longer_than_the_context_is_asked_in_halves(model: ScriptedModel) -> None:
    prompt = asking(*(f"Fact number {number}: " + "tea " * 100 for number in range(8)))
    model.script = [reads_at_most(len(prompt.text) // 3)]

    answer = brain(model).answer(prompt)

    found = read_answer(answer.text, prompt.turn_ids)
    assert {id_ for one in found.memories for id_ in one.evidence} == set(prompt.turn_ids)
    assert len(model.asked) == 1 + 2 + 4


def test_a_prompt_silently_truncated_by_the_server_is_asked_in_halves(model: ScriptedModel) -> None:
    prompt = asking(*(f"Fact number {number}: " + "tea " * 125 for number in range(24)))
    model.script = [drops_beyond(3072)]

    found = read_answer(brain(model).answer(prompt).text, prompt.turn_ids)

    assert {id_ for one in found.memories for id_ in one.evidence} == set(prompt.turn_ids)
    assert len(model.asked) == 1 + 2


def test_one_long_turn_is_split_in_two_and_keeps_its_id(model: ScriptedModel) -> None:
    prompt = asking("word " * 400)
    model.script = [reads_at_most(1500)]

    found = read_answer(brain(model).answer(prompt).text, prompt.turn_ids)

    assert {one.evidence for one in found.memories} == {("t1",)}
    assert len(model.asked) > 2


def test_a_model_with_a_tiny_context_is_not_asked_endlessly(model: ScriptedModel) -> None:
    model.script = [reads_at_most(1)]

    with pytest.raises(BrainUnavailable, match="exceeds its context"):
        brain(model).answer(asking(*("tea " * 1000 for _ in range(50))))
    assert len(model.asked) <= 5


def test_a_busy_server_is_retried_after_its_waiting_time(model: ScriptedModel) -> None:
    model.script = [fails(429, Retry_After="7"), fails(500), learns]
    clock = Clock()

    assert brain(model, clock).answer(ONE).rung == "schema"
    assert clock.waited == [7.0, 4.0]


def test_a_waiting_time_that_is_too_long_is_an_error(model: ScriptedModel) -> None:
    clock = Clock()
    model.script = [fails(429, Retry_After="3600")]
    with pytest.raises(BrainUnavailable, match="429"):
        brain(model, clock).answer(ONE)
    assert clock.waited == []

    model.script = [fails(500, SECRET)]
    with pytest.raises(BrainUnavailable, match="status 500, scripted_error") as caught:
        brain(model, clock).answer(ONE)
    assert len(clock.waited) == 2
    assert SECRET not in caught.value.message


def test_a_slow_server_is_abandoned_at_the_timeout(model: ScriptedModel) -> None:
    model.script = [says(EMPTY, wait=20)]

    with pytest.raises(BrainUnavailable, match=r"in time|within 0\.2 s"):
        brain(model, timeout_seconds=0.2).answer(ONE)
    assert len(model.asked) == 1


def test_a_repeatedly_failing_server_is_paused_and_then_probed_once(model: ScriptedModel) -> None:
    clock = Clock()
    asker = brain(model, clock)
    model.script = [fails(503, Retry_After="999")]
    for _ in range(FAILURES):
        with pytest.raises(BrainUnavailable, match="503"):
            asker.answer(ONE)

    with pytest.raises(BrainUnavailable, match="next request follows in 300 s"):
        asker.answer(ONE)
    assert len(model.asked) == FAILURES

    clock.now += 301
    with pytest.raises(BrainUnavailable, match="503"):
        asker.answer(ONE)
    with pytest.raises(BrainUnavailable, match="next request follows"):
        asker.answer(ONE)

    clock.now += 301
    model.script = [learns]
    assert asker.answer(ONE).rung == "schema"
    assert asker.answer(ONE).rung == "schema"


def test_only_one_caller_at_a_time_probes_a_failed_server() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    for _ in range(FAILURES):
        breaker.record_failure()
    clock.now += 301

    assert breaker.seconds_left() == 0
    assert breaker.seconds_left() > 0
    breaker.record_success()
    assert breaker.seconds_left() == 0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fails(401, "bad key " + SECRET), "does not accept the key"),
        (fails(404, "no such model"), "not know this model or address"),
        (fails(302, Location="http://127.0.0.1:1/"), "redirects to another"),
        (fails(400, "no"), "refuses the request"),
        (lambda _asked: Sent(200, b"<html>log in"), "not JSON"),
        (lambda _asked: Sent(200, b"[" * 100_000), "not JSON"),
        (lambda _asked: Sent(200, b'{"choices": []}'), "is unusable"),
        (lambda _asked: Sent(200, b'{"choices": [7]}'), "is unusable"),
        (lambda _asked: Sent(200, b'{"choices": [{"message": {"content": 7}}]}'), "is unusable"),
        (lambda _asked: Sent(200, b"{}", {"Content-Length": "5000"}), "broke off"),
    ],
)
def test_an_unusable_response_is_reported_in_plain_words(
    model: ScriptedModel, reply: Reply, words: str
) -> None:
    model.script = [reply]

    with pytest.raises(BrainUnavailable, match=words) as caught:
        brain(model).answer(ONE)

    assert model.url.removesuffix("/v1") in caught.value.message
    assert SECRET not in str(caught.value.as_json())


def test_a_model_cannot_write_into_another_users_files(model: ScriptedModel) -> None:
    model.script = [trespasses]
    prompt = asking("Bob came for tea.")

    assert brain(model).answer(prompt).rung == "repair"
    assert "names a place of its own" in model.asked[1].text
    found = read_answer(
        json.loads(trespasses(model.asked[0]).body)["choices"][0]["message"]["content"], ("t1",)
    )

    assert (found.memories, found.facts, found.ops, dict(found.topics)) == ((), (), (), {})
    assert {one.reason for one in found.dropped} == {
        "it names a place of its own (`path`)",
        "it names a place of its own (`user`)",
        "it names a place of its own (`scope`)",
        "it names a place of its own (`note`)",
    }
    assert {doubt.reason for doubt in found.proposals} == {
        "it cites turns that are not among the person's own"
    }


def test_a_note_is_curated_by_ops(model: ScriptedModel) -> None:
    ops = [{"op": "append", "heading": "Tea", "line": "Likes green tea"}]
    model.script = [says({"ops": ops})]
    prompt = Prompt(
        "curation",
        instructions("curation"),
        (("note", "## Tea\n"), ("note-of-2026-04-30", "- tea")),
    )

    answer = brain(model).answer(prompt)

    assert read_answer(answer.text, ()).ops == tuple(ops)
    assert list(model.asked[0].body["response_format"]["json_schema"]["schema"]["properties"]) == [
        "ops"
    ]
    assert "<note>\n## Tea\n</note>" in model.asked[0].text


def test_each_role_may_have_its_own_model(model: ScriptedModel) -> None:
    told = settings(model, extraction_model="reader", curation_model="")

    assert load_brain(told, "extraction").name == "openai reader"
    assert load_brain(told, "curation").name == "openai small"
    with pytest.raises(BrainUnavailable, match=r"`brain\.model` is not set"):
        load_brain(settings(model, model=""), "curation")


def test_the_key_is_read_from_a_private_file_or_the_service_manager(
    model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    file.chmod(0o644)
    with pytest.raises(BrainUnavailable, match="can be read by others"):
        brain(model, api_key_file=str(file))
    file.chmod(0o600)
    brain(model, api_key_file=str(file)).answer(ONE)
    assert model.asked[-1].headers["Authorization"] == f"Bearer {KEY}"

    (tmp_path / BRAIN.credential).write_text("handed-over")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    brain(model).answer(ONE)
    assert model.asked[-1].headers["Authorization"] == "Bearer handed-over"
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")

    monkeypatch.setenv(BRAIN.variable, "from-environment")
    brain(model).answer(ONE)
    assert model.asked[-1].headers["Authorization"] == "Bearer from-environment"
    assert load(None, {BRAIN.variable: KEY}) == Config()


def test_the_key_is_never_sent_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BRAIN.variable, KEY)

    with pytest.raises(BrainUnavailable, match="unencrypted"):
        OpenAIBrain(
            BrainSettings(kind="openai", base_url="http://models.example.org/v1", model="m"), "m"
        )


def test_neither_the_conversation_nor_the_key_is_ever_logged(
    model: ScriptedModel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BRAIN.variable, KEY)
    caplog.set_level(logging.DEBUG)
    model.script = [fails(500, SECRET), learns, says(NONSENSE)]

    brain(model).answer(ONE)
    reason = load_brain(settings(model), "extraction").answer(ONE).reason

    for hidden in (SECRET, KEY, NONSENSE):
        assert hidden not in caplog.text
        assert hidden not in reason


REAL = os.environ.get("VAULT_MEMORY_TEST_LLM_URL", "")


@pytest.mark.skipif(
    not REAL, reason="VAULT_MEMORY_TEST_LLM_URL names no server of a language model"
)
def test_a_real_model_follows_the_schema_and_cites_own_turns_reproducibly() -> None:
    asker = OpenAIBrain(
        BrainSettings(kind="openai", base_url=REAL, timeout_seconds=280),
        os.environ.get("VAULT_MEMORY_TEST_LLM_MODEL", "default"),
    )
    said = Excerpt(
        "t1", "I moved to Porto last week, and I am allergic to peanuts.", "alice", own=True
    )
    heard = Excerpt("b1", "Peanuts are common in Porto's kitchens.", "assistant", own=False)
    prompt = Prompt("extraction", instructions("extraction"), (), (said, heard))

    first, second = (
        read_answer(asker.answer(prompt).text, prompt.turn_ids, other_turns=["b1"])
        for _ in range(2)
    )

    for found in (first, second):
        assert found.memories or found.facts
        assert {id_ for one in found.memories for id_ in one.evidence} <= {"t1"}
        assert {id_ for fact in found.facts for id_ in fact.evidence} <= {"t1"}
        assert not found.ops
    assert {one.evidence for one in first.memories} == {one.evidence for one in second.memories}


def test_the_complete_entries_of_a_truncated_answer_are_kept(model: ScriptedModel) -> None:
    def cut_after_one(asked: Asked) -> Sent:
        [first, *others] = learned(asked)["memories"]
        if not others:
            return learns(asked)
        text = json.dumps({"memories": [first, first, others[0]]})
        return Sent(200, completion(text[:-20], finish="length"))

    model.script = [cut_after_one]
    prompt = asking("I live in Porto.", "I work at Acme.", "I love tea.")

    answer = brain(model).answer(prompt)

    found = read_answer(answer.text, prompt.turn_ids)
    assert [memory.evidence for memory in found.memories] == [("t1",), ("t2",), ("t3",)]
    assert [len(asked.turns) for asked in model.asked] == [3, 2, 1]


def test_the_token_limit_follows_from_the_number_of_own_turns(model: ScriptedModel) -> None:
    brain(model).answer(asking(*["I live in Porto."] * 10))

    assert model.asked[0].body["max_tokens"] == 1500


def test_a_model_that_rejects_a_token_limit_is_asked_without_it(model: ScriptedModel) -> None:
    refused = fails(400, "Unsupported parameter: 'max_tokens' is not supported")

    def picky(asked: Asked) -> Sent:
        return refused(asked) if "max_tokens" in asked.body else learns(asked)

    model.script = [picky]

    assert brain(model).answer(ONE).rung == "schema"


def test_a_model_that_thinks_up_to_the_token_limit_is_asked_without_it(
    model: ScriptedModel,
) -> None:
    def thinks(asked: Asked) -> Sent:
        if "max_tokens" in asked.body:
            return Sent(200, completion("<think>Let me see", finish="length"))
        return learns(asked)

    model.script = [thinks]

    assert brain(model).answer(ONE).rung == "schema"


def test_a_part_of_a_prompt_without_own_turns_is_not_sent(model: ScriptedModel) -> None:
    model.script = [reads_at_most(3000)]
    excerpts = (
        Excerpt("t1", "I live in Porto.", "alice", own=True),
        *(Excerpt(f"b{n}", "x" * 900, "bot", own=False) for n in range(6)),
    )

    brain(model).answer(Prompt("extraction", "Read.", (), excerpts))

    assert all(asked.turns for asked in model.asked)
