"""Who a text is about, which facts a prompt is given, and what follows from facts when they are read."""

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.markdown.document import parse
from vault_memory.rules.facts.entities import (
    TYPES,
    Entities,
    Mention,
    extract,
    may_be_first_name,
    person_called,
    type_of,
    without_overlaps,
)
from vault_memory.rules.facts.fact import Fact, read_fact, read_facts
from vault_memory.rules.facts.inference import (
    INVERSE,
    RELATIONSHIPS,
    Together,
    strength,
    strengths,
    with_inverse,
)
from vault_memory.rules.facts.relevance import relevant

PAGE = b"""## acme corp
- is_a: organization
- also_known_as: Acme
- summary: makes anvils

## alice
- is_a: person
- works_at: Acme Corp (since 2026-01-28)
- manages: Bob
- lives_in: \xe5\x8c\x97\xe4\xba\xac
- friend_of: Bob
"""
FACTS = read_facts(parse(PAGE), "user:alice")
KNOWN = Entities.of(FACTS)


@every(
    ("text", "found"),
    [
        ("ask @ann.berg, please", [("ann.berg", "person")]),
        ("#tea-time and C# and #42", [("tea-time", "concept")]),
        ("mail ann@example.org now", [("ann@example.org", "email")]),
        ("see https://example.org/a?b=1.", [("https://example.org/a?b=1", "url")]),
        ("on 2026-05-01 and 3 May 2026", [("2026-05-01", "event"), ("3 May 2026", "event")]),
        ("Acme pays Alice", [("acme corp", "organization"), ("alice", "person")]),
        ("acmes and malice", []),
        ("https://example.org/#tag @", [("https://example.org/#tag", "url")]),
    ],
)
def test_names_are_found_by_pattern_and_from_known_entities(text, found):
    assert [(one.name, one.type) for one in extract(text, KNOWN)] == found


def test_of_overlapping_mentions_the_more_certain_and_then_the_longer_is_kept():
    short, long_, sure = (
        Mention("a", "other", 0, 3, 0.5),
        Mention("b", "other", 1, 6, 0.5),
        Mention("c", "url", 5, 7, 0.9),
    )

    assert without_overlaps([short, long_, sure]) == [short, sure]
    assert without_overlaps([short, long_]) == [long_]


@given(st.text(max_size=60))
def test_mentions_lie_within_the_text_and_do_not_overlap(text):
    last = 0
    for one in extract(text, KNOWN):
        assert last <= one.start < one.end <= len(text)
        assert one.type in TYPES
        last = one.end


@every(
    ("name", "type_", "expected"),
    [
        ("ACME  corp", "", "acme corp"),
        ("acme corp", "organization", "acme corp"),
        ("Acme", "", "acme corp"),
        ("acme corp", "person", "acme corp new"),
        ("Zed", "person", "Zed new"),
        ("@alice", "", "alice"),
    ],
)
def test_a_name_resolves_to_its_entity_then_an_alias_then_a_new_entity(name, type_, expected):
    found = KNOWN.resolve(name, type_)

    assert (
        found.name + ("" if found in (one for [one] in KNOWN.by_name.values()) else " new")
        == expected
    )


def test_the_type_of_an_entity_is_read_from_is_a():
    assert [type_of(said) for said in ("supply boat", "Person", "人", "odd")] == [
        "product",
        "person",
        "person",
        "other",
    ]
    assert KNOWN.resolve("Acme").summary == "makes anvils"


def test_relations_are_also_read_in_the_inverse_direction():
    there = {(one.subject, one.predicate, one.object) for one in with_inverse(FACTS)}

    assert {("Bob", "reports_to", "alice"), ("Bob", "friend_of", "alice")} <= there
    assert len(with_inverse(with_inverse(FACTS))) == len(with_inverse(FACTS)) == len(FACTS) + 2
    assert all(INVERSE[INVERSE[predicate]] == predicate for predicate in INVERSE)
    assert set(INVERSE) <= set(RELATIONSHIPS)


def test_strength_grows_with_mentions_and_fades_with_days():
    assert strength(1, 0, 1.0) == pytest.approx(0.4 * 0.5 + 0.3 + 0.3)
    assert strength(3, 10, 0.5) == pytest.approx(0.4 * 0.75 + 0.3 / (1 + math.log(11)) + 0.15)
    told = strengths(FACTS, date(2026, 2, 1))
    assert {one.predicate for one in told} == {"works_at", "manages", "lives_in", "friend_of"}
    assert told == sorted(told, key=lambda one: -one.strength)


def test_relevant_facts_are_limited_and_the_persons_own_come_first():
    facts = [
        Fact("", name, "likes", str(number)) for number in range(4) for name in ("zed", "alice")
    ]

    assert [fact.subject for fact in relevant(facts, "alice", 5)] == ["alice"] * 4 + ["zed"]
    assert len(relevant(facts, "alice")) == 8


def facts_of(*lines: str, scope: str = "user:ann") -> list[Fact]:
    facts = []
    for line in lines:
        subject, _, statement = line.partition(" · ")
        facts.append(read_fact(statement, subject, scope))
    return [fact for fact in facts if fact is not None]


def test_a_first_name_means_the_only_person_who_has_it():
    one = facts_of("Sarah Nilsen · works_at: Acme")
    two = [*one, *facts_of("ann · friend_of: Sarah Berg")]
    alias = [*one, *facts_of("Sarah Nilsen · also_known_as: Sarah N.")]

    assert person_called("Sarah", one) == "sarah nilsen"
    assert person_called("@sarah", alias) == "sarah nilsen"
    assert person_called("Sarah", two) == ""
    assert person_called("Sarah", [*one, *facts_of("Sarah · lives_in: Oslo")]) == ""
    assert person_called("Oslo", facts_of("Oslo Airport · is_a: location")) == ""
    assert not may_be_first_name("sarah")
    assert may_be_first_name("@sarah")


def test_persons_know_each_other_and_no_town_knows_a_person():
    facts = facts_of(
        "ann · knows: bo", "ann · knows: Oslo", "bo · lives_in: Oslo", "Oslo · is_a: town"
    )

    inverse = [fact for fact in with_inverse(facts) if fact.predicate == "knows"]

    assert [(fact.subject, fact.object) for fact in inverse] == [
        ("ann", "bo"),
        ("ann", "Oslo"),
        ("bo", "ann"),
    ]


def test_chunks_that_name_both_make_a_relationship_stronger():
    facts = facts_of("ann · friend_of: bo (since 2020-01-01)")
    both = frozenset(("ann", "bo"))
    today = date(2026, 5, 25)

    def value(chunks: int, newest: date | None = None) -> float:
        [one] = strengths(facts, today, {both: Together(chunks, newest)})
        return one.strength

    assert value(0) < value(5) < value(50) == value(500)
    assert value(5, date(2020, 6, 1)) < value(5, today)
