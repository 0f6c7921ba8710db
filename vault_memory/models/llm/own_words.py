"""The words of a turn that are the person's own, by the tables `[others]` of all languages."""

from functools import cache, lru_cache

from vault_memory.models.llm.phrase_tables import raw_tables
from vault_memory.rules.conversations.others_words import OthersWords, OwnWords
from vault_memory.rules.conversations.quotation_marks import HIDDEN

LONG = 4_000
"""Characters from which on a turn is not cached"""
CACHED = 512
"""Turns that are cached: several steps read each turn"""


def own_words(text: str) -> OwnWords:
    """Returns what the person says in a turn, without what others wrote."""
    return _cached(text) if len(text) < LONG else _table().own(text)


def spoken(text: str) -> str:
    """Returns a text of the same length, in which quotations are hidden, names excepted."""
    return _table().spoken(text)


def quotes_another(sentence: str) -> bool:
    """Returns whether a sentence has words of another person, in quotation marks."""
    return HIDDEN in spoken(sentence)


@lru_cache(maxsize=CACHED)
def _cached(text: str) -> OwnWords:
    return _table().own(text)


@cache
def _table() -> OthersWords:
    return OthersWords(table.get("others", {}) for table in raw_tables())
