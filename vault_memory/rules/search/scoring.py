"""Which chunk answers a query best: one sum, whose terms are all of about the same size. Pure.

The words bring BM25 scores, the vectors cosines; here both are brought to one scale, what stands beside a chunk and in
the same note speaks for it, and small cues of the query are added. A chunk's place is one number: see `place`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

RRF = 60
"""The constant of reciprocal rank fusion"""


class Weights(NamedTuple):
    """How much each term of the sum counts. Halving any of them costs little: keep them round."""

    text: float = 1.0
    vector: float = 0.3
    vector_beside: float = 0.2
    note: float = 0.3
    best: float = 0.6
    speaker: float = 0.4
    date: float = 0.5
    when: float = 0.3
    number: float = 0.1
    question: float = -0.5
    asked_again: float = -1.0
    empty: float = -2.5
    length: float = 0.07
    entity: float = 0.4


WEIGHTS = Weights()
PROSE = Weights(
    speaker=0.0, when=0.0, number=0.0, question=0.0, asked_again=0.0, empty=0.0
)
"""Without the cues of conversations"""

BESIDE, FAR, AGAIN = 0.5, 0.25, 0.2
"""What a word counts that stands in the chunk next to this one, in the one after that; and the part of it that is left
when it stands in the chunk itself as well"""
VECTOR_BESIDE = 0.5
"""What the vector of the chunk before and of the one after count in the mean of all three"""
LOWEST = -0.5
"""The least that a vector says"""
LEAST_SPAN = 0.05
"""The best one is not 1 when it is hardly more like the query than the middle one"""

ORDINALS = 1 << 24
"""More than a note has chunks"""
BEFORE_FIRST = 2
"""Two before the first chunk of a note is still in the same note"""


def place(note: int, ordinal: int) -> int:
    """A chunk's note and its number in the note, as one number: the chunk after it has the next one."""
    return note * ORDINALS + ordinal + BEFORE_FIRST


def split(place: int) -> tuple[int, int]:
    """The note and the number in it that make a place."""
    note, rest = divmod(place, ORDINALS)
    return note, rest - BEFORE_FIRST


TextTerms = tuple[float, float, float]
"""What the words say for a chunk, each at most 1: the three parts of `Said`"""


class QueryTerms(NamedTuple):
    """What the words of one question say, brought to one scale: each value is at most 1."""

    text: dict[int, float]
    """by place: the chunk's own words and those beside it"""
    note: dict[int, float]
    """by note: how many of the words it has, the rarer the more"""
    best: dict[int, float]
    """by note: the text of its best chunk"""

    def terms(self, place: int) -> TextTerms:
        note = place // ORDINALS
        return (
            self.text.get(place, 0.0),
            self.note.get(note, 0.0),
            self.best.get(note, 0.0),
        )


def said(
    by_word: Sequence[Mapping[int, float]], apart: Set[int] = frozenset()
) -> QueryTerms:
    """What the words say for each place where one stands, or beside which one stands.

    For each word: its BM25 score by place, the higher the better. Places that are `apart` speak for
    those beside them only.
    """
    text = _with_beside(by_word)
    for at in apart:
        text.pop(at, None)
    notes = [{at // ORDINALS for at in scores if at not in apart} for scores in by_word]
    all_notes = len(set().union(*notes)) + 1
    covered: dict[int, float] = {}
    for found in notes:
        rarity = max(math.log(all_notes / (len(found) + 0.5)), 0.05)
        for note in found:
            covered[note] = covered.get(note, 0.0) + rarity
    best: dict[int, float] = {}
    for at, score in text.items():
        note = at // ORDINALS
        if score > best.get(note, 0.0):
            best[note] = score
    highest = max(best.values(), default=0.0)
    return QueryTerms(
        _parts(text, highest),
        _parts(covered, max(covered.values(), default=0.0)),
        _parts(best, highest),
    )


def _with_beside(by_word: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """What the words count where they stand, and in the two chunks before and after.

    Sums are added up in the order of places: the last digit of a sum depends on the order of its parts.
    """
    own: dict[int, float] = {}
    for scores in by_word:
        for at, score in scores.items():
            own[at] = own.get(at, 0.0) + score
    text = dict(own)
    get = text.get
    for at in sorted(own):
        score = own[at]
        near, far = score * BESIDE, score * FAR
        text[at - 1] = get(at - 1, 0.0) + near
        text[at + 1] = get(at + 1, 0.0) + near
        text[at - 2] = get(at - 2, 0.0) + far
        text[at + 2] = get(at + 2, 0.0) + far
    for scores in by_word:
        _take_again(text, scores)
    return text


def _take_again(text: dict[int, float], scores: Mapping[int, float]) -> None:
    """Take back most of what a word counts beside it where it stands as well."""
    for at in sorted(scores):
        score = scores[at]
        for step, part in ((1, BESIDE - BESIDE * AGAIN), (2, FAR - FAR * AGAIN)):
            if at + step in scores:
                text[at] -= scores[at + step] * part
                text[at + step] -= score * part


def _parts(values: dict[int, float], whole: float) -> dict[int, float]:
    return {key: value / whole for key, value in values.items()} if whole else values


def fused(
    parts: Sequence[QueryTerms], places: Iterable[int], weights: Weights = WEIGHTS
) -> dict[int, TextTerms]:
    """Of several questions in one prompt, for each place the terms of the one it answers best."""
    if not parts:
        return {}
    if len(parts) == 1:
        terms = parts[0].terms
        return {place: terms(place) for place in places}
    return {
        place: max(
            (part.terms(place) for part in parts),
            key=lambda terms: weigh(terms, weights),
        )
        for place in places
    }


def weigh(terms: TextTerms, weights: Weights) -> float:
    return weights.text * terms[0] + weights.note * terms[1] + weights.best * terms[2]


def scaled(values: Sequence[float]) -> Callable[[float], float]:
    """Brings a cosine to the scale of the sum: the middle one becomes 0, the best 1, none is below `LOWEST`."""
    middle, highest = (_median(values), max(values)) if len(values) else (0.0, 0.0)
    span = span_of(middle, highest)
    return lambda value: max(LOWEST, (value - middle) / span)


def span_of(middle: float, highest: float) -> float:
    """What becomes 1 on the scale."""
    return max(highest - middle, LEAST_SPAN)


def _median(values: Sequence[float]) -> float:
    """The one in the middle. The standard library's costs 10 ms to import."""
    ordered, half = sorted(values), len(values) // 2
    return (
        ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    )


def length_term(letters: int) -> float:
    """A little for saying more: the logarithm of about how many words that is."""
    return math.log1p(letters / 5.5)


def means_beside(places: Sequence[int], values: Sequence[float]) -> list[float]:
    """For each place, the mean of its value and those of the places right beside it, which count half.

    `places` in rising order.
    """
    at_place = dict(zip(places, values, strict=True))
    means: list[float] = []
    for place, value in at_place.items():
        total, weight = value, 1.0
        for other in (place - 1, place + 1):
            if other in at_place:
                total += VECTOR_BESIDE * at_place[other]
                weight += VECTOR_BESIDE
        means.append(total / weight)
    return means
