"""Searches the index: a query in any words in, the best lines of these scopes out."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from vault_memory.errors import UsageError
from vault_memory.index import fact_queries
from vault_memory.index.exclusion import exclusion, turns_of
from vault_memory.index.filters import Filters
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module
from vault_memory.rules.search import date_expressions, query_features, scoring, tokens
from vault_memory.search import candidates, fusion, hits
from vault_memory.search.candidates import CandidateRequest, Embed
from vault_memory.search.pending_hits import PendingHits
from vault_memory.search.relevance_gate import RelevanceGate
from vault_memory.search.results import MODES, Answer

if TYPE_CHECKING:
    from vault_memory.index.vector_cache import Matrices
    from vault_memory.rules.conversations import turn
else:
    turn = lazy_module("vault_memory.rules.conversations.turn")

LONGEST_QUERY = 50_000
"""Letters; of a longer query only the end is used"""


def search(
    index: Index,
    query: str,
    *,
    scopes: Sequence[str],
    now: datetime,
    mode: str = "balanced",
    limit: int = 10,
    topic: str | None = None,
    entity: str | None = None,
    since: date | None = None,
    until: date | None = None,
    kinds: Collection[str] = (),
    embed: Embed | None = None,
    model: str = "",
    why: bool = False,
    cues: bool = True,
    matrices: "Matrices | None" = None,
    pending: Index | None = None,
    gated: bool = False,
    session: str = "",
) -> Answer:
    """Returns the lines of these scopes that answer `query` best. Any string is a query.

    Without scopes there are no hits. `embed` and `model` (a fingerprint) let vectors take part;
    `matrices` caches those of a scope in memory. `pending` indexes text that waits to be written.
    `gated`: no hits when even the best has little to do with the query. `session`: the open
    conversation, whose turns are ignored. Raises UsageError for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(
            f"there is no mode `{mode}`",
            hint=f"the modes are {', '.join(MODES)}",
            known=list(MODES),
        )
    query = query[-LONGEST_QUERY:]
    scope_ids = tuple(index.scope_ids(scopes))
    aliases = _aliases(index, scope_ids, entity)
    filters = Filters(topic, entity, since, until, frozenset(kinds), aliases)
    filters.prepare(index.connection)
    sentences = [tuple(tokens.terms(sentence)) for sentence in tokens.sentences(query)]
    request = CandidateRequest(
        connection=index.connection,
        scope_ids=scope_ids,
        sentences=tuple(sentences),
        filters=filters,
        features=query_features.asked(query, date_expressions.named(query, now=now)),
        weights=scoring.WEIGHTS if cues else scoring.PROSE,
        most=max(candidates.MOST, limit),
        waiting=PendingHits.of(pending, scopes, filters),
    )
    if not (request.scope_ids or request.waiting) or limit < 1:
        return Answer()
    # Another process may write: all statements of a search must read one state of the index.
    index.connection.execute("SAVEPOINT search")
    try:
        request = _without_session(request, session)
        gathered = candidates.gather(
            request,
            index,
            query,
            None if mode == "keyword" else embed,
            model,
            matrices,
            words_too=mode != "semantic",
        )
        ranked = fusion.ranked(request, gathered, mode)
        if gated and not RelevanceGate(request, gathered).is_open(ranked):
            ranked = []
        return hits.answer(request, gathered, ranked, limit=limit, why=why)
    finally:
        index.connection.execute("RELEASE search")


def _without_session(request: CandidateRequest, session: str) -> CandidateRequest:
    """Returns the request with the turns of this session excluded."""
    if not session:
        return request
    connection, scope_ids = request.connection, request.scope_ids
    turns = turns_of(connection, scope_ids, turn.heading_of(session))
    return request._replace(without=exclusion(connection, scope_ids, turns))


def _aliases(
    index: Index,
    scope_ids: Sequence[int],
    entity: str | None,
) -> tuple[str, ...]:
    """Returns the other names of an entity in these scopes."""
    if entity is None:
        return ()
    pairs = fact_queries.aliases(index.connection, scope_ids)
    folded_entity = tokens.folded(entity)
    entities = {
        name
        for alias, name in pairs
        if folded_entity in (tokens.folded(alias), tokens.folded(name))
    }
    names = {name for pair in pairs if pair[1] in entities for name in pair}
    return tuple(sorted(name for name in names if tokens.folded(name) != folded_entity))
