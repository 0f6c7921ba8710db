"""The arms of a search: each finds candidates by words, vectors, days or names. Ranks nothing."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from vault_memory.index import fact_queries, fts_search, note_queries, vector_codes, vectors
from vault_memory.index.exclusion import Exclusion, among_turns, exclusion
from vault_memory.index.filters import Filters
from vault_memory.index.fts_search import Row
from vault_memory.index.query_cache import cached
from vault_memory.index.store import Index
from vault_memory.rules.conversations import statements
from vault_memory.rules.search import query_features, scoring, tokens
from vault_memory.rules.search.query_features import QueryFeatures
from vault_memory.rules.search.scoring import ORDINALS, WEIGHTS, QueryTerms, TextTerms
from vault_memory.search.pending_hits import BEYOND, Notes, PendingHits

if TYPE_CHECKING:
    from vault_memory.index.vectors import Likeness
    from vault_memory.search.fading_items import FadingItems

DIGITS = 6
"""Scores that are equal when rounded to so many digits share a rank"""
MOST_ROUNDS = 5
"""Searches by words, at most, until all turns that repeat the query are known"""
MOST = 100
"""Chunks that each arm contributes"""
NEAR_BEST, BESIDE = 100, 20
"""Of the NEAR_BEST chunks, at most BESIDE have no word of the query and only neighbours that do"""

Scored = TypeVar("Scored", bound=tuple[Any, ...])
"""A negative score, a place, and perhaps more"""
_SCORE, _SCORE_AND_PLACE = itemgetter(0), itemgetter(0, 1)


class VectorArm(NamedTuple):
    """What an embedder brings to a search: without it only words, days and names find chunks."""

    embed: Callable[[str], bytes]
    """returns a query as a vector: float32, little-endian, of unit length"""
    model: str
    """the fingerprint of the embedder"""


class CandidateRequest(NamedTuple):
    """A parsed search. A place is a chunk's note and its position there, as one number."""

    store: Index
    text: str
    """the query as it was asked"""
    scope_ids: Sequence[int]
    sentences: Sequence[Sequence[str]]
    """the words of each sentence of the query"""
    filters: Filters
    features: QueryFeatures
    most: int
    waiting: PendingHits | None = None
    without: Exclusion = fts_search.NO_CHUNKS
    """the turns of the open conversation, and items that have faded"""
    fading: "FadingItems | None" = None
    """the states of items; None when no item of the vault fades"""

    @property
    def compounds(self) -> dict[str, tuple[str, ...]]:
        """The divided words and numbers of the query in one piece, each with its components.

        Stop-words are no components: what only they find answers no sentence.
        """
        words = set(self.words)
        compounds = tokens.compounds_of(tokens.normalise(self.text))
        searched = {
            compound: tuple(filter(words.__contains__, components))
            for compound, components in compounds.items()
        }
        return {name: components for name, components in searched.items() if components}

    @property
    def words(self) -> list[str]:
        """The words of all sentences, each once, in their order."""
        return list(dict.fromkeys(chain.from_iterable(self.sentences)))


@dataclass(slots=True)
class Candidates:
    """The candidates of all arms, by place."""

    rows: dict[int, Row] = field(default_factory=dict)
    without: Exclusion = fts_search.NO_CHUNKS
    """ignored turns: those of the open conversation, and those that repeat the query"""
    asked_before: frozenset[int] = frozenset()
    """places of turns that repeat the query: no candidates, but evidence for their neighbours"""
    by_word: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """for each word, its BM25 scores by place"""
    text: Mapping[int, TextTerms] = field(default_factory=dict)
    likeness: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """scaled similarity of each chunk, and of its neighbours"""
    cosines: Mapping[int, float] = field(default_factory=dict)
    titled: frozenset[int] = frozenset()
    """notes that are named like the query"""
    ended: frozenset[int] = frozenset()
    """the ids of the best chunks that no longer hold"""
    arms: dict[str, dict[int, float]] = field(default_factory=dict)
    """the candidates of each arm with their scores there, the higher the better"""

    @property
    def has_words(self) -> bool:
        """Whether a candidate has a word, a day or a name of the query."""
        return any(self.by_word.values()) or not self.arms.keys() <= {"vector"}


def gather(
    request: CandidateRequest, vector_arm: VectorArm | None, *, words_too: bool
) -> Candidates:
    """Returns the candidates of the vectors, if they take part, and with `words_too` of all arms."""
    candidates = Candidates(without=request.without)
    sentence_terms: list[QueryTerms] = []
    if words_too:
        sentence_terms = _by_words(request, candidates)
        _by_days(request, candidates)
        _by_entities(request, candidates)
        _by_titles(request, candidates)
    if vector_arm is not None and request.text.strip():
        likeness = _likeness(request, vector_arm, candidates.rows)
        if likeness is not None:
            _by_vectors(request, candidates, likeness)
    candidates.text = scoring.fused(sentence_terms, candidates.rows, WEIGHTS)
    return candidates


def _likeness(
    request: CandidateRequest, vector_arm: VectorArm, rows: Mapping[int, Row]
) -> "Likeness | None":
    """Compares the query with the vectors of the scopes; None when the model has no vector yet.

    Among many chunks some are compared by bits only, but never those of `rows`.
    """
    model = vectors.find_model(request.store, vector_arm.model)
    # Fault: the model was changed, and no chunk has a vector of it yet. Vectors of the other one do
    # not fit.
    if model is None:
        return None
    vector = vector_arm.embed(request.text)
    return vector_codes.like(request.store, request.scope_ids, model, vector, rows)


def _by_words(request: CandidateRequest, candidates: Candidates) -> list[QueryTerms]:
    """Adds the chunks with words of the query, and the best of their neighbours.

    Returns the terms of each sentence.
    """
    compounds = request.compounds
    words = [*request.words, *compounds]
    matches = _without_repetitions(request, candidates, words)
    if request.waiting:
        notes = Notes(request.store, request.scope_ids)
        request.waiting.join(notes, words, request.filters, matches)
    rows = matches.rows
    if not rows:
        return []
    candidates.by_word = _with_components(matches.by_word, compounds)
    candidates.asked_before = frozenset(
        place for place, row in rows.items() if row[1] in candidates.without.ids
    )
    sentence_terms = _sentence_terms(request, candidates)
    scores = _best_scores(terms.text for terms in sentence_terms)
    scored = [(-score, place) for place, score in scores.items()]
    places = [place for _, place in in_order(request, scored, request.most)]
    neighbours = [place for place in places[:NEAR_BEST] if place not in rows]
    candidates.rows = _news(request, candidates, rows)
    candidates.rows |= _read(request, candidates, neighbours[:BESIDE])
    candidates.arms["text"] = {place: scores[place] for place in places if place in candidates.rows}
    return sentence_terms


def _with_components(
    by_word: Mapping[str, Mapping[int, float]], compounds: Mapping[str, Sequence[str]]
) -> Mapping[str, Mapping[int, float]]:
    """Returns the scores of the words, where a chunk with a compound has each of its components.

    Otherwise a chunk with some groups of another number would be better than the number itself.
    """
    scores = {word: row for word, row in by_word.items() if word not in compounds}
    for compound, components in compounds.items():
        of_compound = by_word.get(compound, {})
        for component in components if of_compound else ():
            own = scores.get(component, {})
            best = {place: max(score, own.get(place, 0.0)) for place, score in of_compound.items()}
            scores[component] = {**own, **best}
    return scores


def _sentence_terms(request: CandidateRequest, candidates: Candidates) -> list[QueryTerms]:
    """Returns the terms of each sentence that has a word of some chunk."""
    by_word = candidates.by_word
    sentence_terms = []
    for sentence in request.sentences:
        word_scores = [by_word[word] for word in sentence if word in by_word]
        if word_scores:
            sentence_terms.append(scoring.said(word_scores, candidates.asked_before))
    return sentence_terms


def _best_scores(sentences: Iterable[dict[int, float]]) -> dict[int, float]:
    """Returns for each place the highest of its scores in any sentence."""
    scores, *following = sentences
    for sentence in following:
        scores = {
            place: max(scores.get(place, 0.0), sentence.get(place, 0.0))
            for place in scores | sentence
        }
    return scores


def _without_repetitions(
    request: CandidateRequest, candidates: Candidates, words: Sequence[str]
) -> fts_search.Matches:
    """Looks for the words until all turns that repeat the query are known.

    Such a turn is left out of the statistics: it makes the words of the query look frequent. It
    stays among the matches, because its neighbours may answer. Updates `candidates.without`.
    """
    # Without repetitions among the best, chunks come up that may be further repetitions.
    # Fault: a transcript full of repeated questions would keep the search going.
    for _ in range(MOST_ROUNDS):
        without = candidates.without
        matches = fts_search.find(
            request.store,
            request.scope_ids,
            words,
            request.filters,
            most=request.most + len(without.repetitions),
            without=without,
        )
        new = _repetitions(request, matches.rows) - without.repetitions
        if not new:
            break
        repetitions = without.repetitions | new
        candidates.without = exclusion(
            request.store, request.scope_ids, without.ids | repetitions, repetitions
        )
    return matches


def _repetitions(request: CandidateRequest, rows: Mapping[int, Row]) -> set[int]:
    """Returns the ids of the turns that ask the same as the query, and so answer nothing."""
    names = request.features.names
    ids = [
        id_
        for _, id_, _, _, body in rows.values()
        # Fault: a turn that repeats the question would be its best match, and answers nothing.
        if body.startswith("**") and statements.repeats(body, names)
    ]
    return among_turns(request.store, ids) if ids else set()


def _news(
    request: CandidateRequest, candidates: Candidates, rows: dict[int, Row]
) -> dict[int, Row]:
    """Returns the rows that are not ignored."""
    ignored = candidates.without.ids | _repetitions(request, rows)
    return {place: row for place, row in rows.items() if row[1] not in ignored}


def _read(
    request: CandidateRequest, candidates: Candidates, places: Sequence[int]
) -> dict[int, Row]:
    """Reads the chunks at these places that pass the filters and are not ignored."""
    rows = fts_search.beside(request.store, request.scope_ids, places, request.filters)
    return _news(request, candidates, rows)


def _by_days(request: CandidateRequest, candidates: Candidates) -> None:
    """Adds the chunks of days that the query names."""
    if not request.features.days:
        return
    dated = fts_search.dated(
        request.store, request.scope_ids, request.features.days, request.filters, most=request.most
    )
    rows = _news(request, candidates, dated)
    candidates.rows.update(rows)
    candidates.arms["date"] = {place: -float(rank) for rank, place in enumerate(rows)}


def _by_entities(request: CandidateRequest, candidates: Candidates) -> None:
    """Adds the chunks that name an entity by another name than the query does."""
    scores: dict[int, float] = {}
    for name in _other_names(request):
        rows = fts_search.find(
            request.store,
            request.scope_ids,
            tokens.without_last_letters(tokens.words(name)),
            request.filters,
            most=request.most,
            without=candidates.without,
        ).rows
        with_name = {
            place: row for place, row in rows.items() if tokens.names(name, row[3], row[4])
        }
        with_name = _news(request, candidates, with_name)
        candidates.rows.update(with_name)
        scores.update(dict.fromkeys(with_name, 1.0))
    if scores:
        candidates.arms["entity"] = scores


def _by_titles(request: CandidateRequest, candidates: Candidates) -> None:
    """Adds the first chunks of notes that are named like the query."""
    names = query_features.names_in(request.text)
    if not names:
        return
    candidates.titled = note_queries.notes_with_names(
        request.store,
        request.scope_ids,
        names,
        # Most vaults have no other names of notes, and each statement costs a search time.
        with_aliases=cached(request.store, note_queries.has_other_names),
    )
    present = {place // ORDINALS for place in candidates.rows}
    missing = candidates.titled - present
    places = [scoring.place(note, ordinal) for note in missing for ordinal in (0, 1)]
    if places:
        candidates.rows |= _read(request, candidates, places)


def names_of_entities(index: Index, scope_ids: Sequence[int]) -> Collection[list[str]]:
    """Returns the names of every entity that has several in these scopes."""
    names_of: dict[str, list[str]] = {}
    for alias, entity in fact_queries.aliases(index, scope_ids):
        names_of.setdefault(entity, [entity]).append(alias)
    return names_of.values()


def _other_names(request: CandidateRequest) -> list[str]:
    """Returns the other names of every entity that the query names."""
    missing: list[str] = []
    for names in names_of_entities(request.store, request.scope_ids):
        in_query = [name for name in names if tokens.names(name, request.text)]
        if in_query:
            missing += [name for name in names if name not in in_query]
    return missing


def _by_vectors(request: CandidateRequest, candidates: Candidates, likeness: "Likeness") -> None:
    """Adds the chunks whose vectors, or whose neighbours' vectors, are like the query's."""
    passing: set[int] | None = None
    if request.filters:
        passing = fts_search.passing(request.store, request.scope_ids, request.filters)
    # Excluded chunks are dropped only after this; without the surplus they would use up the room.
    most = request.most + len(candidates.without.ids)
    places = likeness.best(most, passing, WEIGHTS)
    unread = [place for place in places if place not in candidates.rows]
    rows = {**candidates.rows, **_read(request, candidates, unread)}
    values = likeness.at(place for place in places if place in rows)
    scored = [
        (-(WEIGHTS.vector * own + WEIGHTS.vector_beside * beside), place)
        for place, (own, beside) in values.items()
    ]
    best = in_order(request, scored, request.most)
    candidates.rows.update((place, rows[place]) for _, place in best)
    candidates.likeness = likeness.at(candidates.rows)
    candidates.cosines = likeness.cosines(place for _, place in best if place in candidates.rows)
    candidates.arms["vector"] = {
        place: -score for score, place in best if place in candidates.cosines
    }


def in_order(
    request: CandidateRequest, scored: list[Scored], most: int | None = None
) -> list[Scored]:
    """Returns the `most` best by negative score, the best first; then by path and line."""
    # A place contains the id of its note, which depends on the order in which notes were read. So
    # it must not decide between equal scores.
    scored.sort(key=_SCORE_AND_PLACE)
    if most and len(scored) > most:
        scored = scored[: bisect_right(scored, scored[most - 1][0], key=_SCORE)]
    tied = {
        candidate[1] // ORDINALS
        for pair in pairwise(scored)
        if pair[0][0] == pair[1][0]
        for candidate in pair
    }
    if len(tied) > 1:
        paths = _paths(request, tied)

        def order(candidate: Scored) -> tuple[float, str, int, int]:
            note, ordinal = divmod(candidate[1], ORDINALS)
            return candidate[0], paths.get(note, ""), ordinal, note

        scored.sort(key=order)
    return scored[:most]


def _paths(request: CandidateRequest, notes: Collection[int]) -> dict[int, str]:
    """Returns the paths of these notes; text of some may still wait to be written."""
    written = [note for note in notes if note < BEYOND // ORDINALS]
    paths = fts_search.paths(request.store, written)
    if request.waiting and len(written) < len(notes):
        paths |= request.waiting.paths(notes)
    return paths


def ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Ranks places by score, 1 for the highest. Equal scores share a rank."""
    rank_of: dict[int, int] = {}
    rank = 0
    previous: float | None = None
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    for position, (place, score) in enumerate(ordered, start=1):
        # Fault: sums of the same numbers in another order differ in the last digits.
        rounded = round(score, DIGITS)
        if rounded != previous:
            rank = position
            previous = rounded
        rank_of[place] = rank
    return rank_of
