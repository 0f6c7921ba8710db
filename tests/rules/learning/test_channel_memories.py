"""What a channel keeps from its turns, and what is left to its members."""

from datetime import date

import pytest

from vault_memory.rules.learning.candidate import (
    ACTIONS,
    DECISIONS,
    Doubt,
    Extraction,
    FoundFact,
    Memory,
)
from vault_memory.rules.learning.channel_memories import NOT_SHOWN, PERSONAL, of_channel, of_person
from vault_memory.rules.learning.grounding import OwnTurn

DAY = date(2026, 5, 27)
"""a Wednesday"""
TURNS = {
    "t1": OwnTurn("I will repair the roof of the boathouse by Friday.", "Mira", DAY),
    "t2": OwnTurn("We decided to paint the boathouse green.", "Jon", DAY),
    "t3": OwnTurn("Jon repairs the roof of the boathouse by Friday.", "Mira", DAY),
    "t4": OwnTurn("I am allergic to wool.", "Mira", DAY),
}
PEOPLE = ("mira", "jon", "ann")


def action(text: str, turn: str = "t1", owner: str = "", due: str = "") -> Memory:
    return Memory(text, evidence=(turn,), section=ACTIONS, owner=owner, due=due)


def kept(*memories: Memory, facts: tuple[FoundFact, ...] = ()) -> list[Memory]:
    extraction, _ = of_channel(Extraction(memories=memories, facts=facts), TURNS, PEOPLE)
    return list(extraction.memories)


@pytest.mark.parametrize(
    ("turn", "named", "owner"),
    [
        ("t1", "Mira", "mira"),
        ("t1", "@mira", "mira"),
        ("t3", "Jon", "jon"),
        ("t1", "Jon", ""),
        ("t3", "Ann", ""),
        ("t3", "Boathouse", ""),
    ],
)
def test_an_owner_is_a_member_who_speaks_or_is_named(turn: str, named: str, owner: str) -> None:
    [memory] = kept(action("repair the roof", turn, owner=named))

    assert memory.owner.lower() == owner


@pytest.mark.parametrize(
    ("due", "wanted"),
    [("this Friday", "2026-05-29"), ("2026-05-29", "2026-05-29"), ("2026-06-30", ""), ("soon", "")],
)
def test_a_day_is_one_that_the_turn_names(due: str, wanted: str) -> None:
    [memory] = kept(action("repair the roof", due=due))

    assert memory.due == wanted


def test_only_an_action_of_a_known_turn_has_an_owner_and_a_day() -> None:
    decision = Memory(
        "paint it green", evidence=("t2",), section=DECISIONS, owner="Jon", due="Friday"
    )
    unknown = action("sweep the jetty", "gone", owner="Mira", due="Friday")

    assert [(one.owner, one.due) for one in kept(decision, unknown)] == [("", ""), ("", "")]


def test_of_two_actions_that_say_the_same_the_fuller_one_stays() -> None:
    bare = action("repair the roof of the boathouse")
    full = action("repair the boathouse roof", owner="Mira", due="Friday")

    assert [memory.text for memory in kept(bare, full)] == [full.text]


def test_the_same_words_of_another_turn_or_section_stay() -> None:
    first = action("repair the roof of the boathouse", "t1")
    later = action("repair the roof of the boathouse", "t3")
    decision = Memory("repair the roof of the boathouse", evidence=("t1",), section=DECISIONS)

    assert {(one.section, one.evidence) for one in kept(first, later, decision)} == {
        (ACTIONS, ("t1",)),
        (ACTIONS, ("t3",)),
        (DECISIONS, ("t1",)),
    }


def test_news_that_a_section_has_from_the_same_turn_is_superfluous() -> None:
    decision = Memory("We paint the boathouse green", evidence=("t2",), section=DECISIONS)
    again = Memory("The boathouse is painted green", evidence=("t2",))
    elsewhere = Memory("The boathouse is painted green", evidence=("t3",))

    assert kept(decision, again) == [decision]
    assert kept(decision, elsewhere) == [decision, elsewhere]


def test_attributes_of_members_go_to_nobody_else() -> None:
    wool = FoundFact("Mira", "is_allergic_to", "wool", evidence=("t4",))
    roof = FoundFact("boathouse", "has", "a roof", evidence=("t1",))
    news = Memory("She is allergic to wool", type="event", evidence=("t4",))
    elsewhere = Memory("The sails are of wool", type="event", evidence=("t2",))
    liking = Memory("Mira likes tea", type="preference", evidence=("t1",))

    extraction, personal = of_channel(
        Extraction(memories=(news, elsewhere, liking), facts=(wool, roof)), TURNS, PEOPLE
    )

    assert extraction.facts == (roof,)
    assert extraction.memories == (elsewhere,)
    assert set(personal) == {"t4", "t1"}


def test_a_doubt_about_a_member_is_not_shown_to_all() -> None:
    about, other = Doubt("Mira drinks no tea", "unclear"), Doubt("Miramar is far", "unclear")

    extraction, _ = of_channel(Extraction(proposals=(about, other)), TURNS, PEOPLE)

    assert extraction.proposals == (other,)
    assert extraction.dropped == (Doubt(NOT_SHOWN, PERSONAL),)


def test_a_person_has_facts_alone_from_her_turns_in_channels() -> None:
    mine = FoundFact("Mira", "is_allergic_to", "wool", evidence=("t4",))
    others = FoundFact("Jon", "likes", "tea", evidence=("t4",))
    private = FoundFact("Jon", "likes", "coffee", evidence=("p1",))
    said = Memory("I am allergic to wool", evidence=("t4",))
    at_home = Memory("I like rain", evidence=("p1",))

    extraction = of_person(
        Extraction(memories=(said, at_home), facts=(mine, others, private)), ["t4"], "mira"
    )

    assert extraction.memories == (at_home,)
    assert extraction.facts == (mine, private)
