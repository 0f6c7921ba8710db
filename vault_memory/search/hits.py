"""From an order to hits: what a chunk is in its note, where its words are, and why it was found."""

import math
import re
from collections.abc import Sequence

from vault_memory.database.connection import Connection
from vault_memory.index import fts_search
from vault_memory.index.chunk_rows import SEPARATOR
from vault_memory.index.filters import Filters, chunks_in, marks
from vault_memory.rules.search import tokens
from vault_memory.search import fusion
from vault_memory.search.candidates import Candidates, Request, ranks
from vault_memory.search.fusion import Ranked
from vault_memory.search.pending_hits import is_waiting, own_ids
from vault_memory.search.results import Answer, Hit, Why

MOST_TIES = 100
"""Hits with the same score as the last one, of which the first by note and line are taken"""
SNIPPET = 240
"""Letters"""


def answer(
    request: Request,
    found: Candidates,
    ranked: Sequence[Ranked],
    *,
    limit: int,
    why: bool,
) -> Answer:
    """The best `limit` of `ranked` as hits, those with the same score by note and line, and what the arms brought."""
    asked = list(
        dict.fromkeys(word for sentence in request.sentences for word in sentence)
    )
    last = ranked[limit - 1][0] if len(ranked) > limit else math.inf
    best = [one for one in ranked[: limit + MOST_TIES] if one[0] <= last]
    details = _all_details(request, [found.rows[place][1] for _, place, _ in best])
    hits = []
    for one in best:
        row = details.get(found.rows[one[1]][1])
        if row is None:
            continue
        path, first, last, heading, date, scope, kind, body = row
        names = tuple(heading.split(SEPARATOR)) if heading else ()
        reason = _why(request, found, one) if why else None
        pending = is_waiting(found.rows[one[1]][1])
        hits.append(
            Hit(
                path,
                (first, last),
                names,
                date,
                scope,
                kind,
                body,
                -one[0],
                reason,
                pending,
            )
        )
    if request.waiting:
        hits = _once(hits)
    hits.sort(key=lambda hit: (-hit.score, hit.note, hit.lines))
    arms = {arm: len(scores) for arm, scores in found.arms.items()}
    return Answer(
        tuple(hits[:limit]), arms, left_out(request) if why else {}, tuple(asked)
    )


def _once(hits: list[Hit]) -> list[Hit]:
    """Without what waits and stands there by now all the same: it was written this moment, or by a person."""
    there = {(hit.note, hit.heading, hit.text) for hit in hits if not hit.pending}
    return [
        hit
        for hit in hits
        if not hit.pending or (hit.note, hit.heading, hit.text) not in there
    ]


def _all_details(request: Request, ids: list[int]) -> "dict[int, _Details]":
    found = _details(
        request.connection,
        request.scope_ids,
        [one for one in ids if not is_waiting(one)],
    )
    if request.waiting:
        waiting = _details(
            request.waiting.connection, request.waiting.scope_ids, own_ids(ids)
        )
        found |= {-one: details for one, details in waiting.items()}
    return found


_Details = tuple[str, int, int, str, str | None, str, str, str]


def _details(
    connection: Connection, scope_ids: Sequence[int], ids: list[int]
) -> dict[int, _Details]:
    """What is told of each of these chunks, when it is in the scopes."""
    rows = connection.execute(
        "SELECT c.id, note.path, c.first_line, c.last_line, c.heading, c.date, scope.name, note.kind, c.text"
        " FROM json_each(?) wanted CROSS JOIN chunk c ON c.id = wanted.value"
        f" JOIN note ON note.id = c.note JOIN scope ON scope.id = iif(c.scope IN {marks(scope_ids)}, c.scope, c.also)"
        f" WHERE {chunks_in(scope_ids)}",
        (f"[{','.join(map(str, ids))}]", *scope_ids),
    )
    return {row[0]: row[1:] for row in rows}


def _why(request: Request, found: Candidates, one: Ranked) -> Why:
    place = one[1]
    arms = {
        arm: ranks(scores)[place]
        for arm, scores in found.arms.items()
        if place in scores
    }
    return Why(fusion.explained(request, found, one), arms)


def left_out(request: Request) -> dict[str, int]:
    """By filter, how many chunks of the scopes it leaves out by itself."""
    given = request.filters
    alone = {
        "topic": Filters(topic=given.topic),
        "entity": Filters(entity=given.entity, also=given.also),
        "since": Filters(since=given.since),
        "until": Filters(until=given.until),
        "kind": Filters(kinds=given.kinds),
    }
    everything = fts_search.count(request.connection, request.scope_ids, Filters())
    return {
        name: everything
        - fts_search.count(request.connection, request.scope_ids, filters)
        for name, filters in alone.items()
        if filters
    }


def excerpt(body: str, terms: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The part of a hit's text where words of the query are, and their places in it: (start, end)."""
    patterns = [
        re.escape(word) if tokens.is_run(word) else rf"(?<!\w){re.escape(word)}\w*"
        for word in terms
    ]
    spans = (
        [found.span() for found in re.finditer("|".join(patterns), body, re.IGNORECASE)]
        if patterns
        else []
    )
    start = max(0, spans[0][0] - SNIPPET // 4) if spans and spans[0][1] > SNIPPET else 0
    if start:
        start = body.rfind(" ", 0, start) + 1 or start
    inside = tuple(
        (first - start, last - start)
        for first, last in spans
        if start <= first and last - start <= SNIPPET
    )
    return body[start : start + SNIPPET], inside
