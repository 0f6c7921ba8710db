"""Finds memories that say no more than a fact says. Such a memory is in FACTS.md alone. Pure."""

from collections.abc import Iterable

from vault_memory.rules.learning.candidate import FoundFact, Memory
from vault_memory.rules.search.tokens import is_run, stop_words, words

ATTRIBUTES = frozenset({"identity", "preference", "relationship"})
"""Types of memories that a fact can hold completely"""
MOST_OTHER_WORDS = 1
"""Content words beside those of the fact, such as the verb"""
MOST_OTHER_LETTERS = 5
"""The same for scripts without spaces, whose words are not known: as in "我现在住在" """


def fact_beside(
    memory: Memory,
    facts: Iterable[FoundFact],
) -> FoundFact | None:
    """Returns a fact of the same turn that says what the memory says."""
    if memory.type not in ATTRIBUTES:
        return None
    for fact in facts:
        shares_turn = not set(memory.evidence).isdisjoint(fact.evidence)
        if shares_turn and _says_no_more(memory.text, fact):
            return fact
    return None


def _says_no_more(
    text: str,
    fact: FoundFact,
) -> bool:
    # Fault: pairs of letters across the edge of the object would count as other words.
    if is_run(text[:1]) and fact.object in text:
        return len(text.replace(fact.object, "").strip()) <= MOST_OTHER_LETTERS
    text_words = words(text)
    content_words = set(text_words) - stop_words(text_words)
    fact_words = {*words(fact.subject), *words(fact.object)}
    return len(content_words - fact_words) <= MOST_OTHER_WORDS
