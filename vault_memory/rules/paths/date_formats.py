"""Date formats of daily notes, as Obsidian writes them: ``YYYY/MM/YYYY-MM-DD``, ``[Week] ww``.

The tokens are those of moment.js that name a day. Names of months and weekdays are English.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

ISO = "YYYY-MM-DD"
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_TOKEN = re.compile(r"\[(?P<text>[^\[\]]*)\]|Do|(?P<letter>[A-Za-z])(?P=letter)*")
"""A text in brackets, or a run of one letter"""
_YEAR = {"YYYY": r"[0-9]{4}", "YY": r"[0-9]{2}"}
_MONTH = {"MMMM": r"[^\W\d_]+", "MMM": r"[^\W\d_]+\.?", "MM": r"[0-9]{2}", "M": r"[0-9]{1,2}"}
_DAY = {"Do": r"[0-9]{1,2}(?:st|nd|rd|th)", "DD": r"[0-9]{2}", "D": r"[0-9]{1,2}"}
_UNITS = {"year": _YEAR, "month": _MONTH, "day": _DAY}
_OTHERS = {
    "dddd": r"[^\W\d_]+",
    "ddd": r"[^\W\d_]+\.?",
    "dd": r"[^\W\d_]+\.?",
    "GGGG": r"[0-9]{4}",
    "WW": r"[0-9]{2}",
    "W": r"[0-9]{1,2}",
    "Q": r"[1-4]",
}
_EXPRESSIONS = {**_YEAR, **_MONTH, **_DAY, **_OTHERS}
_RENDERED = {
    "YYYY": "{day.year:04}",
    "YY": "{short_year:02}",
    "MMMM": "{month}",
    "MMM": "{month:.3}",
    "MM": "{day.month:02}",
    "M": "{day.month}",
    "Do": "{day.day}{ending}",
    "DD": "{day.day:02}",
    "D": "{day.day}",
    "dddd": "{weekday}",
    "ddd": "{weekday:.3}",
    "dd": "{weekday:.2}",
    "GGGG": "{week.year:04}",
    "WW": "{week.week:02}",
    "W": "{week.week}",
    "Q": "{quarter}",
}


def problem_of(date_format: str) -> str:
    """Returns why a format does not name one day; empty when it does."""
    tokens = [match[0] for match in _TOKEN.finditer(date_format)]
    for token in tokens:
        if token not in _EXPRESSIONS and not token.startswith("["):
            return f"`{token}` of the date format is not supported"
    for unit, expressions in _UNITS.items():
        if not expressions.keys() & set(tokens):
            return f"the date format `{date_format}` has no {unit}"
    if any(mark in date_format for mark in "*\\"):
        return f"the date format `{date_format}` has a mark that no file name has"
    return ""


def expression(date_format: str) -> str:
    """Returns the regular expression of a format, with the groups year, month and day.

    A part that the format repeats is read where it comes last: ``YYYY/MM/YYYY-MM-DD``.
    """
    last = _last_positions(date_format)
    result = ""
    end = 0
    for match in _TOKEN.finditer(date_format):
        result += re.escape(date_format[end : match.start()])
        end = match.end()
        token = match[0]
        if match["text"] is not None:
            result += re.escape(match["text"])
        elif match.start() in last:
            result += rf"(?P<{last[match.start()]}>{_EXPRESSIONS[token]})"
        else:
            result += _EXPRESSIONS[token]
    return result + re.escape(date_format[end:])


def _last_positions(date_format: str) -> dict[int, str]:
    """Returns where year, month and day come last. A number precedes a name."""
    positions: dict[str, tuple[bool, int]] = {}
    for match in _TOKEN.finditer(date_format):
        for unit, expressions in _UNITS.items():
            if match[0] in expressions:
                is_number = match[0] not in ("MMMM", "MMM")
                candidate = (is_number, match.start())
                positions[unit] = max(positions.get(unit, candidate), candidate)
    return {start: unit for unit, (_, start) in positions.items()}


def day_of(match: "re.Match[str] | Mapping[str, Any]") -> date:
    """Returns the day that the groups of a match name. Raises ValueError."""
    year = int(match["year"])
    # As in moment.js, two digits are a year of this century.
    if len(match["year"]) == 2:
        year += 2000
    return date(year, _month_of(match["month"]), int(re.sub(r"\D", "", match["day"])))


def _month_of(text: str) -> int:
    if text.isdecimal():
        return int(text)
    beginnings = [month[:3].casefold() for month in _MONTHS]
    return beginnings.index(text[:3].casefold()) + 1


def render(date_format: str, day: date) -> str:
    """Writes a day in a format."""

    def rendered(match: "re.Match[str]") -> str:
        if match["text"] is not None:
            return match["text"]
        return _RENDERED[match[0]].format(
            day=day,
            week=day.isocalendar(),
            month=_MONTHS[day.month - 1],
            weekday=_WEEKDAYS[day.weekday()],
            ending=_ordinal_ending(day.day),
            short_year=day.year % 100,
            quarter=(day.month + 2) // 3,
        )

    return _TOKEN.sub(rendered, date_format)


def _ordinal_ending(number: int) -> str:
    if number in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
