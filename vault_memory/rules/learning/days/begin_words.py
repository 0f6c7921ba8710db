"""Separates the value of a fact from words at its end that say since when: "Porto in March 2019". Pure."""

from datetime import date, datetime, time
from typing import NamedTuple

from vault_memory.rules.facts.fact import SINGLE, TEMPORARY
from vault_memory.rules.learning.days.relative_days import resolve_days
from vault_memory.rules.search.date_expressions import named
from vault_memory.rules.search.stopwords import MONTH_NUMBERS

_LEADS = frozenset(
    "in on since from at back early late mid im am seit ab anfang ende mitte en au le depuis dès début fin desde el a "
    "principios finales mediados в во с со начале конце середине из em nel dal".split()
)
_BETWEEN = frozenset(
    "of the de del du mois year der des jahr jahre den год году года г месяце начала конца – -".split()
)
_EDGES = ".,;()，。"
_NUMBER_ENDINGS = ("st", "nd", "rd", "th", "er", "ого", "го")
DATED = SINGLE | TEMPORARY | {"married_to", "dating", "reports_to", "works_on"}
"""Predicates of which people name a begin after the value; of others, a date may be the value"""
LONGEST_YEAR = 4
"""Digits"""
LONGEST_DATE = 8
"""Words of a date at the end of a value"""


class DatedValue(NamedTuple):
    """A value and the words that say since when it holds."""

    value: str
    since: str
    """as it was said, e.g. "in March"; empty without such words"""


def split_begin(text: str) -> DatedValue:
    """Returns a value without the date at its end. A value that is only a date stays as it is."""
    words = text.split()
    for start in range(max(1, len(words) - LONGEST_DATE), len(words)):
        if is_date(words[start:]):
            # The point of "EE. UU." is a part of the value.
            value = " ".join(words[:start]).rstrip(" ,;(，")
            return DatedValue(value, " ".join(words[start:]))
    return DatedValue(text, "")


def is_date(words: list[str]) -> bool:
    """Returns whether words are a date of a month or of a year at least, and nothing else."""
    bare = _bare(words)
    months = [word for word in bare if word in MONTH_NUMBERS]
    numbers = [word for word in bare if word not in MONTH_NUMBERS and _is_number(word)]
    remaining = set(bare) - {*months, *numbers, *_LEADS, *_BETWEEN}
    has_year = any(len(number) >= LONGEST_YEAR for number in numbers)
    if remaining or not (has_year or months):
        return False
    # "May" alone may be a name; "in May" and "May 2019" are dates.
    return bare[0] in _LEADS or len(months) + len(numbers) > 1 or has_year


def _bare(words: list[str]) -> list[str]:
    return [word.strip(_EDGES).casefold() for word in words]


def _is_number(word: str) -> bool:
    for ending in _NUMBER_ENDINGS:
        word = word.removesuffix(ending)
    if len(word) == LONGEST_YEAR:
        return word.isdecimal() and word.startswith(("19", "20"))
    is_day = word.isdecimal() and len(word) <= 2
    return is_day or _is_iso(word)


def _is_iso(word: str) -> bool:
    try:
        date.fromisoformat(word if len(word) > len("2026-01") else f"{word}-01")
    except ValueError:
        return False
    return "-" in word


def first_day(since: str, day: date) -> date | None:
    """Returns the first day that words mean which were said on `day`; None for other words."""
    words = _bare(resolve_days(since, day).text.split())
    # "au mois de mars" is read as "in mars".
    date_words = [word for word in words if word in MONTH_NUMBERS or _is_number(word)]
    ranges = named(f"in {' '.join(date_words)}", now=datetime.combine(day, time.max))
    return min((days.first for days in ranges), default=None)
