"""The verb: a query in any words goes in, the lines of these scopes that answer it best come out."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from vault_memory.errors import UsageError
from vault_memory.index import Index
from vault_memory.index.filters import Filters
from vault_memory.index.matrices import Matrices
from vault_memory.memory import cues as saying
from vault_memory.memory import dates, ranking, words
from vault_memory.recall import candidates, fusion, hits
from vault_memory.recall.answer import MODES, Answer
from vault_memory.recall.candidates import Embed, Request
from vault_memory.recall.waiting import Waiting

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
    matrices: Matrices | None = None,
    pending: Index | None = None,
) -> Answer:
    """The lines of these scopes that answer `query` best. Any string is a query; no scopes means no hits.

    `embed` and `model` (a fingerprint) let vectors take part; `matrices` keeps those of a scope in memory.
    `pending` is an index of what waits to be written.
    Raises UsageError for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"there is no mode `{mode}`", hint=f"the modes are {', '.join(MODES)}", known=list(MODES))
    filters = Filters(topic, entity, since, until, frozenset(kinds))
    query = query[-LONGEST_QUERY:]
    request = Request(
        connection=index.connection,
        scope_ids=tuple(index.scope_ids(scopes)),
        sentences=tuple(tuple(words.terms(sentence)) for sentence in words.sentences(query)),
        filters=filters,
        asked=saying.asked(query, dates.named(query, now=now)),
        weights=ranking.WEIGHTS if cues else ranking.PROSE,
        most=max(candidates.MOST, limit),
        waiting=Waiting.of(pending, scopes, filters),
    )
    if not (request.scope_ids or request.waiting) or limit < 1:
        return Answer()
    filters.prepare(index.connection)
    meaning = embed if mode != "keyword" else None
    index.connection.execute("SAVEPOINT search")  # one state of the index for all that is asked of it
    try:
        found = candidates.gather(request, index, query, meaning, model, matrices, words_too=mode != "semantic")
        return hits.answer(request, found, fusion.ranked(request, found, mode), limit=limit, why=why)
    finally:
        index.connection.execute("RELEASE search")
