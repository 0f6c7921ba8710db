"""Attributes: the value of a fact without its begin, and memories that say no more than it. Pure.

Words at the end of a value say since when: "Porto in March 2019". A memory that says no more than
a fact is in FACTS.md alone.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time

from vault_memory.rules.facts.fact import SINGLE, TEMPORARY
from vault_memory.rules.learning.candidate import FoundFact, Memory
from vault_memory.rules.learning.relative_days import resolve_days
from vault_memory.rules.search.date_expressions import named
from vault_memory.rules.search.stopwords import MONTH_NUMBERS
from vault_memory.rules.search.tokens import is_run, stop_words, words

_LEADS = frozenset(
    "in on since from at back early late mid im am seit ab anfang ende mitte en au le depuis dès début fin desde el a "
    "principios finales mediados в во с со начале конце середине из em nel dal".split()
)
_BETWEEN = frozenset(
    "of the de del du mois year der des jahr jahre den год году года г месяце начала конца – -".split()
)
_EDGES = ".,;()，。"
_NUMBER_ENDINGS = ("st", "nd", "rd", "th", "er", "ого", "го")
DATED = SINGLE | TEMPORARY | {"married_to", "dating", "reports_to", "works_on"}
"""Predicates of which people name a begin after the value; of others, a date may be the value"""
LONGEST_YEAR = 4
"""Digits"""
LONGEST_DATE = 8
"""Words of a date at the end of a value"""


def split_begin(text: str) -> tuple[str, str]:
    """Returns a value without the date at its end, and the words of it, such as "in March".

    A value that is only a date stays as it is.
    """
    words = text.split()
    for start in range(max(0, len(words) - LONGEST_DATE), len(words)):
        if is_date(words[start:]):
            if not start:
                break
            # The point of "EE. UU." is a part of the value.
            return " ".join(words[:start]).rstrip(" ,;(，"), " ".join(words[start:])
    return text, ""


def is_date(words: list[str]) -> bool:
    """Returns whether words are a date of a month or of a year at least, and nothing else."""
    bare = _bare(words)
    months = [word for word in bare if word in MONTH_NUMBERS]
    numbers = [word for word in bare if word not in MONTH_NUMBERS and _is_number(word)]
    remaining = set(bare) - {*months, *numbers, *_LEADS, *_BETWEEN}
    has_year = any(len(number) >= LONGEST_YEAR for number in numbers)
    if remaining or not (has_year or months):
        return False
    # "May" alone may be a name; "in May" and "May 2019" are dates.
    return bare[0] in _LEADS or len(months) + len(numbers) > 1 or has_year


def _bare(words: list[str]) -> list[str]:
    return [word.strip(_EDGES).casefold() for word in words]


def _is_number(word: str) -> bool:
    for ending in _NUMBER_ENDINGS:
        word = word.removesuffix(ending)
    if len(word) == LONGEST_YEAR:
        return word.isdecimal() and word.startswith(("19", "20"))
    return (word.isdecimal() and len(word) <= 2) or _is_iso(word)


def _is_iso(word: str) -> bool:
    try:
        date.fromisoformat(word if len(word) > len("2026-01") else f"{word}-01")
    except ValueError:
        return False
    return "-" in word


def first_day(since: str, day: date) -> date | None:
    """Returns the first day that words mean which were said on `day`; None for other words."""
    words = _bare(resolve_days(since, day).text.split())
    # "au mois de mars" is read as "in mars".
    date_words = [word for word in words if word in MONTH_NUMBERS or _is_number(word)]
    ranges = named(f"in {' '.join(date_words)}", now=datetime.combine(day, time.max))
    return min((days.first for days in ranges), default=None)


ATTRIBUTES = frozenset({"identity", "preference", "relationship"})
"""Types of memories that a fact can hold completely"""
MOST_OTHER_WORDS = 1
"""Content words beside those of the fact, such as a verb that no phrase has"""
MOST_OTHER_LETTERS = 5
"""The same for scripts without spaces, whose words are not known"""


def fact_beside(
    memory: Memory, facts: Iterable[FoundFact], phrase_words: Callable[[str], frozenset[str]]
) -> FoundFact | None:
    """Returns a fact of the same turn that says what the memory says.

    `phrase_words` returns the words by which people say a predicate: "is called", "heißt".
    """
    if memory.type not in ATTRIBUTES:
        return None
    of_turn = [fact for fact in facts if not set(memory.evidence).isdisjoint(fact.evidence)]
    for fact in of_turn:
        # "Allergic to penicillin, latex and cats" is one sentence and three facts.
        listed = [other for other in of_turn if _is_beside(other, fact)]
        if says_no_more(memory.text, listed, phrase_words(fact.predicate)):
            return fact
    return None


def _is_beside(first: FoundFact, second: FoundFact) -> bool:
    return (first.subject, first.predicate) == (second.subject, second.predicate)


def says_no_more(
    text: str,
    facts: list[FoundFact],
    of_phrases: frozenset[str],
    speaker: frozenset[str] = frozenset(),
) -> bool:
    """Returns whether a text that has the objects of some facts says nothing beside them.

    `speaker`: words by which the text refers to the person.
    """
    # Fault: pairs of letters across the edge of the object would count as other words.
    if is_run(text[:1]) and all(fact.object in text for fact in facts):
        for fact in facts:
            text = text.replace(fact.object, "")
        letters = set(filter(str.isalnum, text))
        return _are_few(letters, frozenset().union(*of_phrases), MOST_OTHER_LETTERS)
    text_words = words(text)
    content_words = set(text_words) - stop_words(text_words) - speaker
    for fact in facts:
        content_words -= {*words(fact.subject), *words(fact.object)}
        if fact.valid_from:
            content_words -= {word for word in content_words if is_date(["in", word])}
    return _are_few(content_words, of_phrases, MOST_OTHER_WORDS)


def _are_few(other_words: set[str], of_phrases: frozenset[str], most: int) -> bool:
    """Returns whether words beside the fact add nothing to it."""
    # Fault: "I live in Bergen, alone" says more than "I live in Bergen".
    if not other_words.isdisjoint(of_phrases):
        return other_words <= of_phrases
    return len(other_words) <= most
