"""Chooses the facts for a prompt, and shows those that contradict each other as unclear. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace

from vault_memory.rules.facts.entities import may_be_first_name
from vault_memory.rules.facts.fact import Fact, begins, folded
from vault_memory.rules.search import tokens

LEAD = 6
"""The number of first words by which a name is looked up"""
MOST_WORDS = 2_000
"""Of a longer prompt, only so many of its last words are read"""


_WORD = re.compile(r"@?[^\W\d_][\w'’-]*")


class PromptWords:
    """A prompt that is read once and searched for many names, as complete words."""

    def __init__(self, text: str) -> None:
        composed = unicodedata.normalize("NFC", tokens.clean(text))
        self.text = composed.casefold()
        self._folded = tokens.folded(text)
        self._raw = text

    def leads(self) -> frozenset[str]:
        """Returns the leads of all names that the prompt may contain."""
        all_words = self._folded.split()
        words = all_words[-MOST_WORDS:]
        # Scripts without spaces have no words, so a name may begin with any letter.
        leads = {word[0] for word in words if tokens.is_run(word)}
        for start in range(len(words)):
            for end in range(start + 1, start + LEAD + 1):
                name = " ".join(words[start:end])
                leads.add(name)
        return frozenset(leads)

    def first_names(self) -> frozenset[str]:
        """Returns the words that may be first names: capitalised, or with `@`."""
        words = _WORD.findall(unicodedata.normalize("NFC", self._raw))[-MOST_WORDS:]
        return frozenset(word for word in words if may_be_first_name(word))

    def names(self, name: str) -> bool:
        """Returns whether the prompt contains a name."""
        folded_name = folded(name)
        if tokens.is_run(folded_name):
            return folded_name in self.text
        words = tokens.folded(folded_name)
        # A name of signs alone has no words, and would be in every prompt.
        if not words.strip():
            return False
        return words in self._folded


def lead(name: str) -> str:
    """Returns the first words of a name, by which it is looked up; ``""`` without any."""
    words = tokens.without_last_letters(tokens.folded(name).split())
    return " ".join(words[:LEAD])


def relevant(facts: Iterable[Fact], user: str, most: int = 0) -> list[Fact]:
    """Returns at most `most` facts (0: all) in the order of a prompt: own ones, then the latest.

    Of the same day, facts that a person confirmed come first.
    """
    own_subject = folded(user)

    def rank(fact: Fact) -> tuple[bool, int, bool]:
        is_foreign = folded(fact.subject) != own_subject
        first_day = begins(fact).toordinal()
        return is_foreign, -first_day, not fact.confirmed

    ranked = sorted(facts, key=rank)
    return ranked[:most] if most else ranked


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
