"""What follows from facts: inverse facts, and the strength of relationships and of facts. Pure.

A fact never fades by itself, because an allergy ends by a statement and not by age. Its strength
only says which facts a person may want to look at.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from operator import attrgetter
from typing import NamedTuple

from vault_memory.rules.conversations.turn import time_of_id
from vault_memory.rules.facts.entities import persons
from vault_memory.rules.facts.fact import Fact, begins, folded, identified
from vault_memory.rules.learning import fading

RELATIONSHIPS = tuple(
    (
        "works_at manages reports_to friend_of lives_in parent_of child_of dating married_to "
        "member_of founded uses created collaborates_with mentors competitor_of partner_of "
        "client_of sibling_of knows"
    ).split()
)
"""Suggested predicates between two entities"""
SYMMETRIC = frozenset(
    (
        "friend_of dating married_to collaborates_with competitor_of partner_of sibling_of knows"
    ).split()
)
INVERSE = {
    "manages": "reports_to",
    "reports_to": "manages",
    "parent_of": "child_of",
    "child_of": "parent_of",
    **{predicate: predicate for predicate in SYMMETRIC},
}
COUNT, RECENCY, CONFIDENCE = 0.4, 0.3, 0.3
"""The weights in the strength of a relationship"""

_Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Strength:
    """A relationship between two entities with its strength, from 0 to 1."""

    subject: str
    predicate: str
    object: str
    strength: float


def with_inverse(facts: Iterable[Fact], people: Collection[str] | None = None) -> list[Fact]:
    """Returns the facts and their inverses, except those that the page states itself.

    `people`: folded names of persons; only between them is `knows` symmetric. None: as the facts
    show.
    """
    stated = list(facts)
    if people is None:
        people = persons(stated)
    triples = set(map(_triple, stated))
    for fact in tuple(stated):
        predicate = INVERSE.get(fact.predicate)
        # Fault: a person knows a town, and a town knows no person.
        if not predicate or not _is_invertible(fact, people):
            continue
        inverse = (folded(fact.object), predicate, folded(fact.subject))
        # Fault: the page may state the inverse itself, which must not count twice.
        if inverse not in triples:
            triples.add(inverse)
            stated.append(_inverted(fact, predicate))
    return stated


def _is_invertible(fact: Fact, people: Collection[str]) -> bool:
    """Returns whether the inverse follows: one may know a person, a town or a language."""
    if fact.predicate != "knows":
        return True
    return folded(fact.subject) in people and folded(fact.object) in people


def _inverted(fact: Fact, predicate: str) -> Fact:
    return identified(
        replace(fact, subject=fact.object, predicate=predicate, object=fact.subject, text="")
    )


def _triple(fact: Fact) -> _Triple:
    return folded(fact.subject), fact.predicate, folded(fact.object)


def strength(count: int, days: int, confidence: float) -> float:
    """Returns the strength after `count` mentions, the latest of them `days` ago."""
    # Fault: a wrong clock puts the last mention into the future.
    recency = 1 / (1 + math.log1p(max(0, days)))
    return COUNT * (1 - 1 / (1 + count)) + RECENCY * recency + CONFIDENCE * confidence


MOST_CHUNKS = 50
"""Chunks that count as mentions of a relationship"""


class Together(NamedTuple):
    """How often chunks name both entities of a relationship."""

    chunks: int = 0
    newest: date | None = None


def strengths(
    facts: Iterable[Fact], today: date, together: Mapping[frozenset[str], Together] | None = None
) -> list[Strength]:
    """Returns the strength of each relationship in the facts, the strongest first.

    `together`: by the folded names of both entities.
    """
    mentions: dict[_Triple, list[Fact]] = {}
    for fact in facts:
        if fact.predicate in RELATIONSHIPS:
            mentions.setdefault(_triple(fact), []).append(fact)
    chunks = together or {}
    relationships = [
        _relationship(group, today, chunks.get(frozenset((subject, value)), Together()))
        for (subject, _, value), group in mentions.items()
    ]
    relationships.sort(key=attrgetter("subject", "predicate", "object"))
    relationships.sort(key=attrgetter("strength"), reverse=True)
    return relationships


def _relationship(mentions: list[Fact], today: date, together: Together) -> Strength:
    days = [_last_day(fact, today) for fact in mentions]
    if together.newest is not None:
        # Fault: a chunk with a date in the future would count as newer than today.
        days.append(min(together.newest, today))
    last_day = max(days)
    confidence = max(fact.confidence for fact in mentions)
    # Fault: a diary that names both each day would outweigh all other relations.
    count = max(len(mentions), min(MOST_CHUNKS, together.chunks))
    value = strength(count, (today - last_day).days, confidence)
    latest = mentions[-1]
    return Strength(latest.subject, latest.predicate, latest.object, round(value, 6))


def _last_day(fact: Fact, today: date) -> date:
    """Returns the last day on which a fact held; today for a fact without a day."""
    last = fact.valid_until if fact.struck else None
    return min(last or fact.valid_from or today, today)


PREFERENCES = frozenset({"likes", "dislikes", "loves", "hates", "prefers", "avoids"})


def strength_of(fact: Fact, today: date) -> float:
    """Returns the strength of a fact, from 0 to 1."""
    learned = _day_learned(fact)
    # What a person wrote cites no turn, and what they confirmed does not fade.
    if fact.confirmed or learned is None:
        return fact.confidence
    vitality = fading.Vitality(_type_of(fact), learned)
    return fact.confidence * fading.retention_on(vitality, today)


def weak_facts(facts: Iterable[Fact], below: float, today: date) -> list[tuple[float, Fact]]:
    """Returns the facts whose strength is below a limit, the weakest first."""
    by_strength = [(strength_of(fact, today), fact) for fact in facts]
    weak = [entry for entry in by_strength if entry[0] < below]
    return sorted(weak, key=lambda entry: entry[0])


def known_since(fact: Fact) -> date:
    """Returns the first day on which a fact is known to hold; `date.min` if the page has no day.

    A fact without a first day holds since it was learned, at the latest.
    """
    learned = None if fact.valid_from else _day_learned(fact)
    if learned is None:
        return begins(fact)
    # The id of a turn has the day of UTC, which may be a day later than the local one.
    return learned - timedelta(days=1)


def _day_learned(fact: Fact) -> date | None:
    """Returns the day of the turn that a fact cites; None for a fact that cites none."""
    if not fact.ref:
        return None
    moment = time_of_id(fact.ref)
    # Fault: the id of a turn from another program has no time in it.
    return moment.date() if moment else fact.valid_from


def _type_of(fact: Fact) -> str:
    if fact.predicate in PREFERENCES:
        return "preference"
    if fact.predicate in RELATIONSHIPS:
        return "relationship"
    return "identity"
