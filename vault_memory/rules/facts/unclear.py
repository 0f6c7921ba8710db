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
    choices: dict[str, list[Fact]] = {}
    for fact in open_facts.values():
        rival = open_facts.get(fact.unclear)
        # Fault: the rival is gone or has ended, and the mark is left over.
        if rival is None:
            continue
        group = choices.get(fact.id, [fact]) + choices.get(rival.id, [rival])
        choices.update(dict.fromkeys((member.id for member in group), group))
    return {id_: _values_of(group) for id_, group in choices.items()}


def _values_of(rivals: Iterable[Fact]) -> tuple[str, ...]:
    values = {fact.object for fact in rivals}
    predicates = {fact.predicate for fact in rivals}
    return tuple(sorted(values if len(predicates) == 1 else predicates))


def shown_line(fact: Fact, values: Mapping[str, tuple[str, ...]]) -> str:
    """Returns the line of a fact; an unclear one names the values between which to decide."""
    # Fault: the mark of a settled choice would show an id that says nothing.
    line = replace(fact, unclear="").line()
    choice = values.get(fact.id)
    return f"{line} (unclear: {' or '.join(choice)})" if choice else line
