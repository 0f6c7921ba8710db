"""Replaces days that depend on the day of speech by calendar days: "tomorrow", "vor zwei Wochen", "明年春天".

A memory is read months later, when "tomorrow" says nothing. Where people mean different days by the
same words ("next Friday" on a Monday), the words stay. Pure.
"""

import re
from dataclasses import dataclass
from datetime import date

from vault_memory.rules.learning.days.day_words import DayWords, all_groups

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ResolvedDays:
    """A text with calendar days."""

    text: str
    numbers: frozenset[str]
    """the numbers in the days that were put in"""


def resolve_days(text: str, day: date) -> ResolvedDays:
    """Returns the text as it is understood later; `day` is the local day on which it was said."""
    numbers: set[str] = set()
    for group in all_groups():
        # Most texts name no day, and a hundred expressions take longer than one.
        if not group.sign.search(text):
            continue
        for words in group.words:
            text = _resolve(words, text, day, numbers)
    return ResolvedDays(text, frozenset(numbers))


def _resolve(words: DayWords, text: str, day: date, numbers: set[str]) -> str:
    """Returns the text without these words; adds the numbers of the days to `numbers`."""

    def replaced(match: re.Match[str]) -> str:
        try:
            meaning = words.meaning(match, day)
        except (OverflowError, ValueError):
            # Ten thousand years from now there is no calendar.
            meaning = None
        if meaning is None:
            return match[0]
        numbers.update(_DIGITS.findall(meaning))
        return meaning

    return words.pattern.sub(replaced, text)
