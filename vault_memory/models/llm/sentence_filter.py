"""Selects the speaker's own statements in a turn.

Quotations, code, forwarded text and questions are left out. Each sentence is an exact substring of the turn.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from vault_memory.models.llm.own_words import own_words, quotes_another
from vault_memory.models.llm.phrase_tables import without_question
from vault_memory.rules.conversations.quotation_marks import HIDDEN, unquoted
from vault_memory.rules.sentences.sentence_splitter import sentence_spans, split_sentences

_INTRODUCED = re.compile(r"[:：][ \t]*\n(?:[^\n]*\S[^\n]*(?:\n|\Z))*")
_CUT = re.compile(r"\[…\]")
LONG = 2_000
"""Letters from which on the sentences of a text are not cached"""
CACHED = 256
"""Texts whose sentences are cached"""


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences in order, without list markers and surrounding blanks."""
    # Several steps ask for the sentences of each turn.
    return _cached_sentences(text) if len(text) < LONG else tuple(_sentences(text))


@lru_cache(maxsize=CACHED)
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
