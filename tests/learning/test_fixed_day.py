"""One fixed day of sixty turns in six languages: what of it is remembered, and what never is."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.learning.conftest import Bedroom
from tests.models.scripted import Asked, ScriptedModel, Sent, completion

TURNS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "days/six_languages.toml").read_text(encoding="utf-8")
)["turns"]
KEPT_TEXTS = {turn["text"] for turn in TURNS if "keep" in turn}
OTHER_TEXTS = [turn["text"] for turn in TURNS if "keep" not in turn]
EPISODE = "- [episode]"


def rows(asked: Asked) -> list[dict[str, str]]:
    return [
        {"turn": turn_id, "text": text, "type": "context"}
        for turn_id, _, text in asked.turns
        if text in KEPT_TEXTS
    ]


def large(asked: Asked) -> Sent:
    """Finds everything, and nothing else."""
    memories = rows(asked) if asked.wants == "memories" else []
    return Sent(200, completion(json.dumps({"memories": memories})))


def medium(asked: Asked) -> Sent:
    """Cites a wrong turn now and then, invents, and remembers what it must not."""
    if asked.wants != "memories":
        return Sent(200, completion("{}"))
    memories = rows(asked)
    ids = [turn_id for turn_id, _, _ in asked.turns]
    for position, memory in enumerate(memories):
        if position % 4 == 1:
            memory["turn"] = ids[(position * 7) % len(ids)]
    for turn_id, _, text in asked.turns:
        if "swordfish" in text or "4417" in text or "Just for this" in text:
            memories.append({"turn": turn_id, "text": text, "type": "context"})
    memories.append({"turn": ids[0], "text": "Flies only at night", "type": "context"})
    memories.append({"turn": ids[0], "text": "The bot is called Lamp", "type": "x"})
    text = f"Here it is:\n```json\n{json.dumps({'memories': memories})}\n```"
    return Sent(200, completion(text))


def small(asked: Asked) -> Sent:
    """Answers one word: it overlooks some turns, and takes a secret for a memory."""
    # Examples stand before the turn that is asked for.
    text = asked.text.splitlines()[-1]
    says_yes = any(text.startswith(kept[:12]) for kept in KEPT_TEXTS)
    says_yes = says_yes and len(text) % 9 != 4
    says_yes = says_yes or "swordfish" in text or "Just for this" in text
    return Sent(200, completion("yes" if says_yes else "no"))


MODELS: dict[str, tuple[Callable[[Asked], Sent], str, int]] = {
    "large": (large, "full", 40),
    "medium": (medium, "full", 40),
    "small": (small, "labels", 40),
}


def learn_the_day(bedroom: Bedroom) -> dict[str, str]:
    """Records the day and sleeps. Returns the turns' ids with their texts."""
    ids = {}
    for number, turn in enumerate(TURNS):
        ids[
            bedroom.say(
                turn["text"],
                at=f"{8 + number // 6:02}:{number % 6}0",
                session=f"talk {number // 15}",
            )
        ] = turn["text"]
    bedroom.sleep()
    return ids


def lines_of_notes(bedroom: Bedroom) -> list[str]:
    texts = [
        raw.decode()
        for name, raw in bedroom.files().items()
        if name.startswith("Users/mira/") and name.endswith(".md")
    ]
    return [line for text in texts for line in text.splitlines()]


def lines_by_turn(bedroom: Bedroom, ids: dict[str, str]) -> dict[str, list[str]]:
    """The lines of notes, facts and rules that each turn taught, by its text.

    An episode teaches nothing: it cites the last turn of its conversation.
    """
    lines = [line for line in lines_of_notes(bedroom) if EPISODE not in line]
    return {
        text: [line for line in lines if f"ref:{turn_id}" in line] for turn_id, text in ids.items()
    }


def judge(lines: dict[str, list[str]]) -> tuple[int, list[str], list[str]]:
    """The number of remembered turns, the must-nots, and the wrong dates."""
    remembered = 0
    wrong_days = []
    for turn in TURNS:
        if "keep" not in turn:
            continue
        found = " ".join(lines[turn["text"]])
        if not all(word in found for word in turn["keep"]):
            continue
        remembered += 1
        if turn.get("day", "") not in found:
            wrong_days.append(found)
    must_nots = [text for text in OTHER_TEXTS if lines[text]]
    return remembered, must_nots, wrong_days


def test_the_day_has_forty_turns_to_remember_and_twenty_others() -> None:
    assert (len(KEPT_TEXTS), len(OTHER_TEXTS)) == (40, 20)


@pytest.mark.sampled
def test_the_rules_alone_remember_two_thirds_of_the_day(bedroom) -> None:
    remembered, must_nots, wrong_days = judge(lines_by_turn(bedroom, learn_the_day(bedroom)))

    assert remembered >= 26
    assert must_nots == []
    assert wrong_days == []


@pytest.mark.sampled
def test_an_episode_of_the_day_quotes_no_other_turn_but_an_open_question(bedroom) -> None:
    learn_the_day(bedroom)

    episodes = [line for line in lines_of_notes(bedroom) if EPISODE in line]
    told = " ".join(line.partition("; open:")[0] for line in episodes)
    assert episodes
    assert [text for text in OTHER_TEXTS if text[:20] in told] == []
    assert "swordfish" not in " ".join(episodes)
    assert [
        text for text in OTHER_TEXTS if "?" not in text and text[:20] in " ".join(episodes)
    ] == []


@pytest.mark.sampled
@pytest.mark.parametrize("size", MODELS)
def test_with_a_model_of_any_size_the_day_is_remembered(bedroom, size: str) -> None:
    answers, mode, least = MODELS[size]
    with ScriptedModel(answers) as model:
        bedroom.set(
            BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small", BRAIN_MODE=mode
        )
        remembered, must_nots, wrong_days = judge(lines_by_turn(bedroom, learn_the_day(bedroom)))

    assert remembered >= least
    assert len(must_nots) <= 1
    assert wrong_days == []


@pytest.mark.skipif(
    "VAULT_MEMORY_TEST_LLM_URL" not in os.environ,
    reason="VAULT_MEMORY_TEST_LLM_URL names no server",
)
def test_a_real_model_remembers_more_of_the_day_than_the_rules(bedroom) -> None:
    bedroom.set(
        BRAIN_KIND="openai",
        BRAIN_BASE_URL=os.environ["VAULT_MEMORY_TEST_LLM_URL"],
        BRAIN_MODEL=os.environ.get("VAULT_MEMORY_TEST_LLM_MODEL", "default"),
        BRAIN_MODE="auto",
    )
    remembered, must_nots, wrong_days = judge(lines_by_turn(bedroom, learn_the_day(bedroom)))

    print(f"{remembered} of 40; must-nots {must_nots}; wrong days {wrong_days}")
    assert remembered > 20
    assert len(must_nots) <= 2
    assert wrong_days == []
