"""Cues: small things a query says beside its words, and a text beside its own. Who, when, how many. Pure."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from vault_memory.rules.conversations import statements
from vault_memory.rules.search import stopwords, tokens
from vault_memory.rules.search.date_expressions import Days
from vault_memory.rules.search.scoring import Weights

LOOKED_AT = 4_096
"""Of so many texts it is remembered whether they have a time word, or a number"""


class QueryFeatures(NamedTuple):
    """What a query says beside its words."""

    names: frozenset[str]
    """its words, any of which may be the name of a speaker"""
    days: tuple[tuple[str, str], ...] = ()
    """ranges of days (ISO 8601) on which one wrote of what it names"""
    when: bool = False
    how_many: bool = False
    terms: frozenset[str] = frozenset()
    """its words without stop-words"""


def asked(query: str, days: Iterable[Days]) -> QueryFeatures:
    """What a query says beside its words; `days` are those it names."""
    near = tuple(
        (range_.first.isoformat(), range_.last.isoformat())
        for range_ in (day.near() for day in days)
    )
    names, terms = frozenset(tokens.words(query)), frozenset(tokens.terms(query))
    return QueryFeatures(names, near, asks_when(query), asks_how_many(query), terms)


def is_near(date: str | None, days: Iterable[tuple[str, str]]) -> bool:
    """Whether something of that day (ISO 8601) may speak of one of these."""
    return date is not None and any(first <= date <= last for first, last in days)


def names_speaker(who: str, names: frozenset[str]) -> bool:
    """Whether the query names who speaks, or a part of that name."""
    return bool(who) and any(
        word in names for word in tokens.words(who) if len(word) > 1
    )


def of_text(
    text: str, asked: QueryFeatures, weights: Weights, *, who: str = ""
) -> dict[str, float]:
    """The cues for which the text itself is looked at; `who` says it."""
    found: dict[str, float] = {}
    if asked.when and weights.when and has_time_word(_said(text)):
        found["when"] = weights.when
    if asked.how_many and weights.number and has_number(_said(text)):
        found["number"] = weights.number
    if weights.question and (part := _asks(text)):
        again = _asked_again(text, asked)
        found["question"] = part * (weights.question + weights.asked_again * again)
    if weights.empty and (part := _tells_nothing(text, who)):
        found["empty"] = weights.empty * part
    return found


@lru_cache(LOOKED_AT)
def _asks(text: str) -> float:
    """Which part of what is said is questions."""
    return statements.asking_part(statements.without_speaker(_said(text)))


def _asked_again(text: str, asked: QueryFeatures) -> float:
    """How much a question only asks the query again: 1 when one of the two has no word that the other has not.

    0 when half of the words of each are new.
    """
    of_query = len(asked.terms & _words_in(text)) / (len(asked.terms) or 1)
    if not of_query:
        return 0.0
    terms = _terms_in(text)
    of_question = len(terms & asked.names) / (len(terms) or 1)
    return max(0.0, 2 * max(of_question, of_query) - 1)


@lru_cache(LOOKED_AT)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(tokens.words(statements.without_speaker(_said(text))))


@lru_cache(LOOKED_AT)
def _terms_in(text: str) -> frozenset[str]:
    return frozenset(tokens.terms(statements.without_speaker(_said(text))))


@lru_cache(LOOKED_AT)
def _tells_nothing(text: str, who: str) -> float:
    """Which part of what is said answers nothing."""
    return statements.empty_part(statements.without_speaker(_said(text)), who)


def _said(text: str) -> str:
    """The text without a block id at its end."""
    said, mark, name = text.rpartition(" ^")
    return said if mark and not name.strip().count(" ") else text


@cache
def _asking(source: str, plain: bool) -> re.Pattern[str]:
    """Patterns for whole words; in scripts without spaces they stand anywhere. `plain`: for a text in plain letters."""
    patterns = _alternatives(
        "|".join(line.strip(" |") for line in source.strip().splitlines())
    )
    if plain:
        return re.compile(
            rf"(?<!\w)(?:{'|'.join(pattern for pattern in patterns if pattern[0].isascii())})(?!\w)"
        )
    spaced = [pattern for pattern in patterns if not tokens.is_run(pattern)]
    runs = [pattern for pattern in patterns if tokens.is_run(pattern)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(runs)}")


def _alternatives(source: str) -> list[str]:
    """The parts between the outer ``|``; a ``|`` in brackets belongs to its part."""
    parts, depth = [""], 0
    for letter in source:
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def asks_when(query: str) -> bool:
    """Whether a query asks for a time."""
    return (
        _asking(stopwords.WHEN, query.isascii()).search(query[-2000:].casefold())
        is not None
    )


def asks_how_many(query: str) -> bool:
    """Whether a query asks for a number."""
    return (
        _asking(stopwords.HOW_MANY, query.isascii()).search(query[-2000:].casefold())
        is not None
    )


_POINTS = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'*_/\\-–—…«»„“”’¿¡#|", " "))


def _words_of(text: str) -> list[str]:
    """Words without their points; quicker than `words.words`, for many texts."""
    return text.lower().translate(_POINTS).split()


@cache
def _time_words() -> frozenset[str]:
    years = map(str, range(1900, 2100))
    return frozenset(stopwords.TIME_WORDS.split()).union(
        years, *(names.split() for names in stopwords.MONTHS)
    )


@lru_cache(LOOKED_AT)
def has_time_word(text: str) -> bool:
    """Whether the text places itself in time."""
    if not _time_words().isdisjoint(_words_of(text)):
        return True
    return not text.isascii() and any(
        piece in text for piece in stopwords.TIME_PIECES.split()
    )


_digit = re.compile(r"\d")


@lru_cache(LOOKED_AT)
def has_number(text: str) -> bool:
    """Whether the text has a number, in digits or as a word."""
    return _digit.search(text) is not None or not _number_words().isdisjoint(
        _words_of(text)
    )


@cache
def _number_words() -> frozenset[str]:
    return frozenset(stopwords.NUMBER_WORDS.split())
