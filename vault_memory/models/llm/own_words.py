"""The words and statements of a turn that are the speaker's own, by the tables `[others]`.

Quotations, code, forwarded text and questions are no statements. Each sentence is an exact substring
of the turn.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from vault_memory.models.llm.phrase_tables import raw_tables, without_question
from vault_memory.rules.conversations.others_words import OthersWords, OwnWords
from vault_memory.rules.conversations.quotation_marks import HIDDEN, unquoted
from vault_memory.rules.sentences.sentence_splitter import sentence_spans, split_sentences

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


_INTRODUCED = re.compile(r"[:：][ \t]*\n(?:[^\n]*\S[^\n]*(?:\n|\Z))*")
_CUT = re.compile(r"\[…\]")
LONG_SPLIT = 2_000
"""Letters from which on the sentences of a text are not cached"""
CACHED_SPLITS = 256
"""Texts whose sentences are cached"""


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences in order, without list markers and surrounding blanks."""
    # Several steps ask for the sentences of each turn.
    return _cached_sentences(text) if len(text) < LONG_SPLIT else tuple(_sentences(text))


@lru_cache(maxsize=CACHED_SPLITS)
def _cached_sentences(text: str) -> tuple[str, ...]:
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    own = own_words(text).text
    hidden = unquoted(own)
    introduced = [False] * (len(own) + 1)
    for span in _INTRODUCED.finditer(hidden):
        introduced[span.start() : span.end()] = [True] * (span.end() - span.start())
    for start, end in sentence_spans(own):
        sentence = own[start:end].strip()
        # A sentence with a `[…]` is incomplete.
        sentence = "" if _CUT.search(sentence) else without_question(sentence)
        if not sentence:
            continue
        first = own.index(sentence, start)
        if not introduced[first] and hidden[first] != HIDDEN:
            yield sentence


def spoken_sentences(text: str) -> list[str]:
    """Return the sentences of the speaker, questions included, without those that quote others."""
    return [
        sentence
        for sentence in split_sentences(own_words(text).text)
        if not quotes_another(sentence)
    ]
