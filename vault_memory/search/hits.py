"""Turns ranked candidates into hits: where a chunk is, its text, and why it matches."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from vault_memory.contract import ItemState
from vault_memory.index import fts_search, note_queries
from vault_memory.index.chunk_rows import SEPARATOR
from vault_memory.index.filters import Filters
from vault_memory.index.note_queries import ChunkDetails
from vault_memory.index.stamps import fading_queries
from vault_memory.rules.context import rule_archive
from vault_memory.rules.search.copies import (
    BEGINNING,
    CopyKey,
    copy_key,
    fingerprint,
    may_begin_with,
)
from vault_memory.rules.search.scoring import ORDINALS
from vault_memory.search import fusion
from vault_memory.search.candidates import CandidateRequest, Candidates, ranks
from vault_memory.search.fusion import Ranked
from vault_memory.search.notes import references
from vault_memory.search.pending_hits import is_waiting, own_ids
from vault_memory.search.relevance_gate import RelevanceGate
from vault_memory.search.results import Answer, Copy, Hit, Why

MOST_OF_A_NOTE = 2
"""Lines of a note before a line of another one"""
SEPARATE_LINES = frozenset({"dated", "episode", "facts", "transcript"})
"""Kinds of notes whose lines say nothing about each other"""
MOST_OTHERS = 20
"""Further lines among which those of other notes are"""
MOST_TIES = 100
"""Hits with the score of the last one; the first of them by note and line are returned"""


class HitOptions(NamedTuple):
    """How many hits an answer has, and what they contain."""

    limit: int
    why: bool = False
    """explain why each hit matches, and count what the filters left out"""
    copies: bool = False
    """list chunks that say the same one by one"""
    states: bool = False
    """name the states of items"""
    related: bool = False
    """each candidate is known to be related to the query"""


def answer(
    request: CandidateRequest, candidates: Candidates, ranked: Sequence[Ranked], options: HitOptions
) -> Answer:
    """Returns the best of `ranked` as hits; equal scores by note and line."""
    limit = options.limit
    groups = [[candidate] for candidate in ranked]
    if not options.copies:
        groups = alike(candidates, ranked, limit + MOST_OTHERS)
    hits = _hits(request, candidates, _best(request, groups, limit), options)
    if request.waiting:
        hits = _without_written(hits)
    hits.sort(key=_score_and_place)
    hits = _without_repeats(hits)
    if not options.copies:
        days = request.features.single_days
        hits = sorted(one_for_copies(hits, days), key=_score_and_place)
    return Answer(
        tuple(_resolved(request, _spread(hits)[:limit])),
        {arm: len(scores) for arm, scores in candidates.arms.items()},
        _left_out(request, why=options.why),
        tuple(request.words),
    )


def _resolved(request: CandidateRequest, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Returns the hits with what they refer to."""
    # Few notes have references, and a command that runs for a moment loads no code for them.
    if not any("((" in hit.text or "[[" in hit.text for hit in hits):
        return hits
    without = request.without.ids
    known = references.References(request.store, request.scope_ids, without)
    return [known.resolved(hit) for hit in hits]


def _best(
    request: CandidateRequest, groups: Sequence[Sequence[Ranked]], limit: int
) -> list[Ranked]:
    """Returns the candidates of the first groups, and of those that are as good as the last of them."""
    most = limit
    # Lines of other notes among further groups may go before the third line of a note.
    if request.waiting or _repeats_note(groups[:limit]):
        most += MOST_OTHERS
    last_score = groups[most - 1][0][0] if len(groups) > most else math.inf
    # Candidates as good as the last one: their place decides, which is not read yet.
    return [
        candidate
        for group in groups[: most + MOST_TIES]
        if group[0][0] <= last_score
        for candidate in group
    ]


def _repeats_note(groups: Sequence[Sequence[Ranked]]) -> bool:
    """Returns whether a note has more than its lines among these."""
    notes = Counter(group[0][1] // ORDINALS for group in groups)
    return any(count > MOST_OF_A_NOTE for count in notes.values())


def _spread(hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits in an order where another note follows after two lines of one."""
    left = list(hits)
    spread: list[Hit] = []
    while left:
        latest = {_note_of(hit) for hit in spread[-MOST_OF_A_NOTE:]}
        position = 0
        if len(spread) >= MOST_OF_A_NOTE and len(latest) == 1:
            numbered = enumerate(left)
            other_notes = (number for number, hit in numbered if _note_of(hit) not in latest)
            position = next(other_notes, 0)
        spread.append(left.pop(position))
    return spread


def _note_of(hit: Hit) -> object:
    # Each line about a day, and of a page of facts, is a statement of its own.
    return (hit.note, hit.lines) if hit.kind in SEPARATE_LINES else hit.note


def _score_and_place(hit: Hit) -> tuple[float, str, tuple[int, int]]:
    return -hit.score, hit.note, hit.lines


def _hits(
    request: CandidateRequest, candidates: Candidates, best: Sequence[Ranked], options: HitOptions
) -> list[Hit]:
    """Reads the chunks of these candidates. Skips one that is in none of the scopes."""
    ids = {place: candidates.rows[place][1] for _, place, _ in best}
    details = _all_details(request, list(ids.values()))
    bodies = _bodies(request, details)
    keys: dict[int, str] = {}
    if request.fading is not None:
        keys = fading_queries.keys_of(request.store, ids.values())
        if keys and not options.related:
            keys = _found_keys(request, candidates, ids, keys)
    hits = []
    for candidate in best:
        score, place, _ = candidate
        chunk_id = ids[place]
        # Fault: the chunk left the scopes after it was found, or is in none of them.
        if chunk_id in details:
            hit = _hit(
                bodies.get(chunk_id, details[chunk_id]),
                -score,
                _why(request, candidates, candidate) if options.why else None,
                pending=is_waiting(chunk_id),
                key=keys.get(chunk_id, ""),
                state=_state(request, chunk_id) if options.states else None,
            )
            has_ended = chunk_id in candidates.ended
            hits.append(replace(hit, ended=True) if has_ended else hit)
    return hits


def _found_keys(
    request: CandidateRequest,
    candidates: Candidates,
    ids: Mapping[int, int],
    keys: Mapping[int, str],
) -> dict[int, str]:
    """Returns the keys of the items that the query means, by the id of the chunk."""
    # Fault: a neighbour of what was asked for, or a line with one frequent word of the query, would
    # count as read, and would never fade.
    gate = RelevanceGate(request, candidates)
    return {
        chunk_id: keys[chunk_id]
        for place, chunk_id in ids.items()
        if chunk_id in keys and gate.is_related(place)
    }


def _hit(
    details: ChunkDetails,
    score: float,
    why: Why | None,
    *,
    pending: bool,
    key: str,
    state: ItemState | None,
) -> Hit:
    path, first, last, heading, date, scope, kind, text = details
    return Hit(
        note=path,
        lines=(first, last),
        heading=tuple(heading.split(SEPARATOR)) if heading else (),
        date=date,
        scope=scope,
        kind=kind,
        text=text,
        score=score,
        why=why,
        pending=pending,
        key=key,
        state=state,
    )


def _state(request: CandidateRequest, chunk_id: int) -> ItemState:
    return (request.fading.states if request.fading else {}).get(chunk_id, "active")


def _left_out(request: CandidateRequest, *, why: bool) -> dict[str, int]:
    """Counts the chunks that have faded, and with `why` those that each filter excludes."""
    faded = dict(request.fading.left_out) if request.fading else {}
    return (left_out(request) if why else {}) | faded


def _without_written(hits: list[Hit]) -> list[Hit]:
    """Drops pending hits whose text is in the note already."""
    # The write may finish during the search, or a person may write the same line.
    written = {(hit.note, hit.heading, hit.text) for hit in hits if not hit.pending}
    return [
        hit for hit in hits if not hit.pending or (hit.note, hit.heading, hit.text) not in written
    ]


def _all_details(request: CandidateRequest, ids: list[int]) -> dict[int, ChunkDetails]:
    """Reads chunks of the notes and of the text that waits, by id."""
    # Fault: the ids of text that waits are not those of the index. They must not mix.
    written = [chunk_id for chunk_id in ids if not is_waiting(chunk_id)]
    details = note_queries.details_of(request.store, request.scope_ids, written)
    waiting = request.waiting
    if waiting:
        of_waiting = note_queries.details_of(waiting.store, waiting.scope_ids, own_ids(ids))
        details |= {-chunk_id: row for chunk_id, row in of_waiting.items()}
    return details


def _bodies(
    request: CandidateRequest, details: Mapping[int, ChunkDetails]
) -> dict[int, ChunkDetails]:
    """Reads what is shown in place of front matter: the first chunk of the body.

    A note is found by its front matter, and that answers no question.
    """
    may_be_front = [
        chunk_id
        for chunk_id, detail in details.items()
        # The edge is above front matter, and a heading is in no front matter.
        if detail.first_line > 1
        and not detail.heading
        and detail.kind != "transcript"
        and not is_waiting(chunk_id)
    ]
    if not may_be_front:
        return {}
    bodies = note_queries.bodies_of(request.store, may_be_front)
    states = request.fading.states if request.fading else {}
    active = [body for body in bodies.values() if states.get(body, "active") == "active"]
    texts = note_queries.details_of(request.store, request.scope_ids, active)
    return {front: texts[body] for front, body in bodies.items() if body in texts}


def _without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Drops a line that is shown in place of front matter, and was found by itself, too."""
    best: dict[tuple[str, tuple[int, int], str, bool], Hit] = {}
    for hit in hits:
        best.setdefault((hit.note, hit.lines, hit.text, hit.pending), hit)
    return list(best.values())


def _why(request: CandidateRequest, candidates: Candidates, candidate: Ranked) -> Why:
    place = candidate[1]
    arms = {arm: ranks(scores)[place] for arm, scores in candidates.arms.items() if place in scores}
    return Why(fusion.explained(request, candidates, candidate), arms)


def left_out(request: CandidateRequest) -> dict[str, int]:
    """Counts for each filter the chunks of the scopes that it excludes by itself."""
    filters = request.filters._asdict()
    also = filters.pop("also")
    names = [name for name, value in filters.items() if Filters(**{name: value})]
    # To count all chunks costs more than most searches.
    total = _count(request, Filters()) if names else 0
    # The answer names one of them: `kind`, `tag`, `path`.
    return {
        name.removesuffix("s"): total
        - _count(request, Filters(**{name: filters[name], "also": also}))
        for name in names
    }


def _count(request: CandidateRequest, filters: Filters) -> int:
    return fts_search.count(request.store, request.scope_ids, filters)


# --- Hit copies ---


def alike(candidates: Candidates, ranked: Sequence[Ranked], limit: int) -> list[list[Ranked]]:
    """Groups candidates that may be copies by their texts, each group with its best first.

    Returns the first `limit` groups, and those that are as good as the last of them.
    """
    groups: dict[str, list[Ranked]] = {}
    last_score = math.inf
    shown = 0
    for candidate in ranked:
        if candidate[0] > last_score:
            break
        key = fingerprint(candidates.rows[candidate[1]][-1])
        groups.setdefault(key, []).append(candidate)
        shown += 1
        if len(groups) == limit:
            last_score = min(last_score, candidate[0])
    # The others are not shown, but they may be copies of what is.
    beginnings = frozenset(key[:BEGINNING] for key in groups)
    for candidate in ranked[shown:]:
        chunk = candidates.rows[candidate[1]][-1]
        if may_begin_with(chunk, beginnings):
            groups.get(fingerprint(chunk), []).append(candidate)
    return list(groups.values())


def one_for_copies(hits: Iterable[Hit], days: Collection[str] = ()) -> list[Hit]:
    """Returns one hit for all copies of a statement; `hits` are sorted, the best first.

    Notes come before transcripts, then the copies of the days that the query names, and then the
    newest copy. The hit has the score of the best one.
    """
    groups: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[fingerprint(hit.text)].append(hit)
    joined: list[Hit] = []
    for group in groups.values():
        joined += group if len(group) == 1 else _join_copies(group, days)
    return joined


def _join_copies(group: Iterable[Hit], days: Collection[str]) -> Iterable[Hit]:
    """Returns a hit for each statement of hits that may be copies."""
    by_key: dict[CopyKey, list[Hit]] = defaultdict(list)
    for hit in group:
        # Fault: equal texts of two scopes or two days are two statements.
        by_key[_key_of(hit)].append(hit)
    return [_joined(copies, days) for copies in by_key.values()]


def _key_of(hit: Hit) -> CopyKey:
    return copy_key(
        hit.text, scope=hit.scope, kind=hit.kind, heading="\n".join(hit.heading), day=hit.date
    )


def _joined(copies: list[Hit], days: Collection[str]) -> Hit:
    best = copies[0]
    if len(copies) == 1:
        return best
    newest_first = sorted(copies, key=lambda hit: hit.date or "", reverse=True)
    # Fault: a line that is said each day would be shown of another day than the one asked for.
    shown, *others = sorted(newest_first, key=lambda hit: (_preference(hit), hit.date not in days))
    return replace(
        shown,
        score=best.score,
        why=best.why,
        copies=len(copies),
        also=tuple(Copy(hit.note, hit.lines, hit.date) for hit in others),
    )


def _preference(hit: Hit) -> tuple[bool, bool, bool]:
    """Sorts notes before transcripts, and what is valid and written before the others."""
    is_archived = hit.kind == "rules" and any(map(rule_archive.is_archive, hit.heading))
    return hit.kind == "transcript", is_archived, hit.pending
