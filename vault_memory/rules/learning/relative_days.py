"""Days that depend on the day of speech: "tomorrow", "vor zwei Wochen", "明年春天". Pure.

A memory is read months later, when "tomorrow" says nothing, so it gets calendar days. Where people
mean different days by the same words ("next Friday" on a Monday), the words stay. Dates such as
"1 June" or "6月1日" become calendar days for action items alone. A filter of a search reads the same
words, and months and years.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache, partial

from vault_memory.rules.claims.word_tables import weekdays
from vault_memory.rules.learning.day_words import DayWords, all_groups
from vault_memory.rules.search.date_expressions import Days, named
from vault_memory.rules.search.stopwords import MONTH_NUMBERS
from vault_memory.rules.sentences.sentence_splitter import without_end

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
        # Fault: the day would run into the year of "1.6.26", or into the end of a version.
        r"(?P<d4>\d{1,2})\.\s?(?P<m4>\d{1,2})\.(?!\d{1,3}(?!\d))",
    )
    return re.compile(rf"(?<![\d.])(?:{'|'.join(forms)}){_YEAR}", re.IGNORECASE)


_QUOTES = str.maketrans(dict.fromkeys('"“”„', "'"))


def with_calendar_days(text: str, day: date) -> str:
    """Returns a text that was said on a local day, as a line says it for good.

    A day such as "tomorrow" becomes a date, and the person's own words follow as a quote. A text
    without such a day stays as it is.
    """
    resolved = resolve_days(text, day).text
    if resolved == text:
        return text
    # Fault: a quotation mark inside the quotation would end it too early.
    quote = without_end(text).translate(_QUOTES)
    return f'{without_end(resolved)} — "{quote}"'


_RANGE = re.compile(r"(\d{4}-\d\d-\d\d) – (\d{4}-\d\d-\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{8}")
_MONTH = re.compile(r"(\d{4})-(\d\d?)")
_WHOLE_YEAR = re.compile(r"\d{4}")
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
    if _WHOLE_YEAR.fullmatch(text):
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
