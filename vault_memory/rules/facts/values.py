"""Compares values of facts, and finds facts of one scope that cannot all hold. Pure.

Dates and numbers are compared by meaning, names by letters and words.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import combinations
from typing import Literal

from vault_memory.rules.facts.fact import Fact, begins, canonical, ends, folded, has_ended
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import is_run, pairs, without_last_letters

MOST_VALUES = 4_096
"""Values whose meaning is cached"""
ALIKE = 0.7
"""The Jaccard similarity from which two facts count as equal"""
_TRIMMED = ".,;:!?…。，、；：！？\"'“”„«»()[]{}"

_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")
_CHINESE = re.compile(r"(\d{4})年(?:(\d{1,2})月(?:(\d{1,2})[日号])?)?")
_NAMED_MONTH = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![.,]?\w)")


def same_value(first: str, second: str) -> bool:
    """Returns whether two values mean the same; a year includes the days in it."""
    ours, theirs = value_key(first), value_key(second)
    if ours == theirs:
        return True
    if _is_day(ours) and _is_day(theirs):
        shorter, longer = sorted((ours, theirs), key=len)
        return longer.startswith(f"{shorter}-")
    return False


@lru_cache(maxsize=MOST_VALUES)
def value_key(value: str) -> str:
    """Returns the form in which a value is compared: a date as ISO, a number without signs."""
    text = folded(value)
    return _date_in(text) or _NUMBER.sub(_plain_number, text)


def _is_day(key: str) -> bool:
    return _ISO.fullmatch(key) is not None


def _date_in(text: str) -> str:
    """Returns the date that a text is, as far as it says it; ``""`` for another text."""
    for pattern in (_ISO, _SLASHED, _CHINESE):
        match = pattern.fullmatch(text)
        if match:
            year, month, day = match.groups()
            return _iso(year, month, day)
    dotted = _DOTTED.fullmatch(text)
    if dotted:
        day, month, year = dotted.groups()
        return _iso(year, month, day)
    return _date_with_month_name(text)


def _date_with_month_name(text: str) -> str:
    """Reads dates such as `9 June 1980`, `June 9th, 1980` and `Juni 1980`."""
    names = [name for name in _NAMED_MONTH.findall(text) if name in stopwords.MONTH_NUMBERS]
    words = set(_NAMED_MONTH.findall(text)).difference(names, _DATE_WORDS)
    numbers = re.findall(r"\d+", text)
    years = [number for number in numbers if len(number) == 4]
    days = [number for number in numbers if len(number) <= 2]
    is_date = len(names) == len(years) == 1 and len(days) <= 1 and not words
    # Fault: a text with another number is no date, even if it names a month.
    if not is_date or len(numbers) != len(years) + len(days):
        return ""
    return _iso(years[0], str(stopwords.MONTH_NUMBERS[names[0]]), days[0] if days else None)


_DATE_WORDS = frozenset("st nd rd th of the de del le la den am г года".split())


def _iso(year: str, month: str | None, day: str | None) -> str:
    parts = [year, *(part.zfill(2) for part in (month, day) if part)]
    return "-".join(parts)


def _plain_number(match: re.Match[str]) -> str:
    number = match[0].replace(",", "")
    return number.rstrip("0").rstrip(".") if "." in number else number


@lru_cache(maxsize=MOST_VALUES)
def words_of(text: str) -> frozenset[str]:
    """Returns the words by which facts are compared; for scripts without spaces, letter pairs."""
    words: list[str] = []
    for word in folded(text).split():
        trimmed = word.strip(_TRIMMED) or word
        if is_run(trimmed):
            words += pairs(trimmed)
        else:
            words.append(trimmed)
    return frozenset(without_last_letters(words))


def are_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Compares the words of two values of the same predicate."""
    # `room 12` and `room 13` share most letters and mean different rooms.
    different_words = "".join(first ^ second)
    if any(map(str.isdigit, different_words)):
        return False
    # The predicate counts as a word that both share.
    shared = len(first & second) + 1
    total = len(first | second) + 1
    return shared / total >= ALIKE


OPPOSITES = (
    ("likes", "dislikes"),
    ("prefers", "avoids"),
    ("trusts", "distrusts"),
    ("uses", "stopped_using"),
    ("owns", "sold"),
)
"""Predicates that cannot hold of one object at a time"""

_OPPOSITE = {**dict(OPPOSITES), **{second: first for first, second in OPPOSITES}}

FactConflictKind = Literal["value", "opposite"]


@dataclass(frozen=True, slots=True)
class FactConflict:
    """Two facts that contradict each other, the one with the smaller id first."""

    kind: FactConflictKind
    """value: two values of a single-valued predicate; opposite: opposite predicates"""
    first: Fact
    second: Fact


def fact_conflicts(facts: Iterable[Fact], day: date, single: frozenset[str]) -> list[FactConflict]:
    """Returns each contradiction among the facts that hold on a day, or begin later."""
    conflicts: list[FactConflict] = []
    for group in subjects(facts, day):
        conflicts += _conflicts_of_subject(group, single)
    return sorted(conflicts, key=_order)


def subjects(facts: Iterable[Fact], day: date) -> list[list[Fact]]:
    """Groups the facts that have not ended by subject; each fact once."""
    by_id: dict[str, Fact] = {}
    for fact in facts:
        # Fault: a fact that has ended, or holds for a short time, contradicts nothing.
        if not has_ended(fact, day) and not fact.temporary:
            # Fault: a sync conflict copies a page, and the same fact would contradict itself.
            by_id.setdefault(fact.id, fact)
    names = canonical(by_id.values())
    groups: dict[str, list[Fact]] = {}
    for fact in by_id.values():
        subject, _ = fact.key
        groups.setdefault(names.get(subject, subject), []).append(fact)
    return list(groups.values())


def overlap(first: Fact, second: Fact) -> bool:
    """Returns whether there is a day on which both hold.

    The last day of a fact belongs to the fact that replaced it.
    """
    return begins(second) < ends(first) and begins(first) < ends(second)


def agree(first: str, second: str) -> bool:
    """Returns whether two values may be the same; one may say more than the other."""
    if same_value(first, second):
        return True
    ours, theirs = words_of(first), words_of(second)
    return ours <= theirs or theirs <= ours or are_alike(ours, theirs)


def _conflicts_of_subject(facts: Iterable[Fact], single: frozenset[str]) -> Iterator[FactConflict]:
    by_predicate: dict[str, list[Fact]] = {}
    for fact in facts:
        by_predicate.setdefault(fact.predicate, []).append(fact)
    for predicate, group in by_predicate.items():
        if predicate in single:
            yield from _rival_values(group)
        opposite = by_predicate.get(_OPPOSITE.get(predicate, ""), [])
        # Each pair of predicates is met from both sides.
        if opposite and predicate < opposite[0].predicate:
            yield from _opposites(group, opposite)


def _rival_values(facts: Iterable[Fact]) -> Iterator[FactConflict]:
    for first, second in combinations(facts, 2):
        if overlap(first, second) and not agree(first.object, second.object):
            yield _conflict("value", first, second)


def _opposites(facts: Iterable[Fact], others: Iterable[Fact]) -> Iterator[FactConflict]:
    by_object: dict[frozenset[str], list[Fact]] = {}
    for other in others:
        by_object.setdefault(words_of(other.object), []).append(other)
    for fact in facts:
        for other in by_object.get(words_of(fact.object), ()):
            if overlap(fact, other):
                yield _conflict("opposite", fact, other)


def _conflict(kind: FactConflictKind, first: Fact, second: Fact) -> FactConflict:
    # Fault: two devices must report a conflict in the same order.
    first, second = sorted((first, second), key=_id)
    return FactConflict(kind, first, second)


def _id(fact: Fact) -> str:
    return fact.id


def _order(conflict: FactConflict) -> tuple[str, str]:
    return conflict.first.id, conflict.second.id
