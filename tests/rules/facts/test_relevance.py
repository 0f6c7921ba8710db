"""Which facts a prompt names, in which order they are shown, and how those that contradict are shown."""

from datetime import date
from typing import Any

from tests.every import every
from vault_memory.rules.facts import relevance
from vault_memory.rules.facts.fact import Fact
from vault_memory.rules.facts.relevance import PromptWords


def fact(id: str, subject: str = "Bo", predicate: str = "likes", object: str = "tea", **more: Any):  # type: ignore[no-untyped-def]
    return Fact(id, subject, predicate, object, scope="user:mira", **more)


@every(
    ("prompt", "name", "named"),
    [
        ("When does Bo Lindqvist sail?", "Bo Lindqvist", True),
        ("when does bo lindqvist sail?", "Bo  LINDQVIST", True),
        ("the boat", "Bo", False),
        ("Bo", "Bo Lindqvist", False),
        ("caf\u00e9 now", "cafe\u0301", True),
        ("anything", "!!!", False),
        ("anything", "", False),
        ("我和小明去上海", "小明", True),
        ("我和小明去上海", "小红", False),
    ],
)
def test_a_prompt_names_what_stands_in_it_as_complete_words(
    prompt: str, name: str, named: bool
) -> None:
    words = PromptWords(prompt)

    assert words.names(name) is named
    if named and name.isascii():
        assert relevance.lead(name) in words.leads()


def test_a_long_name_is_looked_up_by_its_first_words() -> None:
    name = "the very long name of a boat"

    assert relevance.lead(name) == "the very long name of a"
    assert relevance.lead(name) in PromptWords(f"Where is {name} now?").leads()
    assert relevance.lead("!!!") == ""
    assert {"我", "海"} <= PromptWords("我去上海").leads()


def test_of_an_endless_prompt_the_last_words_are_read() -> None:
    prompt = "first " + "word " * relevance.MOST_WORDS
    leads = PromptWords(prompt).leads()

    assert "word" in leads
    assert "first" not in leads


def test_first_names_are_capitalised_or_addressed() -> None:
    assert PromptWords("Ask Mira and @bo about the boat.").first_names() >= {"Mira", "@bo"}
    assert "boat" not in PromptWords("Ask Mira and @bo about the boat.").first_names()


def test_own_facts_come_first_then_the_latest_and_the_confirmed_ones() -> None:
    old = fact("1", valid_from=date(2020, 1, 1))
    new = fact("2", valid_from=date(2024, 1, 1))
    sure = fact("3", valid_from=date(2024, 1, 1), confirmed=True)
    own = fact("4", subject="MIRA", valid_from=date(2010, 1, 1))

    ranked = relevance.relevant([old, new, sure, own], "mira")
    assert [each.id for each in ranked] == ["4", "3", "2", "1"]
    assert [each.id for each in relevance.relevant([old, new, sure, own], "mira", 2)] == ["4", "3"]


def test_facts_that_are_marked_in_a_row_are_one_choice_between_their_values() -> None:
    first, second = fact("1", object="tea", unclear="2"), fact("2", object="milk")
    third = fact("3", object="water", unclear="2")
    other = fact("4", object="gin")

    values = relevance.unclear_values([first, second, third, other])

    assert values == dict.fromkeys(("1", "2", "3"), ("milk", "tea", "water"))
    line = relevance.shown_line(first, values)
    assert line.endswith("(unclear: milk or tea or water)")
    assert "unclear:2" not in line
    assert "unclear" not in relevance.shown_line(other, values)


@every(
    "facts",
    [
        [fact("1", unclear="2")],
        [fact("1", unclear="2"), fact("2", object="milk", struck=True)],
        [fact("1", unclear="2", struck=True), fact("2", object="milk")],
    ],
)
def test_a_mark_whose_rival_is_gone_or_ended_asks_nothing(facts: list[Fact]) -> None:
    assert relevance.unclear_values(facts) == {}
    assert "unclear" not in relevance.shown_line(facts[0], {})


def test_opposite_predicates_of_one_object_are_the_values() -> None:
    likes = fact("1", unclear="2")
    hates = fact("2", predicate="hates")

    assert relevance.unclear_values([likes, hates])["1"] == ("hates", "likes")
