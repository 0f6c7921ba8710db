"""Compares the values of facts: dates and numbers by meaning, names by letters and words. Pure."""

import re
from functools import lru_cache

from vault_memory.rules.facts.fact import folded
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import is_run, pairs, without_last_letters

MOST_VALUES = 4_096
"""Values whose meaning is cached"""
ALIKE = 0.7
"""The Jaccard similarity from which two facts count as equal"""
_TRIMMED = ".,;:!?…。，、；：！？\"'“”„«»()[]{}"

_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")
_CHINESE = re.compile(r"(\d{4})年(?:(\d{1,2})月(?:(\d{1,2})[日号])?)?")
_NAMED_MONTH = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![.,]?\w)")


def same_value(first: str, second: str) -> bool:
    """Returns whether two values mean the same; a year includes the days in it."""
    ours, theirs = value_key(first), value_key(second)
    if ours == theirs:
        return True
    if _is_day(ours) and _is_day(theirs):
        shorter, longer = sorted((ours, theirs), key=len)
        return longer.startswith(f"{shorter}-")
    return False


@lru_cache(maxsize=MOST_VALUES)
def value_key(value: str) -> str:
    """Returns the form in which a value is compared: a date as ISO, a number without signs."""
    text = folded(value)
    return _date_in(text) or _NUMBER.sub(_plain_number, text)


def _is_day(key: str) -> bool:
    return _ISO.fullmatch(key) is not None


def _date_in(text: str) -> str:
    """Returns the date that a text is, as far as it says it; ``""`` for another text."""
    for pattern in (_ISO, _SLASHED, _CHINESE):
        match = pattern.fullmatch(text)
        if match:
            year, month, day = match.groups()
            return _iso(year, month, day)
    dotted = _DOTTED.fullmatch(text)
    if dotted:
        day, month, year = dotted.groups()
        return _iso(year, month, day)
    return _date_with_month_name(text)


def _date_with_month_name(text: str) -> str:
    """Reads dates such as `9 June 1980`, `June 9th, 1980` and `Juni 1980`."""
    names = [name for name in _NAMED_MONTH.findall(text) if name in stopwords.MONTH_NUMBERS]
    words = set(_NAMED_MONTH.findall(text)).difference(names, _DATE_WORDS)
    numbers = re.findall(r"\d+", text)
    years = [number for number in numbers if len(number) == 4]
    days = [number for number in numbers if len(number) <= 2]
    is_date = len(names) == len(years) == 1 and len(days) <= 1 and not words
    # Fault: a text with another number is no date, even if it names a month.
    if not is_date or len(numbers) != len(years) + len(days):
        return ""
    return _iso(years[0], str(stopwords.MONTH_NUMBERS[names[0]]), days[0] if days else None)


_DATE_WORDS = frozenset("st nd rd th of the de del le la den am г года".split())


def _iso(year: str, month: str | None, day: str | None) -> str:
    parts = [year, *(part.zfill(2) for part in (month, day) if part)]
    return "-".join(parts)


def _plain_number(match: re.Match[str]) -> str:
    number = match[0].replace(",", "")
    return number.rstrip("0").rstrip(".") if "." in number else number


def words_of(text: str) -> frozenset[str]:
    """Returns the words by which facts are compared; for scripts without spaces, letter pairs."""
    words: list[str] = []
    for word in folded(text).split():
        trimmed = word.strip(_TRIMMED) or word
        if is_run(trimmed):
            words += pairs(trimmed)
        else:
            words.append(trimmed)
    return frozenset(without_last_letters(words))


def are_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Compares the words of two values of the same predicate."""
    # `room 12` and `room 13` share most letters and mean different rooms.
    different_words = "".join(first ^ second)
    if any(map(str.isdigit, different_words)):
        return False
    # The predicate counts as a word that both share.
    shared = len(first & second) + 1
    total = len(first | second) + 1
    return shared / total >= ALIKE
