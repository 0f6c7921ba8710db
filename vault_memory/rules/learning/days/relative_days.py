"""Replaces days that depend on the day of speech by calendar days: "tomorrow", "vor zwei Wochen", "明年春天".

A memory is read months later, when "tomorrow" says nothing. Where people mean different days by the
same words ("next Friday" on a Monday), the words stay. Dates such as "1 June" or "6月1日" become
calendar days for action items alone. Pure.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache, partial

from vault_memory.rules.learning.days.day_words import DayWords, all_groups
from vault_memory.rules.search.stopwords import MONTH_NUMBERS

_DIGITS = re.compile(r"\d+")
_YEAR = r"(?:,? ?(?:de |del )?(?P<y>\d{4}))?"


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


# --- Dates without a year ---


def with_named_days(text: str, today: date) -> str:
    """Returns the text with ISO days; without a year, the next one from the day of speech."""
    return _named_day().sub(partial(_in_iso_form, today), text)


def _in_iso_form(today: date, match: re.Match[str]) -> str:
    # A day, a month and a year have one group in each form.
    fields = {name[0]: text for name, text in match.groupdict().items() if text}
    month_name = fields["m"].casefold()
    try:
        month = MONTH_NUMBERS.get(month_name) or int(month_name)
        day = date(int(fields.get("y", today.year)), month, int(fields["d"]))
        if day < today and "y" not in fields:
            day = day.replace(year=today.year + 1)
    except ValueError:
        # Fault: "31 June" is no day.
        return match[0]
    return day.isoformat()


@cache
def _named_day() -> re.Pattern[str]:
    names = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
    forms = (
        rf"(?:the )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<m1>{names})(?!\w)",
        rf"(?<!\w)(?P<m2>{names}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:])",
        r"(?P<m3>\d{1,2})月(?P<d3>\d{1,2})[日号號]?",
        r"(?P<d4>\d{1,2})\.\s?(?P<m4>\d{1,2})\.",
    )
    return re.compile(rf"(?<![\d.])(?:{'|'.join(forms)}){_YEAR}", re.IGNORECASE)
