"""Finds statements that are equal but for a negation or a plain number. Pure.

Another date, weekday, time or name is another truth: such statements hold side by side.
"""

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from vault_memory.rules.claims.word_tables import NEGATION_LETTERS, negation_words
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import words

Contrast = Literal["negation", "number"]

MOST_SKELETONS = 16_384
"""Statements whose skeletons are cached"""
LONGEST = 600
"""Characters; a longer text is a document rather than a statement"""
FEWEST_WORDS = 2
"""Words of a skeleton; `not yet` and `3 times` say nothing by themselves"""

_CONTRACTED = re.compile(r"\b(\w+)n['’]t\b")
_IRREGULAR = {"wo": "will", "ca": "can", "sha": "shall"}
_CANNOT = re.compile(r"\bcannot\b")
_ALWAYS = frozenset("always immer stets toujours siempre всегда please bitte".split())
_ALWAYS_LETTERS = re.compile("总是|總是|永远|永遠|一直|请|請")
_FILLERS = frozenset(
    """do does did a an any the ne ein eine einen einem einer de du des d
    la le les more longer mehr""".split()
)
"""Words that come and go with a negation: `I eat meat`, `I do not eat any meat`"""
_FORMS = {"has": "have", "kein": "", "keine": ""}

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,:/+@#-])-?(\d{1,3}(?:[.,]\d{3})+|\d{1,6}(?:[.,]\d{1,4})?)(?![A-Za-z0-9_:/@-]|[.,]\d)"
)
_THOUSANDS = re.compile(r"-?\d{1,3}(?:[.,]\d{3})+")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_TIME_AFTER = re.compile(
    r"(?:st|nd|rd|th)?[.,]?\s*(?:[ap]\.?m\b|o['’]clock|uhr\b|h\b|heures?\b|час|年|月|日|号|點|点|时|時|%(?=\d))"
)
_TIME_BEFORE = re.compile(r"\b(?:at|um|gegen|à|a las|в)\s*$")


class Skeleton(NamedTuple):
    """A statement without its negation and its plain numbers."""

    words: tuple[str, ...]
    is_negated: bool
    numbers: tuple[Decimal, ...]


def contrast(first: str, second: str) -> Contrast | None:
    """Returns how two statements contradict each other; None if they do not.

    The texts have no type, quote or metadata. The order does not matter.
    """
    ours, theirs = skeleton(first), skeleton(second)
    if ours.words != theirs.words or len(ours.words) < FEWEST_WORDS:
        return None
    if ours.is_negated != theirs.is_negated:
        return "negation" if ours.numbers == theirs.numbers else None
    if ours.numbers == theirs.numbers or len(ours.numbers) != len(theirs.numbers):
        return None
    return "number"


@lru_cache(maxsize=MOST_SKELETONS)
def skeleton(statement: str) -> Skeleton:
    """Returns the words that stay, whether the statement is negated, and its plain numbers."""
    text = unicodedata.normalize("NFKC", statement[:LONGEST]).casefold()
    text, numbers = _without_numbers(_expanded(text))
    without_letters = NEGATION_LETTERS.sub("", text)
    negations = len(NEGATION_LETTERS.findall(text))
    text = _ALWAYS_LETTERS.sub("", without_letters)
    remaining: list[str] = []
    for word in words(text):
        if word in negation_words():
            negations += 1
        elif word not in _FILLERS and word not in _ALWAYS:
            remaining.append(_base_form(word))
    return Skeleton(tuple(remaining), negations % 2 == 1, numbers)


def _expanded(text: str) -> str:
    """Returns a text with contracted negations in full: `don't` becomes `do not`."""
    text = _CANNOT.sub("can not", text)
    return _CONTRACTED.sub(_in_full, text)


def _in_full(match: re.Match[str]) -> str:
    return f"{_IRREGULAR.get(match[1], match[1])} not"


def _base_form(word: str) -> str:
    """Returns a word without the ending of the third person: `eats` and `eat` are equal."""
    word = _FORMS.get(word, word)
    if len(word) > 3 and word.isascii() and word.endswith("s"):
        return word[:-1]
    return word


def _without_numbers(text: str) -> tuple[str, tuple[Decimal, ...]]:
    """Returns a text with a sign for each plain number, and the numbers."""
    numbers: list[Decimal] = []

    def taken(match: re.Match[str]) -> str:
        if _is_of_a_date(text, match):
            return match[0]
        numbers.append(_value(match[0]))
        return " nnn "

    return _NUMBER.sub(taken, text), tuple(numbers)


def _value(number: str) -> Decimal:
    if _THOUSANDS.fullmatch(number):
        number = number.replace(",", "").replace(".", "")
    return Decimal(number.replace(",", ".")).normalize()


def _is_of_a_date(text: str, match: re.Match[str]) -> bool:
    """Returns whether a number is a year, a day of a month, or a time of day."""
    before, after = text[: match.start()], text[match.end() :]
    if _YEAR.fullmatch(match[1]) or _TIME_BEFORE.search(before):
        return True
    if _TIME_AFTER.match(after):
        return True
    neighbours = (*words(before[-40:])[-1:], *words(after[:40])[:1])
    return any(word in _date_words() for word in neighbours)


@lru_cache(maxsize=1)
def _date_words() -> frozenset[str]:
    return frozenset({*stopwords.MONTH_NUMBERS, *stopwords.TIME_WORDS.split()})
