"""Numbers, weekdays, negations and opposites in all languages: one table for all readers. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from vault_memory.rules.search.stopwords import language_tables
from vault_memory.rules.search.tokens import words

Sides = tuple[frozenset[str], frozenset[str]]
"""Words, and their opposites"""

NEGATION_LETTERS = re.compile("[不没沒無无别別未勿莫]|ない|ません")
_CONTRACTED = re.compile(r"\b\w+n['’]t\b", re.IGNORECASE)


@cache
def _tables() -> Mapping[str, Any]:
    return language_tables(__package__, "words.toml")


# --- Numbers and days -------------------------------------------------------------------------


@cache
def number_words() -> Mapping[str, int]:
    """Returns the numbers up to twelve by their words."""
    lines = _tables()["numbers"].split("\n")
    return {word: number for number, line in enumerate(lines) for word in line.split()}


@cache
def chinese_weeks() -> tuple[str, ...]:
    """Returns the words for week, which come before the number of a Chinese weekday."""
    return tuple(_tables()["chinese_weeks"].split())


def weekday_names() -> Mapping[str, Sequence[Sequence[str]]]:
    """Returns the forms of each name, from Monday to Sunday, by language."""
    tables = _tables()["weekdays"]
    return {code: [day.split() for day in days.splitlines()] for code, days in tables.items()}


@cache
def weekdays() -> Mapping[str, int]:
    """Returns the number of each weekday by all of its names in all languages; Monday is 0."""
    numbers: dict[str, int] = {}
    for language, days in weekday_names().items():
        prefixes = chinese_weeks() if language == "zh" else ("",)
        for number, names in enumerate(days):
            numbers |= {prefix + name: number for name in names for prefix in prefixes}
    return numbers


def weekday_pattern(language: str) -> str:
    """Returns the names of a language as alternatives of a pattern, the longest first."""
    names = _tables()["weekdays"][language].split()
    return "|".join(sorted(names, key=len, reverse=True))


def weekday_number(language: str, name: str) -> int:
    """Returns the number of a weekday; Monday is 0. Raises KeyError for another word."""
    prefix = chinese_weeks()[0] if language == "zh" else ""
    return weekdays()[prefix + name.casefold()]


# --- Negations and opposites ------------------------------------------------------------------


def count_negations(statement: str) -> int:
    """Returns how often a single statement is negated; "don't" and "do not" count alike."""
    contracted = len(_CONTRACTED.findall(statement))
    listed = sum(word in negation_words() for word in words(statement.casefold()))
    return contracted + listed + len(NEGATION_LETTERS.findall(statement))


def is_negated(clause: str) -> bool:
    """Returns whether a clause of a longer text negates what it says."""
    if NEGATION_LETTERS.search(clause):
        return True
    return not _words_of_clauses().isdisjoint(words(clause.replace("’", "'")))


@cache
def negation_words() -> frozenset[str]:
    """Returns the words that negate a single statement."""
    table = _tables()["negations"]
    return frozenset(words(table["clauses"] + table["statements"]))


@cache
def _words_of_clauses() -> frozenset[str]:
    table = _tables()["negations"]
    return frozenset([*words(table["clauses"]), *table["particles"].split()])


@cache
def opposites() -> tuple[Sides, ...]:
    """Returns opposite words: those of one side, and those of the other."""
    return tuple(
        (frozenset(pair["one"].split()), frozenset(pair["other"].split()))
        for pair in _tables()["opposites"]
    )


@cache
def turning_words() -> frozenset[str]:
    """Returns words that turn a statement around; a person may say both at different times."""
    return frozenset(_tables()["turning"].split())


@cache
def relative_days() -> frozenset[str]:
    """Returns words such as "today" which mean another day when they are said later."""
    return frozenset(words(_tables()["relative_days"]))
