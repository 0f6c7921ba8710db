"""Chooses the facts for a prompt: the person's own, and those about names in the prompt. Pure."""

import re
import unicodedata
from collections.abc import Iterable

from vault_memory.rules.facts.fact import Fact, begins, folded
from vault_memory.rules.facts.persons import may_be_first_name
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
