"""Finds memories that say no more than a fact says. Such a memory is in FACTS.md alone. Pure."""

from collections.abc import Callable, Iterable

from vault_memory.rules.learning.candidate import FoundFact, Memory
from vault_memory.rules.learning.days.begin_words import is_date
from vault_memory.rules.search.tokens import is_run, stop_words, words

ATTRIBUTES = frozenset({"identity", "preference", "relationship"})
"""Types of memories that a fact can hold completely"""
MOST_OTHER_WORDS = 1
"""Content words beside those of the fact, such as a verb that no phrase has"""
MOST_OTHER_LETTERS = 5
"""The same for scripts without spaces, whose words are not known"""


def fact_beside(
    memory: Memory, facts: Iterable[FoundFact], phrase_words: Callable[[str], frozenset[str]]
) -> FoundFact | None:
    """Returns a fact of the same turn that says what the memory says.

    `phrase_words` returns the words by which people say a predicate: "is called", "heißt".
    """
    if memory.type not in ATTRIBUTES:
        return None
    of_turn = [fact for fact in facts if not set(memory.evidence).isdisjoint(fact.evidence)]
    for fact in of_turn:
        # "Allergic to penicillin, latex and cats" is one sentence and three facts.
        listed = [other for other in of_turn if _is_beside(other, fact)]
        if says_no_more(memory.text, listed, phrase_words(fact.predicate)):
            return fact
    return None


def _is_beside(first: FoundFact, second: FoundFact) -> bool:
    return (first.subject, first.predicate) == (second.subject, second.predicate)


def says_no_more(
    text: str,
    facts: list[FoundFact],
    of_phrases: frozenset[str],
    speaker: frozenset[str] = frozenset(),
) -> bool:
    """Returns whether a text that has the objects of some facts says nothing beside them.

    `speaker`: words by which the text refers to the person.
    """
    # Fault: pairs of letters across the edge of the object would count as other words.
    if is_run(text[:1]) and all(fact.object in text for fact in facts):
        for fact in facts:
            text = text.replace(fact.object, "")
        letters = set(filter(str.isalnum, text))
        return _are_few(letters, frozenset().union(*of_phrases), MOST_OTHER_LETTERS)
    text_words = words(text)
    content_words = set(text_words) - stop_words(text_words) - speaker
    for fact in facts:
        content_words -= {*words(fact.subject), *words(fact.object)}
        if fact.valid_from:
            content_words -= {word for word in content_words if is_date(["in", word])}
    return _are_few(content_words, of_phrases, MOST_OTHER_WORDS)


def _are_few(other_words: set[str], of_phrases: frozenset[str], most: int) -> bool:
    """Returns whether words beside the fact add nothing to it."""
    # Fault: "I live in Bergen, alone" says more than "I live in Bergen".
    if not other_words.isdisjoint(of_phrases):
        return other_words <= of_phrases
    return len(other_words) <= most
