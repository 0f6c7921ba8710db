"""The topic of a text by word lists, where no model names one."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vault_memory.rules.learning.answer_schema import TOPICS
from vault_memory.rules.search.tokens import is_run, words

FILE = Path(__file__).parent / "topics.toml"


class _Words(NamedTuple):
    """The words of one topic in one language."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]
    signs: tuple[str, ...]
    """found anywhere in a text: words of scripts without spaces"""

    def matches(self, text: str, tokens: list[str]) -> int:
        """Returns how many words of a text have the topic."""
        spaced = sum(token in self.exact or token.startswith(self.beginnings) for token in tokens)
        return spaced + sum(sign in text for sign in self.signs)


def topic_of(text: str) -> str:
    """Returns the topic of most words of a text, all in one language; empty without any."""
    folded = text.casefold()
    tokens = words(text)
    counts = dict.fromkeys(TOPICS, 0)
    for language in _languages():
        for topic, listed in language.items():
            counts[topic] = max(counts[topic], listed.matches(folded, tokens))
    # The first one of equals, in the order of the topics.
    best = max(TOPICS, key=lambda topic: counts[topic])
    return best if counts[best] else ""


@cache
def _languages() -> tuple[dict[str, _Words], ...]:
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple({topic: _listed(table[topic]) for topic in TOPICS} for table in tables.values())


def _listed(entries: list[str]) -> _Words:
    folded = [entry.casefold() for entry in entries]
    return _Words(
        frozenset(word for word in folded if not word.endswith("~")),
        tuple(word.removesuffix("~") for word in folded if word.endswith("~")),
        tuple(word for word in folded if is_run(word)),
    )
