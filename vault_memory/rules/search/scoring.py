"""Scores chunks for a query: a sum whose terms all have about the same size. Pure.

BM25 scores of words and cosines of vectors are brought to one scale. Neighbours of a chunk and its
note add to its score, and so do small features of the query. The place of a chunk is a number, see
`place`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

RRF = 60
"""The constant of reciprocal rank fusion"""


class Weights(NamedTuple):
    """The weights of the terms. Halving any of them changes little, so they are round numbers."""

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
    faded: float = -0.1
    ended: float = -0.3
    linked: float = 0.1
    title: float = 2.5
    """of the best chunk of a note that is named like the query"""
    day: float = 1.0
    """of the best chunk in a note of the day that the query names"""
    asked_day: float = 4.0
    """of each chunk of a day, in a query that names the day alone"""
    turn: float = -100.0
    """of a turn for a prompt, which gets turns after all notes"""


WEIGHTS = Weights()

BESIDE, FAR, AGAIN = 0.5, 0.25, 0.2
"""The weight of a word in the next chunk and in the one after that, and the share of it that is left
when the chunk has the word itself"""
VECTOR_BESIDE = 0.5
"""The weight of the neighbours' vectors in the mean of three"""
LOWEST = -0.5
"""The lowest score of a vector"""
LEAST_RARITY = 0.05
"""The rarity of a word that every note has"""
LEAST_SPAN = 0.05
"""The least span between the median and the best; a smaller lead does not score 1"""

ORDINALS = 1 << 24
"""More than the number of chunks in a note"""
BEFORE_FIRST = 2
"""Leaves room for the two places before the first chunk of a note"""


def place(note: int, ordinal: int) -> int:
    """Returns the place of a chunk: a number for its note and ordinal; the next chunk has the next."""
    return note * ORDINALS + ordinal + BEFORE_FIRST


def split(place: int) -> tuple[int, int]:
    """Returns the note and the ordinal of a place."""
    note, ordinal = divmod(place, ORDINALS)
    return note, ordinal - BEFORE_FIRST


TextTerms = tuple[float, float, float]
"""The scores of a chunk by words, each at most 1: the three fields of `QueryTerms`"""


class QueryTerms(NamedTuple):
    """The scores by the words of a question, scaled to at most 1."""

    text: dict[int, float]
    """by place: the words of the chunk and of its neighbours"""
    note: dict[int, float]
    """by note: the words that it has, weighted by rarity"""
    best: dict[int, float]
    """by note: the score of its best chunk"""

    def terms(self, place: int) -> TextTerms:
        """Returns the three scores of a place."""
        note = place // ORDINALS
        return (self.text.get(place, 0.0), self.note.get(note, 0.0), self.best.get(note, 0.0))


def said(by_word: Sequence[Mapping[int, float]], apart: Set[int] = frozenset()) -> QueryTerms:
    """Returns the scores by words for each place with a word in it or beside it.

    `by_word` has for each word its BM25 score by place, the higher the better. Places that are
    `apart` count for their neighbours only.
    """
    text = _with_neighbours(by_word)
    for place in apart:
        text.pop(place, None)
    best: dict[int, float] = {}
    for place, score in text.items():
        note = place // ORDINALS
        if score > best.get(note, 0.0):
            best[note] = score
    highest = max(best.values(), default=0.0)
    covered = _covered_words(by_word, apart)
    most_covered = max(covered.values(), default=0.0)
    return QueryTerms(
        text=_divided(text, highest),
        note=_divided(covered, most_covered),
        best=_divided(best, highest),
    )


def _covered_words(by_word: Sequence[Mapping[int, float]], apart: Set[int]) -> dict[int, float]:
    """Returns for each note the sum of the rarities of its words."""
    notes_by_word = [
        {place // ORDINALS for place in scores if place not in apart} for scores in by_word
    ]
    all_notes = set[int]().union(*notes_by_word)
    covered: dict[int, float] = {}
    for notes in notes_by_word:
        share = (len(all_notes) + 1) / (len(notes) + 0.5)
        rarity = max(math.log(share), LEAST_RARITY)
        for note in notes:
            covered[note] = covered.get(note, 0.0) + rarity
    return covered


def _with_neighbours(by_word: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Returns the scores of words in their places, and in the two places before and after."""
    own: dict[int, float] = {}
    for scores in by_word:
        for place, score in scores.items():
            own[place] = own.get(place, 0.0) + score
    text = dict(own)
    get = text.get
    # In the order of places: the last digit of a sum depends on the order of its terms.
    for place in sorted(own):
        near = own[place] * BESIDE
        distant = own[place] * FAR
        text[place - 1] = get(place - 1, 0.0) + near
        text[place + 1] = get(place + 1, 0.0) + near
        text[place - 2] = get(place - 2, 0.0) + distant
        text[place + 2] = get(place + 2, 0.0) + distant
    for scores in by_word:
        _subtract_repetitions(text, scores)
    return text


def _subtract_repetitions(text: dict[int, float], scores: Mapping[int, float]) -> None:
    """Subtracts most of a neighbour's score for a word that the chunk has itself."""
    steps = ((1, BESIDE - BESIDE * AGAIN), (2, FAR - FAR * AGAIN))
    for place in sorted(scores):
        score = scores[place]
        for step, share in steps:
            neighbour = place + step
            if neighbour in scores:
                text[place] -= scores[neighbour] * share
                text[neighbour] -= score * share


def _divided(values: dict[int, float], divisor: float) -> dict[int, float]:
    if not divisor:
        return values
    return {key: value / divisor for key, value in values.items()}


def fused(
    questions: Sequence[QueryTerms], places: Iterable[int], weights: Weights = WEIGHTS
) -> dict[int, TextTerms]:
    """Returns for each place its scores for the question that it answers best."""
    if not questions:
        return {}
    if len(questions) == 1:
        terms_of = questions[0].terms
        return {place: terms_of(place) for place in places}

    def weight(terms: TextTerms) -> float:
        return weigh(terms, weights)

    return {
        place: max((question.terms(place) for question in questions), key=weight)
        for place in places
    }


def weigh(terms: TextTerms, weights: Weights) -> float:
    """Returns the weighted sum of the scores by words."""
    return weights.text * terms[0] + weights.note * terms[1] + weights.best * terms[2]


def scaled(values: Sequence[float]) -> Callable[[float], float]:
    """Returns the scale of cosines: the median becomes 0, the best 1, and none is below `LOWEST`."""
    middle = _median(values) if len(values) else 0.0
    highest = max(values) if len(values) else 0.0
    span = span_of(middle, highest)
    return lambda value: max(LOWEST, (value - middle) / span)


def span_of(middle: float, highest: float) -> float:
    """Returns the difference of cosines that becomes 1 on the scale."""
    return max(highest - middle, LEAST_SPAN)


def _median(values: Sequence[float]) -> float:
    """Returns the median; importing `statistics` would take 10 ms."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def length_term(letters: int) -> float:
    """Returns a small bonus for long chunks: the logarithm of about the number of words."""
    return math.log1p(letters / 5.5)


def means_beside(places: Sequence[int], values: Sequence[float]) -> list[float]:
    """Returns for each place the mean of its value and its neighbours', which count half.

    `places` are in ascending order.
    """
    at_place = dict(zip(places, values, strict=True))
    means: list[float] = []
    for place, value in at_place.items():
        total = value
        weight = 1.0
        for neighbour in (place - 1, place + 1):
            if neighbour in at_place:
                total += VECTOR_BESIDE * at_place[neighbour]
                weight += VECTOR_BESIDE
        means.append(total / weight)
    return means
