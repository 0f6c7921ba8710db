"""A small model answers one word for each turn, and a self-test finds out that it is small."""

import json
import math
import os
import stat
from collections import Counter
from pathlib import Path

import pytest

from tests.models.scripted import Asked, ScriptedModel, Sent, completion, fails, learned, says
from vault_memory.config.sections import BrainSettings
from vault_memory.models.llm.factory import load_brain
from vault_memory.models.llm.labels import IS_KEPT, TYPE
from vault_memory.models.llm.self_test import FILE, stored_verdict
from vault_memory.rules.learning.answer_schema import TYPES
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

TURNS = (
    Excerpt("t1", "I am allergic to mackerel. Is that bad?", "mira", own=True),
    Excerpt("b1", "It may be.", "assistant", own=False),
    Excerpt("t2", "What will the weather be like?", "mira", own=True),
    Excerpt("t3", "Thanks, that is all for now.", "mira", own=True),
)
PROMPT = Prompt("extraction", "Read.", (), TURNS)


def weighed(yes: float, no: float) -> bytes:
    tokens = [
        {"token": " Yes", "logprob": math.log(yes)},
        {"token": "no", "logprob": math.log(no)},
        {"token": "Maybe", "logprob": math.log(0.5)},
    ]
    reply = json.loads(completion("no"))
    reply["choices"][0]["logprobs"] = {"content": [{"top_logprobs": tokens}]}
    return json.dumps(reply).encode()


def judges(asked: Asked) -> Sent:
    """Weighs each message, as llama.cpp does when it is asked for probabilities."""
    if "json_schema" in asked.format:
        return says({"memories": []})(asked)
    is_news = "allergic" in asked.message
    return Sent(200, weighed(0.3, 0.2) if is_news else weighed(0.1, 0.4))


def judges_in_words(asked: Asked) -> Sent:
    if "logprobs" in asked.body:
        return fails(400, "logprobs is not supported")(asked)
    return Sent(200, completion("Yes" if "allergic" in asked.message else "No"))


def settings(model: ScriptedModel, mode: str = "labels") -> BrainSettings:
    return BrainSettings(
        kind="openai",
        base_url=model.url,
        model="small",
        mode=mode,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("answers", [judges, judges_in_words])
def test_a_small_model_keeps_turns_in_the_persons_own_words(answers, tmp_path: Path) -> None:
    with ScriptedModel(answers) as model:
        brain = load_brain(settings(model), "extraction", state=tmp_path)
        answer = brain.answer(PROMPT)

    [memory] = read_answer(answer.text, PROMPT.turn_ids).memories
    assert (memory.text, memory.evidence) == ("I am allergic to mackerel.", ("t1",))
    assert answer.rung == "labels"
    asked = [question.message for question in model.asked]
    assert not any("weather" in text or "bad" in text for text in asked)


@pytest.mark.parametrize("role", ["facts", "curation", "reflection"])
def test_a_small_model_is_not_asked_for_facts_or_edits(role, tmp_path: Path) -> None:
    with ScriptedModel(judges) as model:
        brain = load_brain(settings(model), role, state=tmp_path)
        answer = brain.answer(Prompt(role, "Read.", (), TURNS))

    assert read_answer(answer.text, PROMPT.turn_ids).memories == ()
    assert not model.asked


def reads_well(asked: Asked) -> Sent:
    """Remembers what a person says about their life, and nothing else."""
    kept = ("allergic", "sister", "moving", "Fleisch", "mackerel")
    answer = learned(asked)
    answer["memories"] = [
        memory for memory in answer["memories"] if any(word in memory["text"] for word in kept)
    ]
    return Sent(200, completion(json.dumps(answer)))


@pytest.mark.parametrize(("answers", "way"), [(reads_well, "full"), (judges, "labels")])
def test_a_self_test_decides_once_how_a_model_is_asked(answers, way: str, tmp_path: Path) -> None:
    with ScriptedModel(answers) as model:
        chosen = settings(model, "auto")
        for _ in range(2):
            answer = load_brain(chosen, "extraction", state=tmp_path).answer(PROMPT)

    tests = [question for question in model.asked if "penicillin" in question.text]
    assert len(tests) == 1
    assert (answer.rung == "labels") == (way == "labels")
    stored = json.loads((tmp_path / FILE).read_text())
    assert stored_verdict(tmp_path, stored["model"]).way == way


def test_another_model_is_tested_anew(tmp_path: Path) -> None:
    with ScriptedModel(reads_well) as model:
        load_brain(settings(model, "auto"), "extraction", state=tmp_path).answer(PROMPT)
        other = settings(model, "auto")._replace(model="other")
        load_brain(other, "extraction", state=tmp_path).answer(PROMPT)

    tests = [question for question in model.asked if "penicillin" in question.text]
    assert len(tests) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"model": 1}', '"x"'])
def test_a_damaged_verdict_counts_as_none(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)

    assert stored_verdict(tmp_path, "x") is None


def test_a_command_answers_one_word_a_turn_too(tmp_path: Path) -> None:
    program = tmp_path / "judge"
    program.write_text(
        "#!/bin/sh\nread request\ncase $request in *mackerel*) echo yes;; *) echo no;; esac\n"
    )
    os.chmod(program, stat.S_IRWXU)
    chosen = BrainSettings(kind="command", command=(str(program),), mode="labels")

    answer = load_brain(chosen, "extraction", state=tmp_path).answer(PROMPT)

    [memory] = read_answer(answer.text, PROMPT.turn_ids).memories
    assert memory.evidence == ("t1",)


def test_a_small_model_sees_as_many_examples_to_keep_as_to_leave() -> None:
    answers = Counter(word for _, word in IS_KEPT.examples)

    assert answers == {"yes": 7, "no": 7}
    assert Counter(word for _, word in TYPE.examples) == dict.fromkeys(TYPES, 1)


def test_the_second_word_is_the_type(tmp_path: Path) -> None:
    def answers(asked: Asked) -> Sent:
        return Sent(200, completion("Plan." if TYPE.text == asked.system else "yes"))

    turn = Excerpt("t1", "We sail to the island before the autumn.", "mira", own=True)
    with ScriptedModel(answers) as model:
        brain = load_brain(settings(model), "extraction", state=tmp_path)
        answer = brain.answer(Prompt("extraction", "Read.", (), (turn,)))

    [memory] = read_answer(answer.text, ["t1"]).memories
    assert memory.type == "plan"
    assert [len(asked.body["messages"]) for asked in model.asked] == [30, 18]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("I am allergic to mackerel.", "identity"),
        ("My sister is called Ines.", "relationship"),
        ("Ich bin allergisch gegen Makrelen.", "identity"),
        ("Mi hermana se llama Inés.", "relationship"),
    ],
)
def test_a_small_model_cannot_call_an_allergy_passing(
    text: str, type_: str, tmp_path: Path
) -> None:
    def answers(asked: Asked) -> Sent:
        return Sent(200, completion("ephemeral" if "fits" in asked.system else "yes"))

    turn = Excerpt("t1", text, "mira", own=True)
    with ScriptedModel(answers) as model:
        brain = load_brain(settings(model), "extraction", state=tmp_path)
        answer = brain.answer(Prompt("extraction", "Read.", (), (turn,)))

    [memory] = read_answer(answer.text, ["t1"]).memories
    assert memory.type == type_


def test_an_unknown_second_word_leaves_the_type_open(tmp_path: Path) -> None:
    turn = Excerpt("t1", "The boat lies in the old dock.", "mira", own=True)
    with ScriptedModel(lambda asked: Sent(200, completion("yes"))) as model:
        brain = load_brain(settings(model), "extraction", state=tmp_path)
        answer = brain.answer(Prompt("extraction", "Read.", (), (turn,)))

    [memory] = read_answer(answer.text, ["t1"]).memories
    assert memory.type == ""
