"""From candidates to an order: the sum of `memory.ranking`, or one of the plainer modes."""

from typing import NamedTuple

from vault_memory.database import Connection
from vault_memory.memory import cues, ranking
from vault_memory.recall.candidates import Candidates, Request

RESCORED = 60
"""So many of the best chunks are looked at for the cues that need their text"""
DIGITS = 9
_NONE: ranking.TextTerms = (0.0, 0.0, 0.0)


class Ranked(NamedTuple):
    """A candidate with its score and the terms that make it."""

    score: float
    place: int
    terms: dict[str, float]


def ranked(request: Request, found: Candidates, mode: str) -> list[Ranked]:
    """All candidates of the mode, best first; those with the same score by note and place in it."""
    if mode == "rrf":
        return _by_ranks(found)
    if mode == "semantic":
        places = found.cosines
        return _in_order(
            [Ranked(_rounded(found.cosines[place]), place, {"cosine": found.cosines[place]}) for place in places]
        )
    return _by_sums(request, found)


def _in_order(found: list[Ranked]) -> list[Ranked]:
    return sorted(found, key=lambda one: (-one.score, one.place))


def _rounded(score: float) -> float:
    """So that the order in which a sum was added up does not tell two scores apart."""
    return round(score, DIGITS)


def _by_ranks(found: Candidates) -> list[Ranked]:
    terms: dict[int, dict[str, float]] = {}
    for arm in ("text", "vector"):
        for place, rank in found.arms.get(arm, {}).items():
            terms.setdefault(place, {})[arm] = 1 / (ranking.RRF + rank)
    return _in_order([Ranked(_rounded(sum(parts.values())), place, parts) for place, parts in terms.items()])


def _by_sums(request: Request, found: Candidates) -> list[Ranked]:
    bases = _bases(request, found)
    best = sorted(bases, key=lambda base: (-base[0], base[1]))
    texts = _texts(request.connection, [found.rows[place].id for _, place in best[:RESCORED]])
    whole = [Ranked(_rounded(score), place, {}) for score, place in best[RESCORED:]]
    for score, place in best[:RESCORED]:
        more = cues.of_text(texts[found.rows[place].id], request.asked, request.weights)
        whole.append(Ranked(_rounded(score + sum(more.values())), place, more))
    return _in_order(whole)


def _bases(request: Request, found: Candidates) -> list[tuple[float, int]]:
    """The sum for each candidate as far as its text need not be looked at."""
    weights, asked = request.weights, request.asked
    speaks: dict[str, float] = {}
    bases = []
    for place, row in found.rows.items():
        terms = found.text.get(place)
        score = ranking.weigh(terms, weights) if terms else 0.0
        like = found.likeness.get(place)
        if like:
            score += weights.vector * like[0] + weights.vector_beside * like[1]
        who = row.who
        if who:
            if who not in speaks:
                speaks[who] = weights.speaker * cues.names_speaker(who, asked.names)
            score += speaks[who]
        if asked.days and cues.is_near(row.date, asked.days):
            score += weights.date
        bases.append((score + weights.length * ranking.length_term(row.length), place))
    return bases


def explained(request: Request, found: Candidates, one: Ranked) -> dict[str, float]:
    """All terms of a hit's sum, by name."""
    if "cosine" in one.terms or not one.terms.keys().isdisjoint(("text", "vector")):
        return one.terms
    weights, row = request.weights, found.rows[one.place]
    terms = found.text.get(one.place, _NONE)
    own, beside = found.likeness.get(one.place, (0.0, 0.0))
    sums = {
        "text": weights.text * terms[0],
        "note": weights.note * terms[1],
        "best": weights.best * terms[2],
        "vector": weights.vector * own,
        "beside": weights.vector_beside * beside,
        "speaker": weights.speaker * cues.names_speaker(row.who, request.asked.names),
        "date": weights.date * cues.is_near(row.date, request.asked.days),
        "length": weights.length * ranking.length_term(row.length),
        **one.terms,
    }
    return {name: term for name, term in sums.items() if term}


def _texts(connection: Connection, ids: list[int]) -> dict[int, str]:
    return dict(
        connection.execute(
            "SELECT c.id, c.text FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value",
            (f"[{','.join(map(str, ids))}]",),
        )
    )
