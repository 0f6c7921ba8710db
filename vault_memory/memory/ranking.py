"""Which chunk answers a query best: one sum, whose terms are all of about the same size. Pure.

The words bring BM25 scores, the vectors cosines; here both are brought to one scale, what stands beside a chunk and in
the same note speaks for it, and small cues of the query are added. A chunk's place is one number: see `place`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

RRF = 60
"""The constant of reciprocal rank fusion"""


@dataclass(frozen=True, slots=True)
class Weights:
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
    question: float = -0.3
    length: float = 0.07


WEIGHTS = Weights()
PROSE = Weights(speaker=0.0, when=0.0, number=0.0, question=0.0)
"""Without the cues of conversations"""

BESIDE, FAR, AGAIN = 0.5, 0.25, 0.2
"""What a word counts that stands in the chunk next to this one, in the one after that; and the part of it that is left
when it stands in the chunk itself as well"""
VECTOR_BESIDE = 0.5
"""What the vector of the chunk before and of the one after count in the mean of all three"""
LOWEST = -0.5
"""The least that a vector says"""

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
"""What the words say for a chunk, each at most 1: its own words and those beside it; how many of the words its note
has, the rarer the more; the best chunk of its note"""


def text_terms(by_word: Sequence[Mapping[int, float]]) -> dict[int, TextTerms]:
    """What the words say for each place where one stands, or beside which one stands.

    For each word: its BM25 score by place, the higher the better.
    """
    text, covered = dict[int, float](), dict[int, float]()
    notes = [{at // ORDINALS for at in scores} for scores in by_word]
    all_notes = len(set().union(*notes)) + 1
    for scores, found in zip(by_word, notes, strict=True):
        _add(text, scores)
        rarity = max(math.log(all_notes / (len(found) + 0.5)), 0.05)
        for note in found:
            covered[note] = covered.get(note, 0.0) + rarity
    return _to_one_scale(text, covered)


def _add(text: dict[int, float], scores: Mapping[int, float]) -> None:
    """Add what a word counts where it stands, and in the two chunks before and after."""
    get, own = text.get, scores.keys()
    for at, score in scores.items():
        text[at] = get(at, 0.0) + score
        for other, part in ((at - 1, BESIDE), (at + 1, BESIDE), (at - 2, FAR), (at + 2, FAR)):
            text[other] = get(other, 0.0) + score * (part * AGAIN if other in own else part)


def _to_one_scale(text: dict[int, float], covered: dict[int, float]) -> dict[int, TextTerms]:
    highest = max(text.values(), default=0.0) or 1.0
    most = max(covered.values(), default=0.0) or 1.0
    best: dict[int, float] = {}
    for at in sorted(text, key=text.__getitem__):
        best[at // ORDINALS] = text[at] / highest
    note = {number: value / most for number, value in covered.items()}
    return {at: (score / highest, note[at // ORDINALS], best[at // ORDINALS]) for at, score in text.items()}


def fused(parts: Iterable[Mapping[int, TextTerms]], weights: Weights = WEIGHTS) -> dict[int, TextTerms]:
    """Of several questions in one prompt, for each place the terms of the one it answers best."""
    found: dict[int, TextTerms] = {}
    for part in parts:
        if not found:
            found = dict(part)
            continue
        for at, terms in part.items():
            if at not in found or weigh(terms, weights) > weigh(found[at], weights):
                found[at] = terms
    return found


def weigh(terms: TextTerms, weights: Weights) -> float:
    return weights.text * terms[0] + weights.note * terms[1] + weights.best * terms[2]


def scaled(values: Sequence[float]) -> Callable[[float], float]:
    """Brings a cosine to the scale of the sum: the middle one becomes 0, the best 1, none is below `LOWEST`."""
    middle, highest = (_median(values), max(values)) if len(values) else (0.0, 0.0)
    span = (highest - middle) or 1.0
    return lambda value: max(LOWEST, (value - middle) / span)


def _median(values: Sequence[float]) -> float:
    """The one in the middle. The standard library's costs 10 ms to import."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


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
