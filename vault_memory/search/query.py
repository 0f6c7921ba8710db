"""The verb: a query in any words goes in, the lines of these scopes that answer it best come out."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from vault_memory.database.connection import Connection
from vault_memory.errors import UsageError
from vault_memory.index import fact_queries
from vault_memory.index.exclusion import exclusion, turns_of
from vault_memory.index.filters import Filters
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module
from vault_memory.rules.search import date_expressions, scoring, tokens
from vault_memory.rules.search import query_features as saying
from vault_memory.rules.search.scoring import Weights
from vault_memory.search import candidates, fusion, hits
from vault_memory.search.candidates import Candidates, Embed, Request
from vault_memory.search.fusion import Ranked
from vault_memory.search.pending_hits import PendingHits
from vault_memory.search.relevance_gate import RelevanceGate
from vault_memory.search.results import MODES, Answer

if TYPE_CHECKING:
    from vault_memory.index.vector_cache import Matrices
    from vault_memory.rules.conversations import turn
else:
    turn = lazy_module("vault_memory.rules.conversations.turn")

LONGEST_QUERY = 50_000
"""Letters; of a longer one the end is asked"""


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
    """The lines of these scopes that answer `query` best. Any string is a query; no scopes means no hits.

    `embed` and `model` (a fingerprint) let vectors take part; `matrices` keeps those of a scope in memory; `pending` is
    what waits to be written; `gated`: no hits when even the best has little to do with it; `session`: the open
    conversation, whose turns are passed over as if nobody had said them. Raises UsageError.
    """
    if mode not in MODES:
        raise UsageError(
            f"there is no mode `{mode}`",
            hint=f"the modes are {', '.join(MODES)}",
            known=list(MODES),
        )
    scope_ids, query = tuple(index.scope_ids(scopes)), query[-LONGEST_QUERY:]
    filters = Filters(
        topic,
        entity,
        since,
        until,
        frozenset(kinds),
        _aliases(index, scope_ids, entity),
    )
    filters.prepare(index.connection)
    waiting = PendingHits.of(pending, scopes, filters)
    weights, most = (
        scoring.WEIGHTS if cues else scoring.PROSE,
        max(candidates.MOST, limit),
    )
    request = _understood(
        query, now, index.connection, scope_ids, filters, weights, most, waiting
    )
    if not (request.scope_ids or request.waiting) or limit < 1:
        return Answer()
    index.connection.execute(
        "SAVEPOINT search"
    )  # one state of the index for all that is asked of it
    try:
        request = _without_turns(request, session)
        meaning = None if mode == "keyword" else embed
        found = candidates.gather(
            request,
            index,
            query,
            meaning,
            model,
            matrices,
            words_too=mode != "semantic",
        )
        ranked = _worth_telling(
            request, found, fusion.ranked(request, found, mode), gated=gated
        )
        return hits.answer(request, found, ranked, limit=limit, why=why)
    finally:
        index.connection.execute("RELEASE search")


def _understood(
    query: str,
    now: datetime,
    connection: Connection,
    scope_ids: tuple[int, ...],
    filters: Filters,
    weights: Weights,
    most: int,
    waiting: PendingHits | None,
) -> Request:
    """The query, read."""
    sentences = tuple(
        tuple(tokens.terms(sentence)) for sentence in tokens.sentences(query)
    )
    asked = saying.asked(query, date_expressions.named(query, now=now))
    return Request(
        connection, scope_ids, sentences, filters, asked, weights, most, waiting
    )


def _without_turns(request: Request, session: str) -> Request:
    """The search without the turns of this session."""
    if not session:
        return request
    asked = (request.connection, request.scope_ids)
    return request._replace(
        without=exclusion(*asked, turns_of(*asked, turn.heading_of(session)))
    )


def _worth_telling(
    request: Request, found: Candidates, ranked: list[Ranked], *, gated: bool
) -> list[Ranked]:
    return [] if gated and not RelevanceGate(request, found).is_open(ranked) else ranked


def _aliases(
    index: Index, scope_ids: Sequence[int], entity: str | None
) -> tuple[str, ...]:
    """The other names that an entity has in these scopes."""
    if entity is None:
        return ()
    pairs = fact_queries.aliases(index.connection, scope_ids)
    wanted = tokens.folded(entity)
    meant = {
        who
        for alias, who in pairs
        if wanted in (tokens.folded(alias), tokens.folded(who))
    }
    names = {name for pair in pairs if pair[1] in meant for name in pair}
    return tuple(sorted(name for name in names if tokens.folded(name) != wanted))
