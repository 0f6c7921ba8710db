"""Orders candidates: by the sum of `rules.search.scoring`, or by one of the plainer modes."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from vault_memory.index.exclusion import among_turns
from vault_memory.index.properties import link_queries
from vault_memory.index.query_cache import cached
from vault_memory.index.schema import has_links
from vault_memory.rules.search import query_features, scoring
from vault_memory.rules.search.scoring import WEIGHTS
from vault_memory.search.candidates import CandidateRequest, Candidates, in_order, ranks
from vault_memory.search.notes import note_lookup

RESCORED = 60
"""Of so many of the best chunks the text is read for cues"""
LINKING = 5
"""The links of so many of the best chunks raise other candidates"""
DIGITS = 9
DAYS = frozenset({"dated", "transcript"})
"""Kinds of notes of a day, where a link belongs to its own lines alone"""
RANKED_ARMS = ("text", "vector", "entity")
COMPLETE = ("cosine", "semantic", *RANKED_ARMS)
"""Terms of modes whose terms are the complete sum"""
_NO_TERMS: scoring.TextTerms = (0.0, 0.0, 0.0)


Ranked = tuple[float, int, dict[str, float]]
"""A candidate: its negative score, so that tuples sort best first; its place; terms so far"""


class _Link(NamedTuple):
    """A link of one of the best chunks."""

    source: int
    """the note with the link"""
    kind: str
    """the kind of this note"""
    value: str
    """the link as it is written"""


def ranked(request: CandidateRequest, candidates: Candidates, mode: str) -> list[Ranked]:
    """Returns all candidates of the mode, best first; equal scores by path and line."""
    if mode == "rrf":
        return in_order(request, _by_ranks(candidates))
    if mode == "semantic":
        return in_order(request, _by_cosines(candidates))
    return _by_sums(request, candidates)


def notes_first(
    request: CandidateRequest, candidates: Candidates, ordered: Sequence[Ranked]
) -> list[Ranked]:
    """Returns the candidates in notes before those in transcripts, by lowering the latter."""
    turns = among_turns(request.store, [candidates.rows[place][1] for _, place, _ in ordered])
    lowered = {place for _, place, _ in ordered if candidates.rows[place][1] in turns}
    return _with_term(request, ordered, "turn", WEIGHTS.turn, lowered)


def _with_term(
    request: CandidateRequest,
    ordered: Sequence[Ranked],
    name: str,
    weight: float,
    places: Collection[int],
) -> list[Ranked]:
    """Returns the candidates, of which those in `places` get a further term."""
    return in_order(
        request,
        [
            (_negative(weight - negative), place, terms | {name: weight})
            if place in places
            else (negative, place, terms)
            for negative, place, terms in ordered
        ],
    )


def _negative(score: float) -> float:
    """Rounds, so that the order of an addition does not make two equal scores differ."""
    return -round(score, DIGITS)


def _by_cosines(candidates: Candidates) -> list[Ranked]:
    return [
        (_negative(cosine), place, {"cosine": cosine})
        for place, cosine in candidates.cosines.items()
    ]


def _by_ranks(candidates: Candidates) -> list[Ranked]:
    terms: dict[int, dict[str, float]] = {}
    for arm in RANKED_ARMS:
        scores = candidates.arms.get(arm, {})
        for place, rank in ranks(scores).items():
            terms.setdefault(place, {})[arm] = 1 / (scoring.RRF + rank)
    fused: list[Ranked] = []
    for place, by_arm in terms.items():
        fused.append((_negative(sum(by_arm.values())), place, by_arm))
    return fused


def _by_sums(request: CandidateRequest, candidates: Candidates) -> list[Ranked]:
    best = in_order(request, list(_bases(request, candidates)))
    rescored: list[Ranked] = []
    for negative, place in best[:RESCORED]:
        who, body = candidates.rows[place][3:5]
        cues = query_features.of_text(body, request.features, WEIGHTS, who=who)
        rescored.append((_negative(sum(cues.values()) - negative), place, cues))
    # Reading the text of each of thousands of candidates would take longer than the search.
    rescored += [(_negative(-negative), place, {}) for negative, place in best[RESCORED:]]
    ordered = _with_linked(request, candidates, in_order(request, rescored))
    return _with_titled(request, candidates, ordered)


def _with_titled(
    request: CandidateRequest, candidates: Candidates, ordered: list[Ranked]
) -> list[Ranked]:
    """Raises the best chunk of each note that is named like the query, or of a day in it.

    A query that asks for all of a day raises each chunk of that day above all others.
    """
    days = request.features.single_days
    asks_for_day = bool(days) and query_features.asks_for_a_day(request.features)
    if not (candidates.titled or days):
        return ordered
    raised: list[Ranked] = []
    seen: set[int] = set()
    for negative, place, terms in ordered:
        note = place // scoring.ORDINALS
        bonus = {}
        is_of_day = candidates.rows[place][2] in days
        if note not in seen:
            if note in candidates.titled:
                bonus["title"] = WEIGHTS.title
            if is_of_day:
                bonus["day"] = WEIGHTS.day
        # Fault: "9 May 2026" has a word, the year, that a line of another day may say.
        if asks_for_day and is_of_day:
            bonus["day"] = WEIGHTS.asked_day
        seen.add(note)
        score = sum(bonus.values()) - negative
        raised.append((_negative(score), place, terms | bonus))
    return in_order(request, raised)


def _with_linked(
    request: CandidateRequest, candidates: Candidates, ordered: list[Ranked]
) -> list[Ranked]:
    """Raises the candidates in notes that the best chunks link to."""
    bonus = WEIGHTS.linked
    linked = _linked_notes(request, candidates, ordered) if bonus else frozenset()
    if not linked:
        return ordered
    raised = {place for _, place, _ in ordered if place // scoring.ORDINALS in linked}
    return _with_term(request, ordered, "linked", bonus, raised)


def _linked_notes(
    request: CandidateRequest, candidates: Candidates, ordered: Sequence[Ranked]
) -> frozenset[int]:
    """Returns the notes that the best chunks link to; reads nothing in a vault without links."""
    if not cached(request.store, has_links):
        return frozenset()
    texts: dict[int, str] = {}
    for _, place, _ in ordered[:LINKING]:
        note = place // scoring.ORDINALS
        texts[note] = texts.get(note, "") + candidates.rows[place][4]
    paths: dict[_Link, dict[str, int]] = {}
    for source, kind, value, linked, path in link_queries.link_targets(
        request.store, request.scope_ids, texts
    ):
        if kind not in DAYS or value in texts[source]:
            paths.setdefault(_Link(source, kind, value), {})[path] = linked
    targets: set[int] = set()
    for link, notes in paths.items():
        nearest = note_lookup.within(link.value, notes)
        target = min(nearest, key=note_lookup.depth_and_path, default=None)
        if target is not None and notes[target] != link.source:
            targets.add(notes[target])
    return frozenset(targets)


def _bases(request: CandidateRequest, candidates: Candidates) -> Iterator[tuple[float, int]]:
    """Yields for each candidate the negative sum of terms that need no text, and its place."""
    days = request.features.days
    # Local names: this loop runs for each of thousands of candidates.
    weigh = scoring.weigh
    length_term = scoring.length_term
    terms = candidates.text
    likeness = candidates.likeness
    entities = candidates.arms.get("entity", {})
    speaker_terms: dict[str, float] = {"": 0.0}
    faded = request.fading.states if request.fading else {}
    for place, id_, date, who, text in candidates.rows.values():
        score = WEIGHTS.length * length_term(len(text))
        if place in terms:
            score += weigh(terms[place], WEIGHTS)
        if place in likeness:
            own, beside = likeness[place]
            score += WEIGHTS.vector * own + WEIGHTS.vector_beside * beside
        if who not in speaker_terms:
            speaker_terms[who] = _speaker_term(request, who)
        score += speaker_terms[who]
        if days and query_features.is_near(date, days):
            score += WEIGHTS.date
        if place in entities:
            score += WEIGHTS.entity
        if id_ in faded:
            score += WEIGHTS.faded
        yield -score, place


def _speaker_term(request: CandidateRequest, who: str) -> float:
    names_speaker = query_features.names_speaker(who, request.features.names)
    return WEIGHTS.speaker * names_speaker


def explained(
    request: CandidateRequest, candidates: Candidates, candidate: Ranked
) -> dict[str, float]:
    """Returns all terms of a hit's sum that are not zero, by name."""
    _, place, cues = candidate
    if not cues.keys().isdisjoint(COMPLETE):
        return cues
    _, id_, date, who, text = candidates.rows[place]
    faded = request.fading is not None and id_ in request.fading.states
    terms = candidates.text.get(place, _NO_TERMS)
    own, beside = candidates.likeness.get(place, (0.0, 0.0))
    is_near = query_features.is_near(date, request.features.days)
    has_entity = place in candidates.arms.get("entity", {})
    sums = {
        "text": WEIGHTS.text * terms[0],
        "note": WEIGHTS.note * terms[1],
        "best": WEIGHTS.best * terms[2],
        "vector": WEIGHTS.vector * own,
        "beside": WEIGHTS.vector_beside * beside,
        "speaker": _speaker_term(request, who),
        "date": WEIGHTS.date * is_near,
        "entity": WEIGHTS.entity * has_entity,
        "faded": WEIGHTS.faded * faded,
        "length": WEIGHTS.length * scoring.length_term(len(text)),
        **cues,
    }
    return {name: term for name, term in sums.items() if term}
