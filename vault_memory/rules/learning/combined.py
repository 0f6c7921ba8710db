"""Combines what the phrase rules quote with what a model found. Pure.

The rules quote the person, so what they find cannot be invented. A model that overlooks it, or that
gives an empty answer, must not silence them.
"""

from collections import defaultdict
from dataclasses import replace

from vault_memory.markdown.letters import folded_line
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory
from vault_memory.rules.learning.grounding import says_as_much


def combined(model: Extraction, rules: Extraction) -> Extraction:
    """Returns the model's extraction with what only the rules found."""
    memories = [memory for memory in rules.memories if not _has_memory(model.memories, memory)]
    cited: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for fact in model.facts:
        cited[_key(fact)].update(fact.evidence)
    # Fault: a turn that repeats a fact of the model would not support it.
    facts = [fact for fact in rules.facts if not cited[_key(fact)] >= {*fact.evidence}]
    return replace(
        model,
        memories=(*model.memories, *memories),
        facts=(*model.facts, *facts),
        nothing_new=model.nothing_new and not memories,
    )


def _has_memory(memories: tuple[Memory, ...], wanted: Memory) -> bool:
    """Returns whether a memory of the same turn says as much."""
    return any(
        (not wanted.section or memory.section == wanted.section)
        and not set(wanted.evidence).isdisjoint(memory.evidence)
        and says_as_much(memory.text, wanted.text)
        for memory in memories
    )


def _key(fact: FoundFact) -> tuple[str, str, str]:
    return folded_line(fact.subject), fact.predicate, folded_line(fact.object)
