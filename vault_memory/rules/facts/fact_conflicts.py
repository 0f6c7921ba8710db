"""Finds facts of one scope that cannot all hold. Pure; decides nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Literal

from vault_memory.rules.facts.fact import Fact, begins, canonical, ends, has_ended
from vault_memory.rules.facts.values import are_alike, same_value, words_of

OPPOSITES = (
    ("likes", "dislikes"),
    ("prefers", "avoids"),
    ("trusts", "distrusts"),
    ("uses", "stopped_using"),
    ("owns", "sold"),
)
"""Predicates that cannot hold of one object at a time"""

_OPPOSITE = {**dict(OPPOSITES), **{second: first for first, second in OPPOSITES}}

FactConflictKind = Literal["value", "opposite"]


@dataclass(frozen=True, slots=True)
class FactConflict:
    """Two facts that contradict each other, the one with the smaller id first."""

    kind: FactConflictKind
    """value: two values of a single-valued predicate; opposite: opposite predicates"""
    first: Fact
    second: Fact


def fact_conflicts(facts: Iterable[Fact], day: date, single: frozenset[str]) -> list[FactConflict]:
    """Returns each contradiction among the facts that hold on a day, or begin later."""
    conflicts: list[FactConflict] = []
    for group in subjects(facts, day):
        conflicts += _conflicts_of_subject(group, single)
    return sorted(conflicts, key=_order)


def subjects(facts: Iterable[Fact], day: date) -> list[list[Fact]]:
    """Groups the facts that have not ended by subject; each fact once."""
    by_id: dict[str, Fact] = {}
    for fact in facts:
        # Fault: a fact that has ended, or holds for a short time, contradicts nothing.
        if not has_ended(fact, day) and not fact.temporary:
            # Fault: a sync conflict copies a page, and the same fact would contradict itself.
            by_id.setdefault(fact.id, fact)
    names = canonical(by_id.values())
    groups: dict[str, list[Fact]] = {}
    for fact in by_id.values():
        subject, _ = fact.key
        groups.setdefault(names.get(subject, subject), []).append(fact)
    return list(groups.values())


def overlap(first: Fact, second: Fact) -> bool:
    """Returns whether there is a day on which both hold.

    The last day of a fact belongs to the fact that replaced it.
    """
    return begins(second) < ends(first) and begins(first) < ends(second)


def agree(first: str, second: str) -> bool:
    """Returns whether two values may be the same; one may say more than the other."""
    if same_value(first, second):
        return True
    ours, theirs = words_of(first), words_of(second)
    return ours <= theirs or theirs <= ours or are_alike(ours, theirs)


def _conflicts_of_subject(facts: Iterable[Fact], single: frozenset[str]) -> Iterator[FactConflict]:
    by_predicate: dict[str, list[Fact]] = {}
    for fact in facts:
        by_predicate.setdefault(fact.predicate, []).append(fact)
    for predicate, group in by_predicate.items():
        if predicate in single:
            yield from _rival_values(group)
        opposite = by_predicate.get(_OPPOSITE.get(predicate, ""), [])
        # Each pair of predicates is met from both sides.
        if opposite and predicate < opposite[0].predicate:
            yield from _opposites(group, opposite)


def _rival_values(facts: Iterable[Fact]) -> Iterator[FactConflict]:
    for first, second in combinations(facts, 2):
        if overlap(first, second) and not agree(first.object, second.object):
            yield _conflict("value", first, second)


def _opposites(facts: Iterable[Fact], others: Iterable[Fact]) -> Iterator[FactConflict]:
    by_object: dict[frozenset[str], list[Fact]] = {}
    for other in others:
        by_object.setdefault(words_of(other.object), []).append(other)
    for fact in facts:
        for other in by_object.get(words_of(fact.object), ()):
            if overlap(fact, other):
                yield _conflict("opposite", fact, other)


def _conflict(kind: FactConflictKind, first: Fact, second: Fact) -> FactConflict:
    # Fault: two devices must report a conflict in the same order.
    first, second = sorted((first, second), key=_id)
    return FactConflict(kind, first, second)


def _id(fact: Fact) -> str:
    return fact.id


def _order(conflict: FactConflict) -> tuple[str, str]:
    return conflict.first.id, conflict.second.id
