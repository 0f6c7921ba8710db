"""What a model claims is kept only if a turn of the person says it."""

import random
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns, combined, grounded
from vault_memory.rules.learning.relative_days import resolve_days

DAY = date(2026, 5, 25)
TURNS = {
    "t1": "I am allergic to penicillin. The nurse wrote it down.",
    "t2": "I do not eat meat, but I love cheese from Gruyère.",
    "t3": "We are moving to Bergen tomorrow with three cats.",
    "t4": "Ich vertrage keine Milch.",
    "t5": "我对花生过敏。",
}
EVIDENCE = st.lists(st.sampled_from([*TURNS, "t99"]), max_size=2).map(tuple)
OWN = OwnTurns({id_: OwnTurn(text, "alice", DAY) for id_, text in TURNS.items()})

SAID = [
    ("t1", "Allergic to penicillin"),
    ("t1", "Alice has a penicillin allergy"),
    ("t2", "Does not eat meat"),
    ("t2", "Loves cheese from Gruyère"),
    ("t3", "Moving to Bergen on 2026-05-26"),
    ("t3", "Is moving to Bergen with 3 cats"),
    ("t4", "Verträgt keine Milch"),
    ("t5", "对花生过敏"),
]
NOT_SAID = [
    "My bank PIN is 4417",
    "You should see a doctor about the rash",
    "Bob owes Tomas money",
    "Allergic to peanuts",
    "Eats meat",
    "Moving to Bergen on 2026-05-27",
    "Moving to Oslo with three cats",
    "Moving to Bergen with five cats",
    "Verträgt Milch",
    "对牛奶过敏",
    "Keeps bees and flies only in the morning",
]


def learned(*memories: Memory) -> Extraction:
    return grounded(Extraction(memories), OWN)


@every(("turn", "text"), SAID)
def test_a_memory_in_the_words_of_its_turn_is_kept(turn: str, text: str) -> None:
    [memory] = learned(Memory(text, evidence=(turn,))).memories

    assert memory.evidence == (turn,)


@every(("turn", "text"), SAID)
def test_a_wrong_citation_is_replaced_by_the_turn_that_says_it(turn: str, text: str) -> None:
    wrong = next(id_ for id_ in TURNS if id_ != turn)

    [memory] = learned(Memory(text, evidence=(wrong,))).memories

    assert memory.evidence == (turn,)


@every("text", NOT_SAID)
@every("turn", TURNS)
def test_a_memory_that_no_turn_supports_is_only_proposed(turn: str, text: str) -> None:
    extraction = learned(Memory(text, evidence=(turn,)))

    assert not extraction.memories
    assert [doubt.text for doubt in extraction.proposals] == [text]


@pytest.mark.sampled
def test_two_hundred_answers_with_random_citations_keep_nothing_unsupported() -> None:
    chance = random.Random(4417)
    statements = [text for _, text in SAID] + NOT_SAID
    for _ in range(200):
        texts = chance.choices(statements, k=4)
        memories = [Memory(text, evidence=(chance.choice([*TURNS]),)) for text in texts]
        facts = [
            FoundFact("alice", "said", text, evidence=(chance.choice([*TURNS]),))
            for text in chance.choices(NOT_SAID, k=2)
        ]
        extraction = grounded(Extraction(tuple(memories), tuple(facts)), OWN)

        assert not extraction.facts
        kept = {memory.text for memory in extraction.memories}
        assert kept.isdisjoint(NOT_SAID)
        assert len(kept) == len({text for text in texts if text not in NOT_SAID})


def test_a_day_the_turn_does_not_name_is_removed_from_a_fact() -> None:
    fact = FoundFact("alice", "lives_in", "Bergen", "tomorrow", "2031-01-01", ("t3",))

    [dated] = grounded(Extraction(facts=(fact,)), OWN).facts

    assert (dated.valid_from, dated.valid_until) == ("2026-05-26", "")


def test_an_empty_answer_of_a_model_does_not_silence_the_rules() -> None:
    by_rules = Extraction((Memory("I am allergic to penicillin", evidence=("t1",)),))

    assert combined(Extraction(nothing_new=True), by_rules).memories == by_rules.memories


def test_a_memory_found_by_the_model_and_the_rules_is_kept_once() -> None:
    by_model = Extraction((Memory("Allergic to penicillin", evidence=("t1",)),))
    by_rules = Extraction((Memory("I am allergic to penicillin", evidence=("t1",)),))

    assert combined(by_model, by_rules).memories == by_model.memories


CLAIMS = [*(text for _, text in SAID), *NOT_SAID, *TURNS.values(), "It is.", "7", "我"]
CANDIDATES = st.builds(Memory, st.sampled_from(CLAIMS), evidence=EVIDENCE) | st.builds(
    FoundFact,
    st.sampled_from(["alice", "user", "Bob"]),
    st.just("said"),
    st.sampled_from(CLAIMS),
    evidence=EVIDENCE,
)


@given(st.lists(CANDIDATES), st.lists(CANDIDATES), st.sampled_from(CLAIMS))
def test_each_claim_is_kept_proposed_or_dropped(
    cited: list[Memory | FoundFact], uncited: list[Memory | FoundFact], job: str
) -> None:
    extraction = Extraction(
        memories=tuple(claim for claim in cited if isinstance(claim, Memory)),
        facts=tuple(claim for claim in cited if isinstance(claim, FoundFact)),
        uncited=tuple(replace(claim, doubt="no citation") for claim in uncited),
    )

    result = grounded(extraction, OWN, [OwnTurn(job, "alice", DAY)])

    candidates = [*result.memories, *result.facts]
    statements = {candidate.statement for candidate in candidates}
    doubts = {doubt.text for doubt in (*result.proposals, *result.dropped)}
    for claim in (*cited, *uncited):
        # A day takes the place of "tomorrow".
        dated = resolve_days(claim.statement, DAY).text
        assert {claim.statement, dated} & (statements | doubts)
    assert all(candidate.evidence for candidate in candidates)


def test_a_sentence_of_the_person_without_content_words_is_kept() -> None:
    turns = OwnTurns({"t1": OwnTurn("I like 7.", "alice", DAY)})
    quoted = Extraction(memories=(Memory("I like 7", evidence=("t1",)),))
    assert grounded(quoted, turns, are_quotations=True).memories == quoted.memories


@pytest.mark.parametrize("name", ["Will", "May"])
def test_a_name_that_is_a_common_word_is_looked_up(name: str) -> None:
    turns = OwnTurns({"t1": OwnTurn(f"My name is {name}.", "alice", DAY)})
    fact = FoundFact("alice", "also_known_as", name, evidence=("t1",))
    assert grounded(Extraction(facts=(fact,)), turns).facts == (fact,)


@every(
    ("text", "is_said"),
    [
        ("The cook Ole is vegan, no fish soup.", True),
        ("Ole is vegan", True),
        ("No fish soup for the cook Ole", True),
        ("The cook Ole is not vegan, fish soup.", False),
        ("fish soup", False),
    ],
)
def test_a_turn_may_deny_in_one_clause_and_state_in_another(text: str, is_said: bool) -> None:
    turn = OwnTurn("The cook Ole is vegan, no fish soup.", "mira", date(2026, 5, 25))

    assert bool(OwnTurns({"t1": turn}).citation(text, ["t1"])) is is_said
