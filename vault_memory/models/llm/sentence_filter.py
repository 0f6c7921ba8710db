"""Selects the speaker's own statements in a turn.

Quotations, code, forwarded text and questions are left out. Each sentence is an exact substring of the turn.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from vault_memory.models.llm.own_words import own_words, quotes_another
from vault_memory.rules.conversations.quotation_marks import HIDDEN, unquoted

_INTRODUCED = re.compile(r"[:：][ \t]*\n(?:[^\n]*\S[^\n]*(?:\n|\Z))*")
_CUT = re.compile(r"\[…\]")
_POINT = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"”»)]*+(?=\s|\Z)|[。！？｡]+[」』”》）]*|\n+")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|Dr|Mr|Mrs|Ms|Prof|St|Sr|Sra|Dra|Mme|Mlle|Hr|Fr|bzw|ca|usw|z\. ?B|e\.g|i\.e|approx|No|Nr"
    r"|ул|гр|им|т\. ?е)\.$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"(?<![\w.])\d{1,2}\.\s+(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August"
    r"|September|Oktober|November|Dezember)(?!\w)"
)
"""A day of a month: "am 9. Juni" is one sentence"""
_DOTTED_DAY = re.compile(r"(?<![\w.])\d{1,2}\.\s?\d{1,2}\.\s+[a-zà-þа-я]")
LONGEST_SHORT = 12
LONG = 2_000
"""Letters from which on the sentences of a text are not cached"""
CACHED = 256
"""Texts whose sentences are cached"""
LONGEST_DAY = 24
_ASKS = re.compile(r"[?？][\s)!\"”»」]*$")


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences in order, without list markers and surrounding blanks."""
    # Several steps ask for the sentences of each turn.
    return _cached_sentences(text) if len(text) < LONG else tuple(_sentences(text))


@lru_cache(maxsize=CACHED)
def _cached_sentences(text: str) -> tuple[str, ...]:
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    own = own_words(text).text
    # A point inside of a quotation ends no sentence of the speaker.
    hidden = unquoted(own)
    introduced = [False] * (len(own) + 1)
    for span in _INTRODUCED.finditer(hidden):
        introduced[span.start() : span.end()] = [True] * (span.end() - span.start())
    for start, end in _sentence_spans(hidden):
        fragment = own[start:end]
        if _ASKS.search(fragment):
            continue
        marker = _POINT.match(fragment)
        prefix = marker.end() if marker else len(fragment) - len(fragment.lstrip())
        content_start = start + prefix
        is_quotation = hidden[content_start : content_start + 1] == HIDDEN
        if introduced[content_start] or is_quotation:
            continue
        sentence = own[content_start:end].strip()
        if sentence:
            yield sentence


def spoken_sentences(text: str) -> list[str]:
    """Return the sentences of the speaker, questions included, without those that quote others."""
    own = own_words(text).text
    spans = _sentence_spans(unquoted(own))
    fragments = (own[start:end].strip() for start, end in spans)
    return [
        fragment for fragment in fragments if fragment and not quotes_another(fragment)
    ]


def split_sentences(text: str) -> list[str]:
    """Return all sentences of a text. "Dr." and other short forms end none."""
    spans = (text[start:end].strip() for start, end in _sentence_spans(text))
    return [sentence for sentence in spans if sentence]


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; sentences with a `[…]` are incomplete and left out."""
    start = 0
    cuts = [cut.start() for cut in _CUT.finditer(text)]
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        if end < len(text) and _ends_with_abbreviation(text, start, end):
            continue
        if bisect_left(cuts, start) == bisect_left(cuts, end):
            yield start, end
        start = end


def _ends_with_abbreviation(
    text: str,
    start: int,
    end: int,
) -> bool:
    """Return whether the point before `end` belongs to a word such as `Dr.`"""
    if text[end - 1 : end] != ".":
        return False
    last_letters = text[max(start, end - LONGEST_SHORT) : end]
    return _SHORT.search(last_letters) is not None or _is_in_a_day(text, end)


def _is_in_a_day(
    text: str,
    end: int,
) -> bool:
    """Return whether the point before `end` is the last one of a date such as `9. Juni`."""
    first = max(0, end - LONGEST_SHORT)
    days = (
        pattern.finditer(text, first, end + LONGEST_DAY)
        for pattern in (_ORDINAL, _DOTTED_DAY)
    )
    return any(match.start() < end < match.end() for match in chain(*days))
