"""Words that make a claim another one than the turn that it cites: days, months and opposites. Pure."""

import re
from datetime import date
from functools import cache

from vault_memory.rules.learning.days.weekdays import weekdays
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import is_run, words

Day = tuple[str, int]
"""A class and a number, e.g. ``("month", 8)``"""

SHORTEST_WITH_ENDING = 5
"""Letters of a name of a day that may have another ending"""
_AMBIGUOUS = frozenset("may march mar sept".split())
"""Months that are common words: "may" of English, "sept" of French"""
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SIDES = (
    (
        "like likes love loves enjoy enjoys mag liebt liebe lieben "
        "aime aimes adore gusta gustan amo ama люблю любит нравится "
        "обожаю обожает 喜欢 喜歡",
        "dislike dislikes hate hates hasse hasst hassen déteste odio "
        "odia detesto ненавижу ненавидит 讨厌 討厭",
    ),
    (
        "brother bruder frère hermano брат брата брату 哥哥 弟弟",
        "sister schwester sœur soeur hermana сестра сестру сестры сестре 姐姐 妹妹",
    ),
    (
        "mother mom mum mutter mère madre мать мама маму мамы 妈妈 媽媽 母亲 母親",
        "father dad vater père padre отец отца папа папу папы 爸爸 父亲 父親",
    ),
    (
        "son sohn fils hijo сын сына 儿子 兒子",
        "daughter tochter fille hija дочь дочери дочку 女儿 女兒",
    ),
    (
        "husband ehemann mari marido esposo муж мужа 丈夫 老公",
        "wife ehefrau épouse esposa жена жену жены 妻子 老婆",
    ),
    ("left links gauche izquierda налево слева", "right rechts droite derecha направо справа"),
    ("before vor avant antes до", "after nach après después после"),
    ("more mehr plus más больше", "less fewer weniger moins menos меньше"),
    (
        "first erste premier première primero первый",
        "last letzte dernier dernière último последний",
    ),
    ("trust trusts", "distrust distrusts"),
    ("prefer prefers", "avoid avoids"),
    ("buy buys bought", "sell sells sold"),
)
"""Opposite words: those of one side, and those of the other"""


def named_days(text: str) -> frozenset[Day]:
    """Returns the weekdays and months that a text names, in any form of their names."""
    forms = _days_by_form()
    days = {forms.get(form) for word in words(text) for form in _forms(word)}
    days |= {day for name, day in _days_by_letters() if name in text}
    return frozenset(filter(None, days))


def days_of_dates(text: str) -> frozenset[Day]:
    """Returns the weekdays and months of the dates such as ``2026-05-26`` in a text."""
    days: set[Day] = set()
    for match in _DATE.findall(text):
        try:
            day = date.fromisoformat(match)
        except ValueError:
            # Fault: a model, or a person, writes a day that no calendar has.
            continue
        days |= {("weekday", day.weekday()), ("month", day.month)}
    return frozenset(days)


def are_opposites(first: str, second: str) -> bool:
    """Returns whether one text has a word, and the other its opposite in its place."""
    first_words, second_words = _with_runs(first), _with_runs(second)
    for left, right in _opposites():
        sides = [
            (not left.isdisjoint(text), not right.isdisjoint(text))
            for text in (first_words, second_words)
        ]
        if sorted(sides) == [(False, True), (True, False)]:
            return True
    return False


def _with_runs(text: str) -> set[str]:
    """Returns the words of a text, with the listed ones of scripts without spaces."""
    return {*words(text), *(word for word in _opposite_runs() if word in text)}


def _forms(word: str) -> tuple[str, ...]:
    """Returns a word, and a longer one without its ending as well."""
    return (word, word[:-1]) if len(word) >= SHORTEST_WITH_ENDING else (word,)


@cache
def _days() -> dict[str, Day]:
    days: dict[str, Day] = {}
    for name, number in stopwords.MONTH_NUMBERS.items():
        days[name] = ("month", number)
    for name, number in weekdays().items():
        days[name] = ("weekday", number)
    return days


@cache
def _days_by_form() -> dict[str, Day]:
    names = _days().keys() - _AMBIGUOUS
    return {form: _days()[name] for name in sorted(names) for form in _forms(name)}


@cache
def _days_by_letters() -> tuple[tuple[str, Day], ...]:
    return tuple((name, day) for name, day in _days().items() if is_run(name))


@cache
def _opposites() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((frozenset(left.split()), frozenset(right.split())) for left, right in _SIDES)


@cache
def _opposite_runs() -> tuple[str, ...]:
    listed = " ".join(map(" ".join, _SIDES)).split()
    return tuple(filter(is_run, listed))
