"""Which facts a prompt is given: the person's own, and those whose subject or object it names. Pure."""

import unicodedata
from collections.abc import Iterable

from vault_memory.memory import words
from vault_memory.memory.facts import Fact, begins, folded


class Prompt:
    """A prompt, read once, and asked for many names: as whole words where a script has them."""

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFC", words.clean(text)).casefold()
        self._folded = words.folded(text)
        self.words = frozenset(self._folded.split())

    @property
    def beginnings(self) -> frozenset[str]:
        """What a name that stands in the prompt begins with, as `first_word` gives it."""
        return self.words | {word[0] for word in self.words if words.is_run(word)}

    def names(self, name: str) -> bool:
        """Whether the prompt names it."""
        wanted = folded(name)
        if words.is_run(wanted):
            return wanted in self.text
        sought = words.folded(wanted)
        return sought.strip() != "" and sought in self._folded


def first_word(name: str) -> str:
    """The first word of a name, as it is looked up by; empty for a name without one."""
    found = words.folded(name).split()
    return found[0] if found else ""


def relevant(facts: Iterable[Fact], user: str, most: int = 0) -> list[Fact]:
    """The facts in the order in which a prompt gets them, at most so many (0: all): one's own first, then the latest.

    Facts that a person confirmed come before others of the same day.
    """
    mine = folded(user)

    def order(at_fact: tuple[int, Fact]) -> tuple[bool, int, bool, int]:
        at, fact = at_fact
        return folded(fact.subject) != mine, -begins(fact).toordinal(), not fact.confirmed, at

    ranked = [fact for _, fact in sorted(enumerate(facts), key=order)]
    return ranked[:most] if most else ranked
