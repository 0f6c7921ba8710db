"""How a model describes a memory: a label may hold it back, and never lets more through."""

import json

import pytest

from tests.learning.conftest import Bedroom
from tests.models.scripted import Asked, Reply, ScriptedModel, Sent, completion
from vault_memory.rules.learning.answer_schema import facts_schema, memories_schema

SCOPE = "user:mira"
NOTE = "Users/mira/memories/2026-05-25.md"
FACTS = "Users/mira/lantern/config/FACTS.md"
TEXT = "Since spring the ropewalk pays my bills."


def labelled(**labels: str) -> Reply:
    """A model that remembers each turn with these labels, and states one fact."""

    def reply(asked: Asked) -> Sent:
        rows = [
            {"turn": turn_id, "text": text, "type": "identity", **labels}
            for turn_id, _, text in asked.turns
        ]
        if asked.wants == "facts":
            works = {"subject": "mira", "predicate": "works_at"}
            place = {"object": "the ropewalk", "from": "", "until": ""}
            facts = [{"turn": row["turn"], **works, **place} for row in rows]
            return Sent(200, completion(json.dumps({"facts": facts})))
        return Sent(200, completion(json.dumps({"memories": rows})))

    return reply


def sleep(bedroom: Bedroom, reply: Reply) -> dict[str, object]:
    with ScriptedModel(reply) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        return bedroom.sleep()[SCOPE]


def test_a_model_is_asked_how_careful_to_be_with_a_memory() -> None:
    row = memories_schema(["t1"])["properties"]["memories"]["items"]["properties"]

    assert row["care"]["enum"] == ["none", "sensitive", "crisis", "secret"]
    assert row["scope"]["enum"] == ["lasting", "session", "turn"]
    assert row["basis"]["enum"] == ["said", "inferred"]
    assert next(iter(row)) == "turn"
    assert "care" not in json.dumps(facts_schema(["t1"]))


def test_the_instructions_explain_each_label(bedroom: Bedroom) -> None:
    bedroom.say(TEXT)
    with ScriptedModel(labelled()) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        bedroom.sleep()

    [question] = [asked for asked in model.asked if asked.wants == "memories"]
    for word in ("care", "sensitive", "crisis", "secret", "basis", "inferred"):
        assert f"`{word}`" in question.system
    for word in ("scope", "turn", "session", "lasting"):
        assert f"`{word}`" in question.system


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"care": "secret"}, "secret"),
        ({"care": "crisis"}, "crisis"),
        ({"scope": "session"}, "turn_scoped"),
        ({"scope": "turn"}, "turn_scoped"),
    ],
)
def test_what_a_model_calls_a_secret_or_passing_is_not_written(
    bedroom: Bedroom, labels: dict[str, str], reason: str
) -> None:
    turn = bedroom.say(TEXT)

    night = sleep(bedroom, labelled(**labels))

    assert night["dropped"] == [{"ref": turn, "reason": reason}]
    assert "ropewalk" not in bedroom.text(NOTE) + bedroom.text(FACTS)


def test_what_a_model_infers_waits_and_its_fact_does_too(bedroom: Bedroom) -> None:
    bedroom.say(TEXT)

    night = sleep(bedroom, labelled(basis="inferred"))

    reasons = [entry["reason"] for entry in night["held"]]
    assert reasons == ["interpretive", "interpretive"]
    assert "ropewalk" not in bedroom.text(NOTE) + bedroom.text(FACTS)


@pytest.mark.sampled
@pytest.mark.parametrize("labels", [{}, {"care": "", "scope": "always", "basis": "maybe"}])
def test_missing_and_unknown_labels_hold_nothing_back(
    bedroom: Bedroom, labels: dict[str, str]
) -> None:
    bedroom.say(TEXT)

    night = sleep(bedroom, labelled(**labels))

    assert (night["held"], night["dropped"]) == ([], [])
    assert "ropewalk" in bedroom.text(NOTE)
    assert "works_at: the ropewalk" in bedroom.text(FACTS)


def test_a_mild_label_lets_nothing_more_through(bedroom: Bedroom) -> None:
    turn = bedroom.say("My password is swordfish.")

    mild = {"care": "none", "scope": "lasting", "basis": "said"}
    night = sleep(bedroom, labelled(**mild))

    assert {"ref": turn, "reason": "secret"} in night["dropped"]
    assert "swordfish" not in bedroom.text(NOTE) + bedroom.text(FACTS)
