"""Which chunk answers a query best: one sum, whose terms are all of about the same size. Pure.

Each arm (the words, the vectors) brings candidates on a scale of its own; here they are brought to one, what stands
beside a chunk and in the same note speaks for it, and small cues of the query are added.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from vault_memory.memory import languages, words
from vault_memory.memory.dates import Days

RRF = 60
"""The constant of reciprocal rank fusion"""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each term of the sum counts."""

    text: float = 1.0
    beside: float = 0.2
    """in the text term: a chunk next to this one; half of it for the one after that"""
    vector: float = 0.5
    vector_beside: float = 0.5
    note: float = 0.4
    speaker: float = 0.3
    date: float = 0.5
    when: float = 0.25
    number: float = 0.1
    question: float = -0.15
    length: float = 0.07


WEIGHTS = Weights()
PROSE = Weights(speaker=0.0, when=0.0, number=0.0, question=0.0)
"""Without the cues of conversations"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query says beside its words."""

    names: frozenset[str]
    """its words, any of which may be the name of a speaker"""
    days: tuple[Days, ...] = ()
    when: bool = False
    how_many: bool = False


Place = tuple[int, int]
"""A chunk's note and its number in the note"""


def text_terms(scores: Mapping[Place, float], weights: Weights = WEIGHTS) -> dict[Place, tuple[float, float]]:
    """For each chunk beside or among those found: its text term and its note term, the best of each is 1.

    `scores` are BM25 scores, the higher the better.
    """
    spread = _spread(scores, weights.beside)
    notes = note_scores(scores)
    best = max(spread.values(), default=0.0) or 1.0
    best_note = max(notes.values(), default=0.0) or 1.0
    return {place: (score / best, notes[place[0]] / best_note) for place, score in spread.items()}


def _spread(scores: Mapping[Place, float], beside: float) -> dict[Place, float]:
    """Each chunk gives a part of its score to the two before it and the two after it in its note."""
    spread = dict(scores)
    get = spread.get
    for (note, ordinal), score in scores.items():
        near, far = score * beside, score * beside / 2
        for place, part in (
            ((note, ordinal - 1), near),
            ((note, ordinal + 1), near),
            ((note, ordinal - 2), far),
            ((note, ordinal + 2), far),
        ):
            spread[place] = get(place, 0.0) + part
    return spread


def note_scores(scores: Mapping[Place, float]) -> dict[int, float]:
    """How much a note as a whole is about the query."""
    notes: dict[int, float] = {}
    for (note, _), score in scores.items():
        notes[note] = notes.get(note, 0.0) + score * score
    return {note: math.sqrt(total) for note, total in notes.items()}


def scaled(values: Sequence[float]) -> list[float]:
    """Cosines on the scale of the sum: the middle one of the scope is 0, the best 1, none below -0.5."""
    if not values:
        return []
    middle, best = median(values), max(values)
    span = (best - middle) or 1.0
    return [max(-0.5, (value - middle) / span) for value in values]


def near(date: str | None, days: Iterable[Days]) -> bool:
    """Whether something of that day (ISO 8601) may speak of one of these."""
    return date is not None and any(range_.first.isoformat() <= date <= range_.last.isoformat() for range_ in days)


def names_speaker(who: str, names: frozenset[str]) -> bool:
    """Whether the query names who speaks, or a part of that name."""
    return bool(who) and any(word in names for word in words.words(who) if len(word) > 1)


def length_term(letters: int) -> float:
    """A little for saying more: the logarithm of about how many words that is."""
    return math.log1p(letters / 5.5)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    parts = (part.strip() for part in source.replace("\n", "|").split("|"))
    whole = "|".join(part for part in parts if part)
    return re.compile(whole)


def asks_when(query: str) -> bool:
    return _asks(query, languages.WHEN)


def asks_how_many(query: str) -> bool:
    return _asks(query, languages.HOW_MANY)


def _asks(query: str, source: str) -> bool:
    return _asking(source).search(query[-2000:].casefold()) is not None


@cache
def _asking(source: str) -> re.Pattern[str]:
    """Patterns for whole words; in scripts without spaces they stand anywhere."""
    flat = " ".join(source.split())
    patterns = _alternatives(flat)
    spaced = [pattern for pattern in patterns if not words.is_run(pattern)]
    runs = [pattern for pattern in patterns if words.is_run(pattern)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(runs)}")


def _alternatives(flat: str) -> list[str]:
    """The parts between the outer ``|``; those in brackets belong to their part."""
    parts, depth, part = list[str](), 0, ""
    for letter in flat:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()]


@cache
def _time_words() -> frozenset[str]:
    return frozenset(languages.TIME_WORDS.split()) | {name for names in languages.MONTHS for name in names.split()}


_letters = re.compile(r"[^\W_]+")
_year = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_number_words = frozenset(
    "two three four five six seven eight nine ten eleven twelve dozen twice thrice zwei drei vier fünf sechs sieben acht neun zehn "
    "deux trois quatre cinq sept huit neuf dix dos tres cuatro cinco siete ocho nueve diez два три четыре пять шесть".split()
)


def has_time_word(text: str) -> bool:
    """Whether the text places itself in time."""
    found = _letters.findall(text.casefold())
    if not _time_words().isdisjoint(found):
        return True
    return _year.search(text) is not None or (
        not text.isascii() and any(piece in text for piece in languages.TIME_PIECES.split())
    )


def has_number(text: str) -> bool:
    return any(letter.isdigit() for letter in text) or not _number_words.isdisjoint(_letters.findall(text.casefold()))
