"""Shows facts that contradict each other until a person decides. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from vault_memory.rules.facts.fact import Fact


def unclear_values(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """Returns by id what may hold instead of a fact, its own value included.

    One mark is enough for both facts. Opposite predicates of one object are the values then.
    """
    open_facts = {fact.id: fact for fact in facts if not fact.struck}
    values: dict[str, tuple[str, ...]] = {}
    for fact in open_facts.values():
        rival = open_facts.get(fact.unclear)
        if rival is None or rival.id in values or fact.id in values:
            continue
        choice = (rival.object, fact.object)
        if rival.predicate != fact.predicate:
            choice = (rival.predicate, fact.predicate)
        ordered = tuple(sorted(choice))
        values[fact.id] = values[rival.id] = ordered
    return values


def shown_line(
    fact: Fact,
    values: Mapping[str, tuple[str, ...]],
) -> str:
    """Returns the line of a fact; an unclear one names the values between which to decide."""
    choice = values.get(fact.id)
    if not choice:
        return fact.line()
    line = replace(fact, unclear="").line()
    return f"{line} (unclear: {' or '.join(choice)})"
