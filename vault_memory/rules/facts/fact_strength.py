"""How much weight a fact has: its confidence, less what has faded since it was learned. Pure.

A fact never fades by itself, because an allergy ends by a statement and not by age. The strength
only says which facts a person may want to look at.
"""

from collections.abc import Iterable
from datetime import date, timedelta

from vault_memory.rules.conversations.turn_time import time_of_id
from vault_memory.rules.facts.fact import Fact, begins
from vault_memory.rules.facts.inference import RELATIONSHIPS
from vault_memory.rules.learning import fading

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
    strengths = [(strength_of(fact, today), fact) for fact in facts]
    weak = [entry for entry in strengths if entry[0] < below]
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
