"""Which days a query speaks of: "in May 2023", "am 8. Mai", "2023年5月", "last week". The caller says when now is."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from vault_memory.rules.search import stopwords

BEFORE, AFTER = timedelta(days=3), timedelta(days=14)
"""People write of a day a little before it and for some time after it"""

_token = re.compile(r"\d+|[^\W\d_]+")
_numeric = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.年]\s?(?P<m>\d{1,2})(?:[-/.月]\s?(?P<d>\d{1,2}))?(?!\d)"
    r"|(?<!\d)(?P<a>\d{1,2})[./-](?P<b>\d{1,2})[./-](?P<year>(?:19|20)?\d\d)(?!\d)"
)
_ago = re.compile(
    r"(?:(?P<n>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago"
    r"|vor (?P<de>\d{1,3}|eine[mr]|zwei|drei) (?P<deunit>tag|woche|monat|jahr)e?n?)(?!\w)"
)
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
    """A range of days, both ends in it."""

    first: date
    last: date

    def near(self) -> "Days":
        """The range with the days around it on which one writes of it."""
        return Days(_shift(self.first, -BEFORE), _shift(self.last, AFTER))


def named(query: str, *, now: datetime) -> tuple[Days, ...]:
    """The ranges of days that a query names, in their order; none when it names none."""
    today = now.date()
    text = query[-4000:].casefold()
    found = [
        *_numbers(text),
        *_worded(_token.findall(_numeric.sub(" ", text)), today),
        *_relative(text, today),
    ]
    return tuple(dict.fromkeys(found))


def _shift(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        return day


def _numbers(text: str) -> Iterator[Days]:
    for found in _numeric.finditer(text):
        if found["y"]:
            yield from _range(
                int(found["y"]),
                int(found["m"]),
                int(found["d"]) if found["d"] else None,
            )
            continue
        year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
        first, second = int(found["a"]), int(found["b"])
        yield from _range(year, second, first)
        if first != second:
            yield from _range(year, first, second)


def _range(
    year: int, month: int | None = None, day: int | None = None
) -> Iterator[Days]:
    """The day, month or year, when there is such a one."""
    try:
        if month is None:
            yield Days(date(year, 1, 1), date(year, 12, 31))
        elif day is None:
            after = date(year + month // 12, month % 12 + 1, 1)
            yield Days(date(year, month, 1), after - timedelta(days=1))
        else:
            yield Days(date(year, month, day), date(year, month, day))
    except ValueError:
        return


@cache
def _months() -> dict[str, int]:
    return {
        name: at
        for at, names in enumerate(stopwords.MONTHS, start=1)
        for name in names.split()
    }


def _worded(tokens: list[str], today: date) -> Iterator[Days]:
    """Names of months with a day or a year beside them, and years that stand alone."""
    used: set[int] = set()
    months = _months()
    for at, token in enumerate(tokens):
        month = months.get(token)
        if month is None:
            continue
        day, year, seen = _beside(tokens, at)
        before = tokens[at - 1] if at else ""
        if token in _UNSURE and day is None and year is None and before not in _LEADS:
            continue
        used |= seen
        yield from _range(
            year if year is not None else _latest(today, month, day), month, day
        )
    for at, token in enumerate(tokens):
        if at not in used and _is_year(token):
            yield from _range(int(token))


def _is_year(token: str) -> bool:
    return (
        len(token) == 4
        and token.isascii()
        and token.isdigit()
        and token[:2] in ("19", "20")
    )


def _beside(tokens: list[str], at: int) -> tuple[int | None, int | None, set[int]]:
    """The day and the year that stand beside the name of a month, and where the year stands."""
    day = year = None
    seen: set[int] = set()
    around = [at - 1, at - 2, at + 1, at + 2, at + 3]
    for place in around:
        if not 0 <= place < len(tokens) or not tokens[place].isdecimal():
            continue
        number = tokens[place]
        if year is None and _is_year(number):
            year = int(number)
            seen.add(place)
        elif (
            day is None
            and len(number) <= 2
            and place != at + 3
            and 1 <= int(number) <= 31
        ):
            day = int(number)
    return day, year, seen


def _latest(today: date, month: int, day: int | None) -> int:
    """The year in which that month or day last began."""
    return (
        today.year if (month, day or 1) <= (today.month, today.day) else today.year - 1
    )


def _relative(text: str, today: date) -> Iterator[Days]:
    tokens = [token.strip('.,;:!?¿¡()"') for token in text.replace("'", " ").split()]
    if not _near_now().isdisjoint(tokens):
        for at, word in enumerate(tokens):
            if word in stopwords.DAYS:
                day = _shift(today, timedelta(days=stopwords.DAYS[word]))
                yield Days(day, day)
            elif at + 1 < len(tokens):
                yield from _beside_now(word, tokens[at + 1], today)
    for found in _ago.finditer(text):
        count, unit = found["n"] or found["de"], found["unit"] or found["deunit"]
        days = (_NUMBERS[count] if count in _NUMBERS else int(count)) * _UNITS[unit]
        slack = timedelta(days=0 if _UNITS[unit] == 1 else _UNITS[unit] // 2)
        middle = _shift(today, -timedelta(days=days))
        yield Days(_shift(middle, -slack), _shift(middle, slack))


@cache
def _near_now() -> frozenset[str]:
    """Words without one of which a query names no day by its distance from today, but for "ago"."""
    return frozenset(
        [*stopwords.DAYS, *stopwords.LAST, *stopwords.NEXT, *stopwords.THIS]
    )


def _beside_now(which: str, unit: str, today: date) -> Iterator[Days]:
    """ "Last week", "this month", "next year"; also with the words the other way round."""
    for first, second in ((which, unit), (unit, which)):
        step = -1 if first in stopwords.LAST else 1 if first in stopwords.NEXT else 0
        if step == 0 and first not in stopwords.THIS:
            continue
        if second in stopwords.WEEK:
            monday = _shift(today, timedelta(days=7 * step - today.weekday()))
            yield Days(monday, _shift(monday, timedelta(days=6)))
        elif second in stopwords.MONTH:
            year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
            yield from _range(year, month + 1)
        elif second in stopwords.YEAR:
            yield from _range(today.year + step)
