"""What a model adds at night: names of people and things, and contradictions in meaning."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest

from tests.learning.conftest import Bedroom
from tests.models.scripted import Asked, ScriptedModel, Sent, completion, learned
from vault_memory import VaultMemory
from vault_memory.learning.enrichment.settlement import MOST_PAIRS

FACTS = "Users/mira/lantern/config/FACTS.md"
SCOPE = "user:mira"


@contextmanager
def model(bedroom: Bedroom, answers: Callable[[Asked], object]) -> Iterator[ScriptedModel]:
    def reply(asked: Asked) -> Sent:
        return Sent(200, completion(json.dumps(answers(asked), ensure_ascii=False)))

    with ScriptedModel(reply) as server:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=server.url, BRAIN_MODEL="small")
        yield server


def questions(server: ScriptedModel, key: str) -> list[Asked]:
    return [asked for asked in server.asked if f"`{key}`" in asked.system.split(".")[1]]


def night(bedroom: Bedroom, day: int = 26) -> dict[str, object]:
    return bedroom.sleep(now=f"2026-05-{day}T02:05+01:00")[SCOPE]


def test_a_model_names_people_and_things_of_the_turns(bedroom: Bedroom) -> None:
    def answers(asked: Asked) -> object:
        if asked.wants != "facts":
            return learned(asked)
        [(turn, _, _)] = asked.turns
        rows = [
            {"turn": turn, "name": "Sarah Nilsen", "type": "person", "aliases": ["Sally"]},
            {"turn": turn, "name": "Peter Invented", "type": "person", "aliases": []},
            {"turn": turn, "name": "boat", "type": "product", "aliases": []},
        ]
        return {"facts": [], "entities": rows}

    turn = bedroom.say("Sarah Nilsen, or Sally, repairs the boat of the island.")
    with model(bedroom, answers):
        night(bedroom)

    page = bedroom.text(FACTS)
    assert f"- is_a: person (ref:{turn}, conf:0.7)" in page
    assert "also_known_as: Sally" in page
    assert "Invented" not in page
    assert "## boat" not in page


def test_no_name_is_taken_from_a_turn_with_a_secret(bedroom: Bedroom) -> None:
    def answers(asked: Asked) -> object:
        if asked.wants != "facts":
            return learned(asked)
        rows = [
            {"turn": turn, "name": "Swordfish7", "type": "product", "aliases": []}
            for turn, _, _ in asked.turns
        ]
        return {"facts": [], "entities": rows}

    bedroom.say("My password is Swordfish7. I told nobody about it yesterday.")
    bedroom.say("I like the harbour of Ostervik in the morning.")
    with model(bedroom, answers):
        night(bedroom)

    assert "Swordfish7" not in bedroom.text(FACTS)


@pytest.mark.sampled
def test_each_item_is_shown_to_a_model_once(bedroom: Bedroom) -> None:
    def answers(asked: Asked) -> object:
        if "`entities`" not in asked.system or asked.wants == "facts":
            return learned(asked)
        lines = dict(re.findall(r"^\[(\w+)\] (.*)$", asked.text, re.MULTILINE))
        [item] = [id_ for id_, text in lines.items() if "Mei Lin" in text]
        row = {"item": item, "name": "Mei Lin", "type": "person", "aliases": []}
        return {"entities": [row, {**row, "name": "Mei Wong"}]}

    with model(bedroom, answers) as server:
        bedroom.say("The light was clear all night.")
        night(bedroom)
        bedroom.say("The wind came from the north.", day="2026-05-26")
        first = [asked for asked in server.asked if "<items>" in asked.text]
        night(bedroom, 27)
        both = [asked for asked in server.asked if "<items>" in asked.text]

    assert len(first) == 1
    items = [set(re.findall(r"^\[(\w+)\]", asked.text, re.MULTILINE)) for asked in both]
    assert len(items) == 1 or items[0].isdisjoint(items[1])
    page = bedroom.text(FACTS)
    assert "## Mei Lin" in page
    assert "Mei Wong" not in page


def test_without_a_model_no_name_is_guessed(bedroom: Bedroom) -> None:
    bedroom.say("Sarah Nilsen repairs the boat of the island.")
    night(bedroom)

    assert "is_a: person (" not in bedroom.text(FACTS)
    assert "conf:0.7" not in bedroom.text(FACTS)


@pytest.mark.sampled
def test_a_model_finds_what_only_the_meaning_contradicts(bedroom: Bedroom) -> None:
    def answers(asked: Asked) -> object:
        if "<pairs>" not in asked.text:
            return learned(asked)
        pairs = re.findall(r"^\[(\w+)\] 1\. (.*)\n +2\. (.*)$", asked.text, re.MULTILINE)
        return {
            "verdicts": [
                {"pair": id_, "contradict": "yes" if "vegan" in first + second else "no"}
                for id_, first, second in pairs
            ]
        }

    bedroom.say("The harbour cook Ole eats fish soup every evening.", day="2026-05-24")
    with model(bedroom, answers) as server:
        night(bedroom, 25)
        bedroom.say("The harbour cook Ole is vegan, no fish soup.", day="2026-05-25")
        settled = night(bedroom, 26)
        asked = [asked for asked in server.asked if "<pairs>" in asked.text]
        night(bedroom, 27)
        later = [asked for asked in server.asked if "<pairs>" in asked.text]

    assert settled["conflicts"] == 1
    assert "conf:0.3" in bedroom.text("Users/mira/memories/2026-05-24.md")
    assert "supersedes:" in bedroom.text("Users/mira/memories/2026-05-25.md")
    pairs = [set(re.findall(r"^\[(\w+)\]", one.text, re.MULTILINE)) for one in later]
    assert len(asked) <= 2
    assert sum(map(len, pairs)) == len(set().union(*pairs))
    assert all(len(ids) <= 20 for ids in pairs)


def compares_fish(asked: Asked) -> object:
    """A model that finds two lines about fish soup contradictory, and no others."""
    if "<pairs>" not in asked.text:
        return {"memories": [], "facts": []}
    pairs = re.findall(r"^\[(\w+)\] 1\. (.*)\n +2\. (.*)$", asked.text, re.MULTILINE)
    rows = [
        {"pair": id_, "contradict": "yes" if "vegan" in first + second else "no"}
        for id_, first, second in pairs
    ]
    return {"verdicts": rows}


def pairs_asked(server: ScriptedModel) -> list[list[str]]:
    """The ids of the pairs in each question about pairs."""
    return [
        re.findall(r"^\[(\w+)\] 1\. ", asked.text, re.MULTILINE)
        for asked in server.asked
        if "<pairs>" in asked.text
    ]


def test_what_came_in_by_day_is_compared_in_a_night_without_turns(bedroom: Bedroom) -> None:
    texts = (
        "Remember that the harbour cook Ole eats fish soup every evening.",
        "Remember that the harbour cook Ole is vegan and hates fish soup.",
    )
    with model(bedroom, compares_fish) as server:
        for number, text in enumerate(texts):
            bedroom.say(text, at=f"18:0{number}", session="tea")
        now = datetime.fromisoformat("2026-05-25T19:00+01:00")
        options = ("--user", "mira", "--now", now.isoformat())
        bedroom.seen.ok("end-session", "tea", *options)
        environment = bedroom.seen.environment
        with VaultMemory.open(bedroom.vault, environment=environment) as memory:
            memory.learning.learn_from_ended(now=now + timedelta(minutes=1))
        assert pairs_asked(server) == []
        quiet = night(bedroom, 26)
        again = night(bedroom, 27)
        asked = pairs_asked(server)

    assert (quiet["gathered"], quiet["conflicts"]) == (0, 1)
    assert again["conflicts"] == 0
    assert len(asked[0]) <= 20
    ids = [id_ for pairs in asked for id_ in pairs]
    assert len(ids) == len(set(ids))


def test_a_model_is_asked_about_contradictions_once_a_night(bedroom: Bedroom) -> None:
    with model(bedroom, compares_fish) as server:
        bedroom.seen.ok("remember", "--user", "mira", "Ole the harbour cook eats fish.")
        bedroom.seen.ok("remember", "--user", "mira", "Ole the harbour cook is vegan.")
        night(bedroom)
        first = len(pairs_asked(server))
        bedroom.seen.ok("remember", "--user", "mira", "Ole the harbour cook is vegan!?")
        bedroom.seen.ok("remember", "--user", "mira", "Ole the harbour cook sells eels.")
        night(bedroom)
        same_night = len(pairs_asked(server))
        night(bedroom, 27)
        asked = pairs_asked(server)

    assert (first, same_night, len(asked)) == (1, 1, 2)


@pytest.mark.sampled
def test_pairs_beyond_the_limit_of_a_night_are_asked_in_the_next(bedroom: Bedroom) -> None:
    dishes = ("eats fish", "sells eels", "is vegan", "fries cod", "pickles herring", "grills crab")
    with model(bedroom, compares_fish) as server:
        for text in (*dishes, "smokes trout"):
            bedroom.seen.ok("remember", "--user", "mira", f"Ole the harbour cook {text}.")
        for day in (26, 27, 28):
            night(bedroom, day)

    nights = pairs_asked(server)
    assert [len(pairs) for pairs in nights] == [MOST_PAIRS, MOST_PAIRS, 2]
    asked = [pair for pairs in nights for pair in pairs]
    assert len(set(asked)) == len(asked)
