"""The words for days in six languages, and what they mean on the day on which they are said. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from vault_memory.rules.claims.word_tables import number_words, weekday_number, weekday_pattern
from vault_memory.rules.search import tokens

LONGEST_COUNT = 999
"""Days, weeks, months or years from now; greater numbers are no date"""

_SEASONS = {
    "en": "spring summer autumn|fall winter",
    "de": "frühjahr|frühling sommer herbst winter",
    "fr": "printemps été automne hiver",
    "es": "primavera verano otoño invierno",
    "ru": "весной|весна летом|лето осенью|осень зимой|зима",
    "zh": "春天|春季 夏天|夏季 秋天|秋季 冬天|冬季",
}
_ALSO_A_WORD_OF = {"hier": "de"}
"""Days that are other words in another language"""
_FIRST_MONTHS = (3, 6, 9, 12)
"""Of the seasons, in the order of `_SEASONS`; only their order matters"""


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


def _season_year(day: date, language: str, season: str, step: int) -> int | None:
    """Returns the year of the next (1), last (-1) or this (0) season."""
    numbers = enumerate(_SEASONS[language].split())
    first_month = next(
        _FIRST_MONTHS[number]
        for number, names in numbers
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


@dataclass(frozen=True, slots=True)
class _Language:
    """Templates: W is a weekday, S a season, U a unit, N a number."""

    code: str
    days: Sequence[tuple[str, int]]
    """words for single days, the longest first"""
    steps: Sequence[tuple[str, int]]
    """templates with W, S or U, and the step of "next" (1), "this" (0) or "last" (-1)"""
    units: Sequence[tuple[str, str]]
    """names of units with the unit"""
    counts: Sequence[tuple[str, int]]
    """templates with N and U, and their direction"""
    due: Sequence[str] = ()
    """templates with W for a day until which something is due"""
    next_may_be_a_week_later: bool = False
    """"next Friday" on a Monday is this week's or the next week's Friday"""
    spaced: bool = True

    def group(self) -> DayGroup:
        """Compiles the expressions."""
        return DayGroup(self._sign(), tuple(self._words()))

    def _sign(self) -> re.Pattern[str]:
        """Returns what each expression has: a day, or the W, S or U of its template."""
        names = [word for word, _ in self.days]
        names += [weekday_pattern(self.code), *_SEASONS[self.code].split()]
        names += [unit for unit, _ in self.units]
        return self._pattern("|".join(names))

    def _words(self) -> Iterator[DayWords]:
        for word, offset in self.days:
            meaning = _shifted(offset, other=_ALSO_A_WORD_OF.get(word, ""))
            yield DayWords(self._compiled(word), meaning)
        for template, step in self.steps:
            yield from self._steps(template, step)
        for template, direction in self.counts:
            yield DayWords(self._compiled(template), self._counted(direction))
        for template in self.due:
            yield DayWords(self._compiled(template), self._due)

    def _compiled(self, template: str) -> re.Pattern[str]:
        weekdays = weekday_pattern(self.code)
        seasons = "|".join(_SEASONS[self.code].split())
        units = "|".join(names for names, _ in self.units)
        numbers = "|".join(sorted(number_words(), key=len, reverse=True))
        pattern = (
            template.replace("W", f"(?P<weekday>{weekdays})")
            .replace("S", f"(?P<season>{seasons})")
            .replace("U", f"(?P<unit>{units})")
            .replace("N", rf"(?P<number>\d{{1,3}}|{numbers})")
        )
        return self._pattern(pattern)

    def _pattern(self, words: str) -> re.Pattern[str]:
        if self.spaced:
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
        if step == 1 and is_this_week and self.next_may_be_a_week_later:
            return None
        return f"{coming}"

    def _season(self, match: re.Match[str], day: date, step: int) -> str | None:
        season = match["season"]
        year = _season_year(day, self.code, season, step)
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
        for names, unit in self.units:
            if re.fullmatch(names, name, re.IGNORECASE):
                return unit
        raise ValueError(name)


_LANGUAGES = (
    _Language(
        "en",
        days=(
            ("the day after tomorrow", 2),
            ("day after tomorrow", 2),
            ("the day before yesterday", -2),
            ("day before yesterday", -2),
            ("tomorrow", 1),
            ("yesterday", -1),
            ("today", 0),
        ),
        steps=(
            ("(?:next|the coming) W", 1),
            ("this(?: coming)? W", 0),
            ("(?:last|this past) W", -1),
            ("(?:next|the coming) S", 1),
            ("this(?: coming)? S", 0),
            ("last S", -1),
            ("(?:next|the coming) U", 1),
            ("this U", 0),
            ("last U", -1),
        ),
        units=(
            ("days?", "day"),
            ("weekends?", "weekend"),
            ("weeks?", "week"),
            ("months?", "month"),
            ("years?", "year"),
        ),
        counts=(("in (?:N|an?) U", 1), ("(?:N|an?) U from now", 1), ("(?:N|an?) U ago", -1)),
        due=("(?:by|until|till|before) W",),
        next_may_be_a_week_later=True,
    ),
    _Language(
        "de",
        days=(
            ("übermorgen", 2),
            ("vorgestern", -2),
            # "Heute Morgen" and "am Morgen" are mornings.
            (
                "(?<!heute )(?<!gestern )(?<!am )(?<!jeden )(?<!guten )(?<!diesen )(?<!eines )morgen",
                1,
            ),
            ("gestern", -1),
            ("heute", 0),
        ),
        steps=(
            ("(?:nächste|kommende)[nrms]? W", 1),
            ("diese[nrms]? W", 0),
            ("(?:letzte|vergangene|vorige)[nrms]? W", -1),
            ("(?:nächste|kommende)[nrms]? S", 1),
            ("diese[nrms]? S", 0),
            ("(?:letzte|vergangene|vorige)[nrms]? S", -1),
            ("(?:nächste|kommende)[nrms]? U", 1),
            ("diese[nrms]? U", 0),
            ("(?:letzte|vergangene|vorige)[nrms]? U", -1),
        ),
        units=(
            ("tag(?:en?)?", "day"),
            ("wochenende", "weekend"),
            ("wochen?", "week"),
            ("monat(?:en?)?", "month"),
            ("jahr(?:en?)?", "year"),
        ),
        counts=(("in N U", 1), ("vor N U", -1)),
        due=("bis(?: zum)? W", "vor W"),
    ),
    _Language(
        "fr",
        days=(
            ("après-demain", 2),
            ("avant-hier", -2),
            ("demain", 1),
            ("hier", -1),
            ("aujourd['’]hui", 0),
        ),
        steps=(
            ("W prochain", 1),
            ("ce W", 0),
            ("W dernier", -1),
            ("S prochaine?", 1),
            ("(?:ce|cet|cette) S", 0),
            ("S dernière?", -1),
            ("S derniere?", -1),
            ("S passée?", -1),
            ("(?:la |le |l['’])?U prochaine?", 1),
            ("(?:ce|cette) U", 0),
            ("(?:la |le |l['’])?U (?:dernière?|dernier|passée?)", -1),
        ),
        units=(
            ("jours?", "day"),
            ("week-?end", "weekend"),
            ("semaines?", "week"),
            ("mois", "month"),
            ("ans?|années?", "year"),
        ),
        counts=(("dans N U", 1), ("il y a N U", -1)),
        due=("(?:avant|d['’]ici|jusqu['’]à) W",),
    ),
    _Language(
        "es",
        days=(
            ("pasado mañana", 2),
            ("anteayer|antes de ayer", -2),
            # "La mañana" is the morning.
            ("(?<!la )(?<!esta )(?<!cada )(?<!una )(?<!de )mañana", 1),
            ("ayer", -1),
            ("hoy", 0),
        ),
        steps=(
            ("(?:el )?próximo W", 1),
            ("(?:el )?W (?:que viene|próximo)", 1),
            ("este W", 0),
            ("(?:el )?W pasado", -1),
            ("(?:el |la )?próxim[oa] S", 1),
            ("S que viene", 1),
            ("est[ea] S", 0),
            ("S pasad[oa]", -1),
            ("(?:el |la )?próxim[oa] U", 1),
            ("(?:el |la )?U que viene", 1),
            ("est[ea] U", 0),
            ("(?:el |la )?U pasad[oa]", -1),
        ),
        units=(
            ("días?", "day"),
            ("fin de semana", "weekend"),
            ("semanas?", "week"),
            ("mes(?:es)?", "month"),
            ("años?", "year"),
        ),
        counts=(("dentro de N U", 1), ("en N U", 1), ("hace N U", -1)),
        due=("(?:para|hasta|antes) (?:el |del )?W", "antes del W"),
    ),
    _Language(
        "ru",
        days=(("послезавтра", 2), ("позавчера", -2), ("завтра", 1), ("вчера", -1), ("сегодня", 0)),
        steps=(
            ("(?:в |во )?следующ\\w+ W", 1),
            ("(?:в |во )?эт\\w+ W", 0),
            ("(?:в |во )?прошл\\w+ W", -1),
            ("следующ\\w+ S", 1),
            ("эт\\w+ S", 0),
            ("прошл\\w+ S", -1),
            ("(?:на |в )?следующ\\w+ U", 1),
            ("(?:на |в )?эт(?:ой|ом) U", 0),
            ("(?:на |в )?прошл\\w+ U", -1),
        ),
        units=(
            ("день|дн(?:я|ей)", "day"),
            ("выходны[ех]", "weekend"),
            ("недел[яюиье]|недель", "week"),
            ("месяц(?:а|ев|е)?", "month"),
            ("год(?:а|у)?|лет", "year"),
        ),
        counts=(("через (?:N )?U", 1), ("(?:N )?U назад", -1)),
        due=("(?:до|к) W",),
        next_may_be_a_week_later=True,
    ),
    _Language(
        "zh",
        days=(
            ("大[后後]天", 3),
            ("大前天", -3),
            ("[后後]天", 2),
            ("前天", -2),
            ("明[天日]", 1),
            ("昨[天日]", -1),
            ("今[天日]", 0),
        ),
        steps=(
            ("下个?(?:周|週|星期|礼拜)W", 1),
            ("[这這本]个?(?:周|週|星期|礼拜)W", 0),
            ("上个?(?:周|週|星期|礼拜)W", -1),
            ("下个?U", 1),
            ("[这這本]个?U", 0),
            ("上个?U", -1),
        ),
        units=(
            ("周末|週末", "weekend"),
            ("周|週|星期|礼拜", "week"),
            ("个?月", "month"),
            ("年", "year"),
            ("天|日", "day"),
        ),
        # "6月1日之前" is a date.
        counts=((r"(?<![月\d])N(?:个)?U(?:之)?[后後]", 1), (r"(?<![月\d])N(?:个)?U(?:之)?前", -1)),
        due=("(?:周|週|星期|礼拜)W(?:之前|以前|前)",),
        spaced=False,
    ),
)

_CHINESE_YEARS = (("[后後]年", 2), ("明年", 1), ("今年", 0), ("去年", -1), ("前年", -2))


@cache
def all_groups() -> tuple[DayGroup, ...]:
    """Returns the expressions of all languages; compiles them once, which costs 40 ms."""
    return (_common_words(), *(language.group() for language in _LANGUAGES))


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
