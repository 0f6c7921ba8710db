"""Searches the index: a query in any words in, the best lines of these scopes out."""

from collections.abc import Sequence
from dataclasses import replace

from vault_memory.errors import UsageError
from vault_memory.index import fts_search
from vault_memory.index.exclusion import episodes_before, exclusion, turns_of
from vault_memory.index.filters import Filters
from vault_memory.index.schema import has_stamps
from vault_memory.index.store import Index
from vault_memory.rules.conversations import turn
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.search import date_expressions, query_features, tokens
from vault_memory.search import (
    candidates,
    composite_ranking,
    fading_items,
    fusion,
    hits,
    unknown_filters,
    validity,
)
from vault_memory.search.calls import SearchQuery as SearchQuery
from vault_memory.search.candidates import CandidateRequest, Candidates, VectorArm
from vault_memory.search.fusion import Ranked
from vault_memory.search.pending_hits import PendingHits
from vault_memory.search.relevance_gate import SURE_SHARE, RelevanceGate
from vault_memory.search.results import MODES, Answer

COMPOSITE_MODES = frozenset({"recent", "important", "historical", "comprehensive", "general"})
"""Modes that rank the hits of `balanced` again"""
ARCHIVED_MODES = frozenset({"historical", "comprehensive"})
"""Modes that include archived items"""
LONGEST_QUERY = 50_000
"""Letters; of a longer query only the end is used"""


def search(
    index: Index,
    query: SearchQuery,
    *,
    vector_arm: VectorArm | None = None,
    pending: Index | None = None,
) -> Answer:
    """Returns the lines that answer the query best. `pending` indexes text that waits to be written.

    Raises UsageError for an unknown mode.
    """
    _check_mode(query.mode)
    if query.limit < 1:
        return Answer()
    request = _parsed(index, query, pending)
    if not (request.scope_ids or request.waiting):
        return Answer()
    # Another process may write: all statements of a search must read one state of the index.
    with index.reading():
        return _answer(request, query, vector_arm)


def _answer(request: CandidateRequest, query: SearchQuery, vector_arm: VectorArm | None) -> Answer:
    request = _without_episodes_and_turns(request, query)
    request = _without_faded(request, query)
    gathered = candidates.gather(
        request, vector_arm if query.mode != "keyword" else None, words_too=query.mode != "semantic"
    )
    ranked = _ranked(request, query, gathered)
    options = hits.HitOptions(query.limit, query.why, query.copies, query.archived, query.gated)
    answer = hits.answer(request, gathered, ranked, options)
    # Fault: the nearest of all lines would look like an answer to words that no line has, or only
    # the least of.
    if answer.hits and request.words and query.mode != "semantic":
        gate = RelevanceGate(request, gathered, SURE_SHARE)
        is_missing = not gathered.has_words
        # A query of days or of frequent words has no word by which to tell.
        is_known = is_missing or not gate.sentences or gate.related(ranked[: query.limit])
        answer = replace(answer, words_missing=is_missing, unsure=not is_known)
    # Fault: filters that exclude all text give an empty answer without a reason.
    is_explained = answer.hits or answer.left_out
    if request.filters and not (is_explained or query.gated):
        answer = replace(answer, left_out=hits.left_out(request))
    # Most searches have no filter with a name, and need not load what looks it up.
    has_unknown_kinds = request.filters.kinds and not (answer.hits or query.gated)
    if request.filters.has_names or has_unknown_kinds:
        unknown = unknown_filters.unknown_filters(
            request.store, request.scope_ids, request.filters, is_empty=not answer.hits
        )
        answer = replace(answer, unknown_filters=unknown)
    return answer


def _ranked(request: CandidateRequest, query: SearchQuery, gathered: Candidates) -> list[Ranked]:
    """Returns the candidates in the order of the mode, of a gated query the related ones."""
    ranked = fusion.ranked(request, gathered, query.mode)
    if query.gated:
        related = RelevanceGate(request, gathered).related(ranked)
        # Fault: what was said again and again would leave no room for the note that answers.
        ranked = fusion.notes_first(request, gathered, related)
    if query.mode in COMPOSITE_MODES:
        shares = composite_ranking.SHARES[query.mode]
        today = query.now.date()
        ranked = composite_ranking.reranked(request, gathered, ranked, shares, query.fades, today)
    return _by_validity(request, query, gathered, ranked)


def _by_validity(
    request: CandidateRequest, query: SearchQuery, gathered: Candidates, ranked: list[Ranked]
) -> list[Ranked]:
    """Returns the candidates with ended facts below those that hold."""
    checked = max(query.limit + hits.MOST_TIES, fusion.RESCORED)
    texts = (gathered.rows[place][-1] for _, place, _ in ranked[:checked])
    # A command that runs for a moment loads no graph for lines that are no facts.
    if not any(map(query_features.may_have_ended, texts)):
        return ranked
    single = facts_fact.SINGLE if query.single is None else query.single
    until = validity.Validity(query.now.date(), single)
    return validity.by_validity(request, gathered, ranked, until, checked)


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise UsageError(
            f"there is no mode `{mode}`",
            hint=f"the modes are {', '.join(MODES)}",
            known=list(MODES),
        )


def _parsed(index: Index, query: SearchQuery, pending: Index | None) -> CandidateRequest:
    """Returns the query with its words, days and scopes looked up."""
    text = query.text[-LONGEST_QUERY:]
    scope_ids = tuple(index.scope_ids(query.scopes))
    given = query._asdict()
    filters = Filters(**{name: given[name] for name in Filters._fields if name in given})
    filters = filters._replace(
        kinds=frozenset(query.kinds), also=_aliases(index, scope_ids, query.entity)
    )
    fts_search.prepare(index, filters)
    days = date_expressions.named(text, now=query.now)
    return CandidateRequest(
        store=index,
        text=text,
        scope_ids=scope_ids,
        sentences=[tuple(tokens.terms(sentence)) for sentence in tokens.sentences(text)],
        filters=filters,
        features=query_features.asked(text, days),
        most=max(candidates.MOST, query.limit),
        waiting=PendingHits.of(pending, query.scopes, filters),
    )


def _without_episodes_and_turns(request: CandidateRequest, query: SearchQuery) -> CandidateRequest:
    """Returns the request without old summaries and without the turns of the session."""
    index, scope_ids = request.store, request.scope_ids
    ids: set[int] = set()
    if query.session:
        ids |= turns_of(index, scope_ids, turn.heading_of(query.session))
    names_days = _names_days(request, query)
    if query.episodes_since and not (names_days or query.archived):
        ids |= episodes_before(index, scope_ids, query.episodes_since)
    if not ids:
        return request
    return request._replace(without=exclusion(index, scope_ids, ids))


def _names_days(request: CandidateRequest, query: SearchQuery) -> bool:
    return bool(query.since or query.until or request.features.days)


def _without_faded(request: CandidateRequest, query: SearchQuery) -> CandidateRequest:
    """Returns the request with the states of items, and without the faded ones."""
    # A command that runs for a moment need not load this module for a vault without stamps.
    if not query.fades or not has_stamps(request.store):
        return request
    leave_out = frozenset({"archived", "deleted"})
    if query.mode in ARCHIVED_MODES:
        leave_out = frozenset({"deleted"})
    if query.archived:
        leave_out = frozenset()
    items = fading_items.fading_items(
        request.store,
        request.scope_ids,
        query.now.date(),
        leave_out,
        # Fault: a summary of more than half a year has faded, and would not be found by its month.
        keep_episodes=_names_days(request, query),
    )
    without = fading_items.joined(request.without, items.without)
    return request._replace(without=without, fading=items)


def _aliases(index: Index, scope_ids: Sequence[int], entity: str | None) -> tuple[str, ...]:
    """Returns the other names of an entity in these scopes."""
    if entity is None:
        return ()
    folded_entity = tokens.folded(entity)
    other_names: set[str] = set()
    for names in candidates.names_of_entities(index, scope_ids):
        if folded_entity in map(tokens.folded, names):
            other_names.update(names)
    return tuple(sorted(name for name in other_names if tokens.folded(name) != folded_entity))
