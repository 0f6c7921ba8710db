"""How much of a claim a text carries: words with other endings, days, months and opposites. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import cache
from math import ceil

from vault_memory.rules.claims.word_tables import opposites, weekdays
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import is_run, words

CARRIED_SHARE = 0.6
"""Of the content words of a statement: how many a text has to carry that says it"""
SHORTEST_STEM = 3
STEM_SHARE = 0.6
"""Two words count as one when they begin alike for this share of the longer one"""

Day = tuple[str, int]
"""A class and a number, e.g. ``("month", 8)``"""

SHORTEST_WITH_ENDING = 5
"""Letters of a name of a day that may have another ending"""
_AMBIGUOUS = frozenset("may march mar sept".split())
"""Months that are common words: "may" of English, "sept" of French"""
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")

Stems = Mapping[str, list[str]]
"""The words of a text by their first letters"""


def stems_of(tokens: Iterable[str]) -> Stems:
    """Returns the words of a text, ready to be looked up."""
    stems: dict[str, list[str]] = defaultdict(list)
    for token in set(tokens):
        stems[token[:SHORTEST_STEM]].append(token)
    return dict(stems)


def has_word(word: str, stems: Stems) -> bool:
    """Returns whether a text has a word, perhaps with another ending."""
    candidates = stems.get(word[:SHORTEST_STEM], ())
    # Fault: the last sign of a run is a word of its own, but within a longer run it is none:
    # "花生" would not be carried by "我对花生过敏".
    if is_run(word) and len(word) == 1:
        return any(stem.startswith(word) for stem in stems)
    if is_run(word):
        return word in candidates
    return any(_begin_alike(word, candidate) for candidate in candidates)


def count_carried(content: Iterable[str], stems: Stems) -> int:
    """Returns how many of the words a text has."""
    return sum(has_word(word, stems) for word in content)


def carried_share(content: Collection[str], stems: Stems) -> float:
    """Returns the share of the words that a text has; 1 without any word."""
    return count_carried(content, stems) / len(content) if content else 1.0


def _begin_alike(first: str, second: str) -> bool:
    length = max(SHORTEST_STEM, ceil(STEM_SHARE * max(len(first), len(second))))
    return first == second or first[:length] == second[:length]


# --- Days and opposites ---


def named_days(text: str) -> frozenset[Day]:
    """Returns the weekdays and months that a text names, in any form of their names."""
    forms = _days_by_form()
    days = {forms.get(form) for word in words(text) for form in _forms(word)}
    days |= {day for name, day in _days_by_letters() if name in text}
    return frozenset(filter(None, days))


def days_of_dates(text: str) -> frozenset[Day]:
    """Returns the weekdays and months of the dates such as ``2026-05-26`` in a text."""
    days: set[Day] = set()
    for match in _DATE.findall(text):
        try:
            day = date.fromisoformat(match)
        except ValueError:
            # Fault: a model, or a person, writes a day that no calendar has.
            continue
        days |= {("weekday", day.weekday()), ("month", day.month)}
    return frozenset(days)


def are_opposites(first: str, second: str) -> bool:
    """Returns whether one text has a word, and the other its opposite in its place."""
    first_words, second_words = _with_runs(first), _with_runs(second)
    for left, right in opposites():
        sides = [
            (not left.isdisjoint(text), not right.isdisjoint(text))
            for text in (first_words, second_words)
        ]
        if sorted(sides) == [(False, True), (True, False)]:
            return True
    return False


def _with_runs(text: str) -> set[str]:
    """Returns the words of a text, with the listed ones of scripts without spaces."""
    return {*words(text), *(word for word in _opposite_runs() if word in text)}


def _forms(word: str) -> tuple[str, ...]:
    """Returns a word, and a longer one without its ending as well."""
    return (word, word[:-1]) if len(word) >= SHORTEST_WITH_ENDING else (word,)


@cache
def _days() -> dict[str, Day]:
    days: dict[str, Day] = {}
    for name, number in stopwords.MONTH_NUMBERS.items():
        days[name] = ("month", number)
    for name, number in weekdays().items():
        days[name] = ("weekday", number)
    return days


@cache
def _days_by_form() -> dict[str, Day]:
    names = _days().keys() - _AMBIGUOUS
    return {form: _days()[name] for name in sorted(names) for form in _forms(name)}


@cache
def _days_by_letters() -> tuple[tuple[str, Day], ...]:
    return tuple((name, day) for name, day in _days().items() if is_run(name))


@cache
def _opposite_runs() -> tuple[str, ...]:
    return tuple(word for sides in opposites() for word in (*sides[0], *sides[1]) if is_run(word))
