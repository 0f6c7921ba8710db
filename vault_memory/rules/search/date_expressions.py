"""Reads the days that a query names: "in May 2023", "am 8. Mai", "2023年5月", "last week"."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import is_run

BEFORE, AFTER = timedelta(days=3), timedelta(days=14)
"""How long before and after a day people write about it"""

_token = re.compile(r"\d+|[^\W\d_]+")
_numeric = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.年]\s?(?P<m>\d{1,2})(?:[-/.月]\s?(?P<d>\d{1,2}))?(?!\d)"
    r"|(?<!\d)(?P<a>\d{1,2})[./-](?P<b>\d{1,2})[./-](?P<year>(?:19|20)?\d\d)(?!\d)"
)
_ago = re.compile(
    r"(?:(?P<n>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago"
    r"|vor (?P<de>\d{1,3}|eine[mr]|zwei|drei) (?P<deunit>tag|woche|monat|jahr)e?n?)(?!\w)"
)
_month_in_run = re.compile(
    r"(?:(?P<y>(?:19|20)\d\d)年|(?P<year>今年|去年|前年|昨年|올해|작년|지난해)の?|(?<![\d年十]))\s?"
    r"(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})[月월]份?\s?"
    r"(?:(?P<d>\d{1,2}|[一二三四五六七八九十]{1,3})[日号號일])?"
)
"""A month of scripts without blanks, which may lack its year: "5月", "去年十一月3日", "5월" """
_YEARS_BACK = {"今年": 0, "올해": 0, "去年": 1, "昨年": 1, "작년": 1, "지난해": 1, "前年": 2}
_DIGITS_IN_RUNS = "零一二三四五六七八九"
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "einem": 1,
    "einer": 1,
    "two": 2,
    "zwei": 2,
    "three": 3,
    "drei": 3,
}
_NUMBERS |= {"four": 4, "five": 5, "six": 6}
_UNITS = {
    "day": 1,
    "tag": 1,
    "week": 7,
    "woche": 7,
    "month": 30,
    "monat": 30,
    "year": 365,
    "jahr": 365,
}
_UNSURE = frozenset(
    "may mar march mars mart mai maj maja jan sep ekim out set agosto augustus nisan".split()
)
_LEADS = frozenset(
    "in im en on of since during last early late mid until by seit em nel i w в за から".split()
)


class Days(NamedTuple):
    """A range of days, both ends included."""

    first: date
    last: date

    def near(self) -> "Days":
        """Returns the range with the days around it on which people write about it."""
        return Days(_shift(self.first, -BEFORE), _shift(self.last, AFTER))


def named(query: str, *, now: datetime) -> tuple[Days, ...]:
    """Returns the ranges of days that a query names; `now` is the time of the query."""
    today = now.date()
    text = query[-4000:].casefold()
    without_numeric = _numeric.sub(" ", text)
    without_months = _month_in_run.sub(" ", without_numeric)
    ranges = [
        *_numeric_dates(text),
        *_months_in_runs(without_numeric, today),
        *_dates_in_words(_token.findall(without_months), today),
        *_relative_days(without_months, today),
    ]
    return tuple(dict.fromkeys(ranges))


def is_date_word(word: str) -> bool:
    """Returns whether a word of a query that names a day only says which day."""
    return word.isdecimal() or word in _date_words()


@cache
def _date_words() -> frozenset[str]:
    return frozenset(
        [
            *stopwords.DATE_WORDS.split(),
            *stopwords.MONTH_NUMBERS,
            *stopwords.DAYS,
            *"aujourd hui".split(),
            *stopwords.LAST,
            *stopwords.NEXT,
            *stopwords.THIS,
            *stopwords.WEEK,
            *stopwords.MONTH,
            *stopwords.YEAR,
        ]
    )


def _shift(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        # Python has no day before the year 1 or after the year 9999.
        return day


def _numeric_dates(text: str) -> Iterator[Days]:
    for match in _numeric.finditer(text):
        if match["y"]:
            day = int(match["d"]) if match["d"] else None
            yield from _range(int(match["y"]), int(match["m"]), day)
            continue
        year = int(match["year"])
        if len(match["year"]) == 2:
            year += 2000
        first = int(match["a"])
        second = int(match["b"])
        # 3/4/2023 is a day in April or in March, so both are searched.
        yield from _range(year, second, first)
        if first != second:
            yield from _range(year, first, second)


def _months_in_runs(text: str, today: date) -> Iterator[Days]:
    """Yields months and days of scripts without blanks; without a year the latest ones."""
    for match in _month_in_run.finditer(text):
        month = _number(match["m"])
        day = _number(match["d"]) if match["d"] else None
        if match["y"]:
            year = int(match["y"])
        elif match["year"]:
            year = today.year - _YEARS_BACK[match["year"]]
        else:
            year = _latest_year(today, month, day)
        yield from _range(year, month, day)


def _number(text: str) -> int:
    """Returns a number below 100 in digits, or in numerals such as "二十三"."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    digits = _DIGITS_IN_RUNS
    # "十" alone is ten. What is no number below 100 is no day or month.
    return 10 * (max(digits.find(tens or "一"), 0) if ten else 0) + (
        max(digits.find(ones), 0) if ones else 0
    )


def _range(year: int, month: int | None = None, day: int | None = None) -> Iterator[Days]:
    """Yields the day, month or year; nothing for an impossible one."""
    try:
        if month is None:
            yield Days(date(year, 1, 1), date(year, 12, 31))
        elif day is None:
            next_month = date(year + month // 12, month % 12 + 1, 1)
            yield Days(date(year, month, 1), next_month - timedelta(days=1))
        else:
            yield Days(date(year, month, day), date(year, month, day))
    except ValueError:
        return


def _dates_in_words(tokens: list[str], today: date) -> Iterator[Days]:
    """Yields months with the day or year beside them, and years alone."""
    years_of_months: set[int] = set()
    months = stopwords.MONTH_NUMBERS
    for index, token in enumerate(tokens):
        month = months.get(token)
        if month is None:
            continue
        day, year, year_index = _numbers_beside(tokens, index)
        if day is None and year is None and not _is_month(tokens, index):
            continue
        if year is None:
            year = _latest_year(today, month, day)
        else:
            years_of_months.add(year_index)
        yield from _range(year, month, day)
    for index, token in enumerate(tokens):
        if index not in years_of_months and _is_year(token):
            yield from _range(int(token))


def _is_month(tokens: list[str], index: int) -> bool:
    """Returns whether a name of a month without a number is meant as a month."""
    # "may" and "march" are mostly verbs, but not in "in may".
    if tokens[index] not in _UNSURE:
        return True
    return index > 0 and tokens[index - 1] in _LEADS


def _is_year(token: str) -> bool:
    if len(token) != 4 or not token.startswith(("19", "20")):
        return False
    # `isdigit` alone accepts digits of other scripts.
    return token.isascii() and token.isdigit()


def _numbers_beside(tokens: list[str], month_index: int) -> tuple[int | None, int | None, int]:
    """Returns the day and the year beside the name of a month, and the index of the year."""
    day = year = None
    year_index = -1
    for step in (-1, -2, 1, 2, 3):
        index = month_index + step
        if not 0 <= index < len(tokens) or not tokens[index].isdecimal():
            continue
        token = tokens[index]
        if year is None and _is_year(token):
            year = int(token)
            year_index = index
        elif day is None and step != 3 and _is_day(token):
            day = int(token)
    return day, year, year_index


def _is_day(token: str) -> bool:
    return len(token) <= 2 and 1 <= int(token) <= 31


def _latest_year(today: date, month: int, day: int | None) -> int:
    """Returns the year in which that month or day last began."""
    has_begun = (month, day or 1) <= (today.month, today.day)
    return today.year if has_begun else today.year - 1


def _relative_days(text: str, today: date) -> Iterator[Days]:
    words = _apart(text).split()
    tokens = [word.strip('.,;:!?¿¡()"') for word in words]
    if not _near_now().isdisjoint(tokens):
        for word, next_word in zip_longest(tokens, tokens[1:]):
            if word in stopwords.DAYS:
                day = _shift(today, timedelta(days=stopwords.DAYS[word]))
                yield Days(day, day)
            elif next_word is not None:
                yield from _adjacent_range(word, next_word, today)
    for match in _ago.finditer(text):
        number = match["n"] or match["de"]
        unit = _UNITS[match["unit"] or match["deunit"]]
        count = _NUMBERS.get(number) or int(number)
        # "A month ago" may be some weeks more or less; half of one day is none.
        slack = timedelta(days=unit // 2)
        middle = _shift(today, -timedelta(days=count * unit))
        yield Days(_shift(middle, -slack), _shift(middle, slack))


def _apart(text: str) -> str:
    """Returns a text with spaces around words of days that have none, and for apostrophes."""
    text = text.replace("’", "'").replace("aujourd'hui", " today ").replace("'", " ")
    if text.isascii():
        return text
    for word in _days_in_runs():
        text = text.replace(word, f" {word} ")
    for word, plain in stopwords.PERIODS_IN_RUNS.items():
        text = text.replace(word, f" {plain} ")
    return text


@cache
def _days_in_runs() -> tuple[str, ...]:
    return tuple(word for word in stopwords.DAYS if is_run(word))


@cache
def _near_now() -> frozenset[str]:
    """Returns the words of which a query needs one to name a day relative to today, except "ago"."""
    return frozenset([*stopwords.DAYS, *stopwords.LAST, *stopwords.NEXT, *stopwords.THIS])


def _adjacent_range(word: str, next_word: str, today: date) -> Iterator[Days]:
    """Yields the range of "last week", "this month" or "next year", in either order of words."""
    for first, second in ((word, next_word), (next_word, word)):
        step = _step(first)
        if step is None:
            continue
        if second in stopwords.WEEK:
            monday = _shift(today, timedelta(days=7 * step - today.weekday()))
            yield Days(monday, _shift(monday, timedelta(days=6)))
        elif second in stopwords.MONTH:
            year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
            yield from _range(year, month + 1)
        elif second in stopwords.YEAR:
            yield from _range(today.year + step)


def _step(word: str) -> int | None:
    """Returns -1 for "last", 1 for "next", 0 for "this", None for another word."""
    if word in stopwords.LAST:
        return -1
    if word in stopwords.NEXT:
        return 1
    return 0 if word in stopwords.THIS else None
