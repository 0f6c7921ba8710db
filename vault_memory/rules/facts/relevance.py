"""Which facts a prompt is given: the person's own, and those whose subject or object it names. Pure."""

import unicodedata
from collections.abc import Iterable

from vault_memory.rules.facts.fact import Fact, begins, folded
from vault_memory.rules.search import tokens

LEAD = 6
"""By so many words of a name it is looked up"""
MOST_WORDS = 2_000
"""Of a long prompt, the last ones are looked at"""


class Prompt:
    """A prompt, read once, and asked for many names: as whole words where a script has them."""

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFC", tokens.clean(text)).casefold()
        self._folded = tokens.folded(text)

    def leads(self) -> frozenset[str]:
        """The leads of all names that may stand in the prompt."""
        found = self._folded.split()[-MOST_WORDS:]
        letters = {word[0] for word in found if tokens.is_run(word)}
        ends = range(1, LEAD + 1)
        return frozenset(
            letters
            | {
                " ".join(found[at : at + end])
                for at in range(len(found))
                for end in ends
            }
        )

    def names(self, name: str) -> bool:
        """Whether the prompt names it."""
        wanted = folded(name)
        if tokens.is_run(wanted):
            return wanted in self.text
        sought = tokens.folded(wanted)
        return sought.strip() != "" and sought in self._folded


def lead(name: str) -> str:
    """The first words of a name, by which it is looked up; empty for a name without any."""
    return " ".join(tokens.without_last_letters(tokens.folded(name).split())[:LEAD])


def relevant(facts: Iterable[Fact], user: str, most: int = 0) -> list[Fact]:
    """The facts in the order in which a prompt gets them, at most so many (0: all): one's own first, then the latest.

    Facts that a person confirmed come before others of the same day.
    """
    mine = folded(user)

    def order(at_fact: tuple[int, Fact]) -> tuple[bool, int, bool, int]:
        at, fact = at_fact
        return (
            folded(fact.subject) != mine,
            -begins(fact).toordinal(),
            not fact.confirmed,
            at,
        )

    ranked = [fact for _, fact in sorted(enumerate(facts), key=order)]
    return ranked[:most] if most else ranked
