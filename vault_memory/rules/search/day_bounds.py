"""Reads the day of a filter: a date, a month, or words such as "yesterday" or "vor drei Tagen". Pure."""

import re
from calendar import monthrange
from datetime import date, datetime, timedelta

from vault_memory.rules.claims.word_tables import weekdays
from vault_memory.rules.learning.days.relative_days import resolve_days
from vault_memory.rules.search.date_expressions import Days, named

_RANGE = re.compile(r"(\d{4}-\d\d-\d\d) – (\d{4}-\d\d-\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{8}")
_MONTH = re.compile(r"(\d{4})-(\d\d?)")
_YEAR = re.compile(r"\d{4}")
LONGEST = 100
"""Letters of a date in words"""


def days_of(text: str, *, now: datetime) -> Days | None:
    """Return the days that a text means at a moment; None when it means none, or several."""
    # Fault: a text of a megabyte would be read by a hundred expressions.
    text = " ".join(text.split())
    if not text or len(text) > LONGEST:
        return None
    try:
        return _in_digits(text) or _in_words(text, now)
    except ValueError:
        # Fault: "2026-02-30" looks like a day, and is none.
        return None


def _in_digits(text: str) -> Days | None:
    if days := _RANGE.fullmatch(text):
        return Days(date.fromisoformat(days[1]), date.fromisoformat(days[2]))
    if _DAY.fullmatch(text):
        day = date.fromisoformat(text)
        return Days(day, day)
    if month := _MONTH.fullmatch(text):
        first = date(int(month[1]), int(month[2]), 1)
        return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
    if _YEAR.fullmatch(text):
        return Days(date(int(text), 1, 1), date(int(text), 12, 31))
    return None


def _in_words(text: str, now: datetime) -> Days | None:
    today = now.date()
    weekday = weekdays().get(text.casefold())
    if weekday is not None:
        # A filter looks back: "Friday" is the last one.
        day = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
        return Days(day, day)
    resolved = resolve_days(text, today).text
    if resolved != text:
        days = _in_digits(resolved.strip())
        if days:
            return days
    # "May" alone could be a verb; "in May" is a month in each language.
    ranges = named(text, now=now) or named(f"in {text}", now=now)
    # Fault: 3/4/2023 is a day in April or in March, and a guess would hide text.
    return ranges[0] if len(ranges) == 1 else None
