"""The names of the weekdays, in the languages of the phrase tables: one table for all readers. Pure."""

from functools import cache

WEEKDAYS: dict[str, tuple[str, ...]] = {
    "en": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "de": (
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag sonnabend",
        "sonntag",
    ),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    "ru": (
        "понедельник понедельника понедельнику понедельникам",
        "вторник вторника вторнику вторникам",
        "среда среды среду средам",
        "четверг четверга четвергу четвергам",
        "пятница пятницы пятницу пятницам",
        "суббота субботы субботу субботам",
        "воскресенье воскресенья воскресенью воскресеньям",
    ),
    "zh": ("一", "二", "三", "四", "五", "六", "日 天"),
}
"""The forms of each name, from Monday to Sunday, by language; Chinese without the word for week"""
CHINESE_WEEKS = ("周", "週", "星期", "礼拜")
"""Words for week, which come before the number of a Chinese weekday"""


@cache
def weekdays() -> dict[str, int]:
    """Returns the number of each weekday by all of its names in all languages; Monday is 0."""
    numbers: dict[str, int] = {}
    for language, days in WEEKDAYS.items():
        prefixes = CHINESE_WEEKS if language == "zh" else ("",)
        for number, names in enumerate(days):
            for name in names.split():
                numbers |= {prefix + name: number for prefix in prefixes}
    return numbers


def weekday_pattern(language: str) -> str:
    """Returns the names of a language as alternatives of a pattern, the longest first."""
    names = " ".join(WEEKDAYS[language]).split()
    return "|".join(sorted(names, key=len, reverse=True))


def weekday_number(language: str, name: str) -> int:
    """Returns the number of a weekday; Monday is 0. Raises KeyError for another word."""
    prefix = CHINESE_WEEKS[0] if language == "zh" else ""
    return weekdays()[prefix + name.casefold()]
