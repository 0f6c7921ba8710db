"""What follows from the facts when they are read: edges the other way round, and how strong a relationship is. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from vault_memory.rules.facts.fact import Fact, folded, identified

RELATIONSHIPS = (
    "works_at",
    "manages",
    "reports_to",
    "friend_of",
    "lives_in",
    "parent_of",
    "child_of",
    "dating",
    "married_to",
    "member_of",
    "founded",
    "uses",
    "created",
    "collaborates_with",
    "mentors",
    "competitor_of",
    "partner_of",
    "client_of",
    "sibling_of",
    "knows",
)
"""Suggested predicates between two things"""
SYMMETRIC = frozenset(
    {
        "friend_of",
        "dating",
        "married_to",
        "collaborates_with",
        "competitor_of",
        "partner_of",
        "sibling_of",
        "knows",
    }
)
INVERSE = {
    "manages": "reports_to",
    "reports_to": "manages",
    "parent_of": "child_of",
    "child_of": "parent_of",
    **{predicate: predicate for predicate in SYMMETRIC},
}
COUNT, RECENCY, CONFIDENCE = 0.4, 0.3, 0.3
"""How much each part counts in the strength"""


@dataclass(frozen=True, slots=True)
class Strength:
    """A relationship between two things, and how strong it is: from 0 to 1."""

    subject: str
    predicate: str
    object: str
    strength: float


def with_inverse(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, and those that they say the other way round; what stands on a page itself is not said twice."""
    stated = list(facts)
    there = {
        (folded(fact.subject), fact.predicate, folded(fact.object)) for fact in stated
    }
    for fact in tuple(stated):
        predicate = INVERSE.get(fact.predicate)
        turned = (folded(fact.object), predicate, folded(fact.subject))
        if predicate and turned not in there:
            there.add((turned[0], predicate, turned[2]))
            stated.append(
                identified(
                    replace(
                        fact,
                        subject=fact.object,
                        predicate=predicate,
                        object=fact.subject,
                        text="",
                    )
                )
            )
    return stated


def strength(count: int, days: int, confidence: float) -> float:
    """Of a relationship that was mentioned so often, so many days ago for the last time."""
    recency = 1 / (1 + math.log1p(max(0, days)))
    return COUNT * (1 - 1 / (1 + count)) + RECENCY * recency + CONFIDENCE * confidence


def strengths(facts: Iterable[Fact], today: date) -> list[Strength]:
    """How strong each relationship is that the facts tell of, the strongest first."""
    told: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        if fact.predicate in RELATIONSHIPS:
            told.setdefault(
                (folded(fact.subject), fact.predicate, folded(fact.object)), []
            ).append(fact)
    found = []
    for several in told.values():
        last = max(_last_day(fact, today) for fact in several)
        value = strength(
            len(several), (today - last).days, max(fact.confidence for fact in several)
        )
        found.append(
            Strength(
                several[-1].subject,
                several[-1].predicate,
                several[-1].object,
                round(value, 6),
            )
        )
    return sorted(
        found, key=lambda one: (-one.strength, one.subject, one.predicate, one.object)
    )


def _last_day(fact: Fact, today: date) -> date:
    """When it was last known to hold, as far as the page tells: of a fact without a day, today."""
    last = fact.valid_until if fact.struck else None
    return min(last or fact.valid_from or today, today)
