"""The words for days in six languages, and what they mean on the day on which they are said. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from vault_memory.rules.claims.word_tables import number_words, weekday_number, weekday_pattern
from vault_memory.rules.search import tokens
from vault_memory.rules.search.stopwords import language_tables

LONGEST_COUNT = 999
"""Days, weeks, months or years from now; greater numbers are no date"""

_ALSO_A_WORD_OF = {"hier": "de"}
"""Days that are other words in another language"""
_FIRST_MONTHS = (3, 6, 9, 12)
"""Of the seasons, from spring to winter; only their order matters"""


class DayWords(NamedTuple):
    """An expression, and what it means on a day; None where that is not certain."""

    pattern: re.Pattern[str]
    meaning: Callable[[re.Match[str], date], str | None]


class DayGroup(NamedTuple):
    """The expressions of a language."""

    sign: re.Pattern[str]
    """is in each text that has one of them"""
    words: tuple[DayWords, ...]


# --- Meanings -----------------------------------------------------------------------------


def _shifted(
    days: int, after: str = "", other: str = ""
) -> Callable[[re.Match[str], date], str | None]:
    def meaning(match: re.Match[str], day: date) -> str | None:
        # Fault: the German "ich arbeite hier" was said of another day each night.
        if other and tokens.language_of(tokens.words(match.string)) == other:
            return None
        return f"{day + timedelta(days=days)}{after}"

    return meaning


def _coming(day: date, weekday: int) -> date:
    """Returns the first such weekday after the day."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)


def _past(day: date, weekday: int) -> date:
    """Returns the last such weekday before the day."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def _month(day: date, step: int) -> str:
    year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
    return f"{date(year, month + 1, 1):%Y-%m}"


def _period(day: date, unit: str, step: int) -> str:
    """Returns the week, weekend, month or year that is `step` from that of the day."""
    monday = day + timedelta(days=7 * step - day.weekday())
    match unit:
        case "week":
            return f"{monday} – {monday + timedelta(days=6)}"
        case "weekend":
            return f"{monday + timedelta(days=5)} – {monday + timedelta(days=6)}"
        case "month":
            return _month(day, step)
    return f"{date(day.year + step, 1, 1):%Y}"


def _moved(day: date, unit: str, count: int) -> str:
    """Returns the day so many days or weeks away, or the month or year."""
    match unit:
        case "day":
            return f"{day + timedelta(days=count)}"
        case "week":
            return f"{day + timedelta(weeks=count)}"
        case "month":
            return _month(day, count)
    return f"{date(day.year + count, 1, 1):%Y}"


def _season_year(day: date, seasons: Sequence[str], season: str, step: int) -> int | None:
    """Returns the year of the next (1), last (-1) or this (0) season."""
    first_month = next(
        first
        for first, names in zip(_FIRST_MONTHS, seasons, strict=True)
        if re.fullmatch(names, season, re.IGNORECASE)
    )
    has_begun = day.month >= first_month
    if step == 0:
        return day.year
    if step > 0:
        # In May, "next summer" is that of this year or of the next one.
        return day.year + 1 if has_begun else None
    return day.year if day.month >= first_month + 3 else day.year - 1


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else number_words()[text.casefold()]
    if number > LONGEST_COUNT:
        raise ValueError(number)
    return number


# --- Patterns of a language -----------------------------------------------------------------


class _Language:
    """The expressions of a language, from the templates of `day_words.toml`."""

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self._seasons: list[str] = table["seasons"].split()
        self._units: Mapping[str, str] = table["units"]
        self._spaced: bool = table.get("spaced", True)
        self._next_may_be_a_week_later = "next_may_be_a_week_later" in table
        self._table = table

    def group(self) -> DayGroup:
        """Compiles the expressions."""
        return DayGroup(self._sign(), tuple(self._words()))

    def _sign(self) -> re.Pattern[str]:
        """Returns what each expression has: a day, or the W, S or U of its template."""
        names = [*self._table["days"], weekday_pattern(self.code), *self._seasons, *self._units]
        return self._pattern("|".join(names))

    def _words(self) -> Iterator[DayWords]:
        for word, offset in self._table["days"].items():
            meaning = _shifted(offset, other=_ALSO_A_WORD_OF.get(word, ""))
            yield DayWords(self._compiled(word), meaning)
        for template, step in self._table["steps"].items():
            yield from self._steps(template, step)
        for template, direction in self._table["counts"].items():
            yield DayWords(self._compiled(template), self._counted(direction))
        for template in self._table["due"]:
            yield DayWords(self._compiled(template), self._due)

    def _compiled(self, template: str) -> re.Pattern[str]:
        weekdays = weekday_pattern(self.code)
        seasons = "|".join(self._seasons)
        units = "|".join(self._units)
        numbers = "|".join(sorted(number_words(), key=len, reverse=True))
        pattern = (
            template.replace("W", f"(?P<weekday>{weekdays})")
            .replace("S", f"(?P<season>{seasons})")
            .replace("U", f"(?P<unit>{units})")
            .replace("N", rf"(?P<number>\d{{1,3}}|{numbers})")
        )
        return self._pattern(pattern)

    def _pattern(self, words: str) -> re.Pattern[str]:
        if self._spaced:
            words = rf"(?<!\w)(?:{words})(?!\w)"
        return re.compile(words, re.IGNORECASE)

    def _steps(self, template: str, step: int) -> Iterator[DayWords]:
        pattern = self._compiled(template)
        if "W" in template:
            yield DayWords(pattern, lambda match, day: self._weekday(match, day, step))
        elif "S" in template:
            yield DayWords(pattern, lambda match, day: self._season(match, day, step))
        else:
            yield DayWords(
                pattern, lambda match, day: _period(day, self._unit(match["unit"]), step)
            )

    def _weekday(self, match: re.Match[str], day: date, step: int) -> str | None:
        weekday = weekday_number(self.code, match["weekday"])
        monday = day - timedelta(days=day.weekday())
        if self.code == "zh":
            return f"{monday + timedelta(days=7 * step + weekday)}"
        if step < 0:
            return f"{_past(day, weekday)}"
        coming = _coming(day, weekday)
        is_this_week = coming < monday + timedelta(days=7)
        if step == 1 and is_this_week and self._next_may_be_a_week_later:
            return None
        return f"{coming}"

    def _season(self, match: re.Match[str], day: date, step: int) -> str | None:
        season = match["season"]
        year = _season_year(day, self._seasons, season, step)
        return None if year is None else f"{season} {year}"

    def _counted(self, direction: int) -> Callable[[re.Match[str], date], str]:
        def meaning(match: re.Match[str], day: date) -> str:
            number = match.groupdict().get("number")
            count = direction * (_count(number) if number else 1)
            return _moved(day, self._unit(match["unit"]), count)

        return meaning

    def _due(self, match: re.Match[str], day: date) -> str:
        coming = _coming(day, weekday_number(self.code, match["weekday"]))
        start, end = (match.start("weekday") - match.start(), match.end("weekday") - match.start())
        # "周五前" has a word for "week" before the day.
        before = "" if self.code == "zh" else match[0][:start]
        return f"{before}{coming}{match[0][end:]}"

    def _unit(self, name: str) -> str:
        for names, unit in self._units.items():
            if re.fullmatch(names, name, re.IGNORECASE):
                return unit
        raise ValueError(name)


_CHINESE_YEARS = (("[后後]年", 2), ("明年", 1), ("今年", 0), ("去年", -1), ("前年", -2))


@cache
def all_groups() -> tuple[DayGroup, ...]:
    """Returns the expressions of all languages; compiles them once, which costs 40 ms."""
    languages = language_tables(__package__, "day_words.toml").items()
    return (_common_words(), *(_Language(*language).group() for language in languages))


def _common_words() -> DayGroup:
    """Returns the expressions that are read before those of a language."""
    years = [
        DayWords(
            re.compile(pattern),
            lambda match, day, step=step: f"{day.year + step}年",  # type: ignore[misc]
        )
        for pattern, step in _CHINESE_YEARS
    ]
    tonight = DayWords(re.compile(r"\btonight\b", re.IGNORECASE), _shifted(0, " at night"))
    evening = DayWords(re.compile("今晚"), _shifted(0, " 晚上"))
    morning = DayWords(re.compile("明早"), _shifted(1, " 早上"))
    sign = re.compile("tonight|今晚|明早|年", re.IGNORECASE)
    return DayGroup(sign, (*years, tonight, evening, morning))
