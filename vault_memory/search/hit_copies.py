"""Groups candidates that are copies of one statement, and picks the hit that stands for a group."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module
from vault_memory.rules.search.copies import (
    BEGINNING,
    CopyKey,
    copy_key,
    fingerprint,
    may_begin_with,
)
from vault_memory.search.candidates import Candidates
from vault_memory.search.fusion import Ranked
from vault_memory.search.results import Copy, Hit

if TYPE_CHECKING:
    from vault_memory.rules.context import rule_archive
else:
    rule_archive = lazy_module("vault_memory.rules.context.rule_archive")


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


def one_for_copies(hits: Iterable[Hit]) -> list[Hit]:
    """Returns one hit for all copies of a statement; `hits` are sorted, the best first.

    Notes come before transcripts, and then the newest copy. The hit has the score of the best one.
    """
    groups: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[fingerprint(hit.text)].append(hit)
    joined: list[Hit] = []
    for group in groups.values():
        joined += group if len(group) == 1 else _join_copies(group)
    return joined


def _join_copies(group: Iterable[Hit]) -> Iterable[Hit]:
    """Returns a hit for each statement of hits that may be copies."""
    by_key: dict[CopyKey, list[Hit]] = defaultdict(list)
    for hit in group:
        # Fault: equal texts of two scopes or two days are two statements.
        by_key[_key_of(hit)].append(hit)
    return map(_joined, by_key.values())


def _key_of(hit: Hit) -> CopyKey:
    return copy_key(
        hit.text, scope=hit.scope, kind=hit.kind, heading="\n".join(hit.heading), day=hit.date
    )


def _joined(copies: list[Hit]) -> Hit:
    best = copies[0]
    if len(copies) == 1:
        return best
    newest_first = sorted(copies, key=lambda hit: hit.date or "", reverse=True)
    shown, *others = sorted(newest_first, key=_preference)
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
