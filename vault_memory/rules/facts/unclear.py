"""Shows facts that contradict each other until a person decides. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from vault_memory.rules.facts.fact import Fact


def unclear_values(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """Returns by id what may hold instead of a fact, its own value included.

    One mark is enough for both facts. Three facts that are marked in a row are one choice.
    Opposite predicates of one object are the values then.
    """
    open_facts = {fact.id: fact for fact in facts if not fact.struck}
    groups = {id_: {id_} for id_ in open_facts}
    for fact in open_facts.values():
        # Fault: the rival is gone or has ended, and the mark is left over.
        if fact.unclear in open_facts:
            joined = groups[fact.id] | groups[fact.unclear]
            groups.update(dict.fromkeys(joined, joined))
    choices = {
        id_: _choice([open_facts[member] for member in group])
        for id_, group in groups.items()
    }
    return {id_: choice for id_, choice in choices.items() if len(choice) > 1}


def _choice(rivals: list[Fact]) -> tuple[str, ...]:
    values = {fact.object for fact in rivals}
    if len({fact.predicate for fact in rivals}) > 1:
        values = {fact.predicate for fact in rivals}
    return tuple(sorted(values))


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
