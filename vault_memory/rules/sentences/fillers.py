"""Fillers and tails: words around a statement that say nothing of it, in all languages. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from vault_memory.rules.search.stopwords import language_tables
from vault_memory.rules.search.tokens import is_run

OPEN = "*"
"""A tail with any words says something: "since May" """

Phrase = tuple[str, ...]


@cache
def filler_tables() -> Mapping[str, Mapping[str, Any]]:
    """Returns the lists of each language."""
    return language_tables(__package__, "fillers.toml")


class Fillers:
    """Takes fillers and tails off statements that are folded and have no punctuation."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        """`fold` gives a phrase the form of the statements."""
        tables = filler_tables().values()
        fillers = [fold(phrase) for table in tables for phrase in table["fillers"]]
        tails = [
            fold(phrase) for table in tables for phrase in table["tails"] if OPEN not in phrase
        ]
        self._at_begin = _by_word(fillers, 0)
        self._at_end = _by_word(tails, -1)
        self._runs_at_begin = tuple(filter(_is_run, fillers))
        self._runs = tuple(filter(_is_run, tails))
        self.words = frozenset(phrase for phrase in (*fillers, *tails) if len(phrase.split()) == 1)
        """phrases of one word"""

    def without_fillers(self, bare: str) -> str:
        """Returns a statement without fillers before it; the text itself when nothing is left."""
        words = bare.split()
        while words and (count := self._count_fillers(words)):
            words = words[count:]
        text = " ".join(words)
        while run := next(filter(text.startswith, self._runs_at_begin), ""):
            text = text.removeprefix(run).strip()
        return text or bare

    def without_tails(self, bare: str) -> str:
        """Returns a statement without tails; the text itself when nothing is left."""
        words = bare.split()
        while words and (count := self._count_tails(words)):
            words = words[:-count]
        text = " ".join(words)
        for run in self._runs:
            # "我现在有一条船" has its tail inside.
            text = text.removesuffix(run) if len(run) == 1 else text.replace(run, "")
        return text.strip() or bare

    def _count_fillers(self, words: Sequence[str]) -> int:
        phrases = self._at_begin.get(words[0], ())
        counts = map(len, (p for p in phrases if tuple(words[: len(p)]) == p))
        return next(counts, 0)

    def _count_tails(self, words: Sequence[str]) -> int:
        phrases = self._at_end.get(words[-1], ())
        counts = map(len, (p for p in phrases if tuple(words[-len(p) :]) == p))
        return next(counts, 0)


def _by_word(phrases: Iterable[str], position: int) -> dict[str, list[Phrase]]:
    """Returns the phrases of scripts with spaces by one of their words, the longest first."""
    by_word: dict[str, list[Phrase]] = defaultdict(list)
    for phrase in sorted(phrases, key=len, reverse=True):
        if not _is_run(phrase):
            words = tuple(phrase.split())
            by_word[words[position]].append(words)
    return by_word


def _is_run(phrase: str) -> bool:
    return is_run(phrase[:1])
