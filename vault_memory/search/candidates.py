"""The arms of a search: each brings candidates, by words, by vectors, by days. Nothing is ranked here."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from vault_memory.database.connection import Connection
from vault_memory.index import fact_queries
from vault_memory.index import fts_search as text
from vault_memory.index.exclusion import Exclusion, among_turns, exclusion
from vault_memory.index.filters import Filters
from vault_memory.index.query_cache import Row
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module
from vault_memory.rules.conversations import statements
from vault_memory.rules.search import scoring, tokens
from vault_memory.rules.search.query_features import QueryFeatures
from vault_memory.rules.search.scoring import QueryTerms, TextTerms, Weights
from vault_memory.search.pending_hits import BEYOND, Notes, PendingHits

if TYPE_CHECKING:
    from vault_memory.index import vectors
    from vault_memory.index.vector_cache import Matrices
    from vault_memory.index.vectors import Likeness
else:
    vectors = lazy_module("vault_memory.index.vectors")

DIGITS = 6
"""Two scores that differ less than this are the same"""
MOST_ROUNDS = 5
"""So often a search begins again because turns repeat the query"""
MOST = 100
"""So many chunks each arm brings"""
NEAR_BEST, BESIDE = 100, 20
"""Of so many of the best, so many chunks are looked at that only stand beside words of the query"""

Scored = TypeVar("Scored", bound=tuple[Any, ...])
"""A score below zero, a place, and perhaps more"""
_SCORE_PLACE = itemgetter(0, 1)

Embed = Callable[[str], bytes]
"""A query as a vector: float32, little-endian, of unit length"""


class Request(NamedTuple):
    """A search, understood."""

    connection: Connection
    scope_ids: Sequence[int]
    sentences: Sequence[Sequence[str]]
    """the words of each sentence that is asked"""
    filters: Filters
    asked: QueryFeatures
    weights: Weights
    most: int
    waiting: PendingHits | None = None
    without: Exclusion = text.NO_CHUNKS
    """the turns of the open conversation"""


@dataclass(slots=True)
class Candidates:
    """What the arms brought, by place."""

    rows: dict[int, Row] = field(default_factory=dict)
    without: Exclusion = text.NO_CHUNKS
    """the turns that are passed over: of the open conversation, and those that repeat the query"""
    asked_before: frozenset[int] = frozenset()
    """the places of turns that repeat the query: no candidates, but they speak for those beside them"""
    by_word: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """for each word, its BM25 scores by place"""
    text: Mapping[int, TextTerms] = field(default_factory=dict)
    likeness: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    cosines: Mapping[int, float] = field(default_factory=dict)
    arms: dict[str, dict[int, float]] = field(default_factory=dict)
    """the candidates of each arm with their scores there, the higher the better"""


def gather(
    request: Request,
    index: Index,
    query: str,
    embed: Embed | None,
    model: str,
    matrices: "Matrices | None",
    *,
    words_too: bool,
) -> Candidates:
    """The candidates of all arms; without `embed` those of vectors are absent."""
    found = Candidates(without=request.without)
    said: list[QueryTerms] = []
    if words_too:
        said = _by_words(request, found)
        _by_days(request, found)
        _by_entities(request, found, query)
    if embed and query.strip():
        number = vectors.find_model(request.connection, model)
        if number is not None and matrices:
            _by_vectors(
                request,
                found,
                matrices.like(
                    index, request.scope_ids, number, embed(query), found.rows
                ),
            )
        elif number is not None:
            _by_vectors(
                request,
                found,
                vectors.like(
                    request.connection, request.scope_ids, number, embed(query)
                ),
            )
    found.text = scoring.fused(said, found.rows, request.weights)
    return found


def _by_words(request: Request, found: Candidates) -> list[QueryTerms]:
    """What each sentence says; `found` gets the chunks with its words, and the best of those beside them."""
    every = list(
        dict.fromkeys(word for sentence in request.sentences for word in sentence)
    )
    matches = _without_repetitions(request, found, every)
    if request.waiting:
        request.waiting.join(
            Notes(request.connection, request.scope_ids),
            every,
            request.filters,
            matches,
        )
    if not matches.found:
        return []
    by_word = found.by_word = matches.by_word
    parts = [
        [by_word[word] for word in sentence if word in by_word]
        for sentence in request.sentences
    ]
    found.asked_before = frozenset(
        place for place, row in matches.found.items() if row[1] in found.without.ids
    )
    said = [scoring.said(part, found.asked_before) for part in parts if part]
    scores = said[0].text
    for other in said[1:]:
        scores = {
            place: max(scores.get(place, 0.0), other.text.get(place, 0.0))
            for place in scores | other.text
        }
    best = in_order(request, [(-score, place) for place, score in scores.items()])
    places = [place for _, place in best[: request.most]]
    lonely = [place for place in places[:NEAR_BEST] if place not in matches.found][
        :BESIDE
    ]
    found.rows = _news(request, found, matches.found) | _read(request, found, lonely)
    found.arms["text"] = {
        place: scores[place] for place in places if place in found.rows
    }
    return said


def _without_repetitions(
    request: Request, found: Candidates, every: Sequence[str]
) -> text.Matches:
    """Look for the words, again and again until all turns that repeat the query are known.

    Such a turn is left out of the statistics: it makes the words of the query look frequent. It
    stays among the matches, for what stands beside it. `found` gets what is left out.
    """
    for _ in range(MOST_ROUNDS):
        matches = text.find(
            request.connection,
            request.scope_ids,
            every,
            request.filters,
            most=request.most + len(found.without.repetitions),
            without=found.without,
        )
        new = _repetitions(request, matches.found) - found.without.repetitions
        if not new:
            break
        repetitions = found.without.repetitions | new
        ids = found.without.ids | repetitions
        found.without = exclusion(
            request.connection, request.scope_ids, ids, repetitions
        )
    return matches


def _repetitions(request: Request, rows: Mapping[int, Row]) -> set[int]:
    """Return the ids of the turns that ask the same as the query, and so answer nothing."""
    ids = [
        id_
        for _, id_, _, _, body in rows.values()
        if body.startswith("**") and statements.repeats(body, request.asked.names)
    ]
    return among_turns(request.connection, ids) if ids else set()


def _news(request: Request, found: Candidates, rows: dict[int, Row]) -> dict[int, Row]:
    """Return the rows that are not passed over."""
    dropped = found.without.ids | _repetitions(request, rows)
    if not dropped:
        return rows
    return {place: row for place, row in rows.items() if row[1] not in dropped}


def _read(request: Request, found: Candidates, places: Sequence[int]) -> dict[int, Row]:
    """Read the chunks at these places, as far as filters let them through and they are news."""
    rows = text.beside(request.connection, request.scope_ids, places, request.filters)
    return _news(request, found, rows)


def _by_days(request: Request, found: Candidates) -> None:
    if not request.asked.days:
        return
    dated = text.dated(
        request.connection,
        request.scope_ids,
        request.asked.days,
        request.filters,
        most=request.most,
    )
    dated = _news(request, found, dated)
    found.rows.update(dated)
    found.arms["date"] = {place: -float(at) for at, place in enumerate(dated)}


def _by_entities(request: Request, found: Candidates, query: str) -> None:
    """Chunks that name somebody by another name than the query does."""
    places: dict[int, float] = {}
    for name in other_names(request, query):
        asked = tokens.without_last_letters(tokens.words(name))
        rows = text.find(
            request.connection,
            request.scope_ids,
            asked,
            request.filters,
            most=request.most,
            without=found.without,
        ).found
        named = {
            place: row
            for place, row in rows.items()
            if tokens.names(name, row[3], row[4])
        }
        named = _news(request, found, named)
        found.rows.update(named)
        places.update(dict.fromkeys(named, 1.0))
    if places:
        found.arms["entity"] = places


def other_names(request: Request, query: str) -> list[str]:
    """Of everybody whom the query names, the names that it does not."""
    known: dict[str, list[str]] = {}
    for alias, entity in fact_queries.aliases(request.connection, request.scope_ids):
        known.setdefault(entity, [entity]).append(alias)
    others: list[str] = []
    for names in known.values():
        said = [name for name in names if tokens.names(name, query)]
        others += [name for name in names if name not in said] if said else []
    return others


def _by_vectors(request: Request, found: Candidates, likeness: "Likeness") -> None:
    among = (
        text.passing(request.connection, request.scope_ids, request.filters)
        if request.filters
        else None
    )
    places = likeness.best(
        request.most + len(found.without.ids), among, request.weights
    )
    unread = [place for place in places if place not in found.rows]
    read = {**found.rows, **_read(request, found, unread)}
    weights, values = (
        request.weights,
        likeness.at(place for place in places if place in read),
    )
    best = in_order(
        request,
        [
            (-(weights.vector * own + weights.vector_beside * beside), place)
            for place, (own, beside) in values.items()
        ],
    )[: request.most]
    found.rows.update((place, read[place]) for _, place in best)
    found.likeness = likeness.at(found.rows)
    found.cosines = likeness.cosines(place for _, place in best if place in found.rows)
    found.arms["vector"] = {
        place: -turned for turned, place in best if place in found.cosines
    }


def in_order(request: Request, scored: list[Scored]) -> list[Scored]:
    """Sorted by what comes first, a score below zero, so that the best is first; then by path and line.

    A place has the id of its note in it, which depends on the order in which notes were read.
    """
    scored.sort(key=_SCORE_PLACE)
    tied: set[int] = set()
    for before, after in pairwise(scored):
        if before[0] == after[0]:
            tied.update((before[1] // scoring.ORDINALS, after[1] // scoring.ORDINALS))
    if len(tied) > 1:
        paths = _paths(request, tied)

        def order(one: Scored) -> tuple[float, str, int, int]:
            note, ordinal = divmod(one[1], scoring.ORDINALS)
            return one[0], paths.get(note, ""), ordinal, note

        scored.sort(key=order)
    return scored


def _paths(request: Request, notes: Collection[int]) -> dict[int, str]:
    """The paths of these notes, some of which may wait to be written."""
    written = [note for note in notes if note < BEYOND // scoring.ORDINALS]
    paths = text.paths(request.connection, request.scope_ids, written)
    if request.waiting and len(written) < len(notes):
        paths |= request.waiting.paths(notes)
    return paths


def ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """The rank of each place by its score, 1 for the highest; those as good as one another share one."""
    ranked: dict[int, int] = {}
    rank, before = 0, None
    for at, (place, score) in enumerate(
        sorted(scores.items(), key=lambda one: -one[1]), start=1
    ):
        if (rounded := round(score, DIGITS)) != before:
            rank, before = at, rounded
        ranked[place] = rank
    return ranked
