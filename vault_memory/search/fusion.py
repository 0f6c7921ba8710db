"""From candidates to an order: the sum of `rules.search.scoring`, or one of the plainer modes."""

from collections.abc import Iterator

from vault_memory.rules.search import query_features, scoring
from vault_memory.search import candidates
from vault_memory.search.candidates import Candidates, Request

RESCORED = 60
"""So many of the best chunks are looked at for the cues that need their text"""
DIGITS = 9
_NONE: scoring.TextTerms = (0.0, 0.0, 0.0)


Ranked = tuple[float, int, dict[str, float]]
"""A candidate: its score below zero, so that tuples sort best first; its place; the terms that are known by then"""


def ranked(request: Request, found: Candidates, mode: str) -> list[Ranked]:
    """All candidates of the mode, best first; those with the same score by path and line."""
    if mode == "rrf":
        return candidates.in_order(request, _by_ranks(found))
    if mode == "semantic":
        alike = [
            (_turned(cosine), place, {"cosine": cosine})
            for place, cosine in found.cosines.items()
        ]
        return candidates.in_order(request, alike)
    return _by_sums(request, found)


def _turned(score: float) -> float:
    """Rounded, so that the order in which a sum was added up does not tell two scores apart."""
    return -round(score, DIGITS)


def _by_ranks(found: Candidates) -> list[Ranked]:
    terms: dict[int, dict[str, float]] = {}
    for arm in ("text", "vector", "entity"):
        for place, rank in candidates.ranks(found.arms.get(arm, {})).items():
            terms.setdefault(place, {})[arm] = 1 / (scoring.RRF + rank)
    return [
        (_turned(sum(parts.values())), place, parts) for place, parts in terms.items()
    ]


def _by_sums(request: Request, found: Candidates) -> list[Ranked]:
    best = candidates.in_order(request, list(_bases(request, found)))
    whole: list[Ranked] = []
    for turned, place in best[:RESCORED]:
        who, body = found.rows[place][3:5]
        more = query_features.of_text(body, request.asked, request.weights, who=who)
        whole.append(
            (_turned((sum(more.values()) if more else 0.0) - turned), place, more)
        )
    whole += [(_turned(-turned), place, {}) for turned, place in best[RESCORED:]]
    return candidates.in_order(request, whole)


def _bases(request: Request, found: Candidates) -> Iterator[tuple[float, int]]:
    """For each candidate the sum, turned round, as far as its text need not be looked at; and its place."""
    weights, asked = request.weights, request.asked
    speaks: dict[str, float] = {"": 0.0}
    weigh, length_term, length = scoring.weigh, scoring.length_term, weights.length
    terms, likeness, near = found.text, found.likeness, asked.days
    named = found.arms.get("entity", {})
    for place, _, date, who, text in found.rows.values():
        score = length * length_term(len(text))
        if place in terms:
            score += weigh(terms[place], weights)
        if place in likeness:
            own, beside = likeness[place]
            score += weights.vector * own + weights.vector_beside * beside
        if who not in speaks:
            speaks[who] = weights.speaker * query_features.names_speaker(
                who, asked.names
            )
        score += speaks[who]
        if near and query_features.is_near(date, near):
            score += weights.date
        if named and place in named:
            score += weights.entity
        yield -score, place


def explained(request: Request, found: Candidates, one: Ranked) -> dict[str, float]:
    """All terms of a hit's sum, by name."""
    _, place, known = one
    if "cosine" in known or not known.keys().isdisjoint(("text", "vector", "entity")):
        return known
    weights = request.weights
    _, _, date, who, text = found.rows[place]
    terms = found.text.get(place, _NONE)
    own, beside = found.likeness.get(place, (0.0, 0.0))
    sums = {
        "text": weights.text * terms[0],
        "note": weights.note * terms[1],
        "best": weights.best * terms[2],
        "vector": weights.vector * own,
        "beside": weights.vector_beside * beside,
        "speaker": weights.speaker
        * query_features.names_speaker(who, request.asked.names),
        "date": weights.date * query_features.is_near(date, request.asked.days),
        "entity": weights.entity * (place in found.arms.get("entity", {})),
        "length": weights.length * scoring.length_term(len(text)),
        **known,
    }
    return {name: term for name, term in sums.items() if term}
