"""Ranks the balanced candidates by shares of relevance, recency, retention and importance."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from vault_memory.index.stamps import fading_queries
from vault_memory.index.stamps.fading_queries import ChunkItem
from vault_memory.markdown.items import parse_item
from vault_memory.rules.learning import fading
from vault_memory.search.candidates import CandidateRequest, Candidates, in_order
from vault_memory.search.fading_items import vitality
from vault_memory.search.fusion import DIGITS, Ranked

TRANSCRIPT = "transcript"


class Shares(NamedTuple):
    """How much each term counts; together they are 1."""

    semantic: float
    """the score of the balanced ranking, as a share of the best one"""
    recency: float
    """falls slowly with the days since the item was last learned, supported or read"""
    decay: float
    """the retention of the item; 1 if it never fades"""
    importance: float
    confidence: float
    """`conf` of the item, else 1"""


SHARES: Mapping[str, Shares] = {
    "recent": Shares(0.30, 0.50, 0.10, 0.07, 0.03),
    "important": Shares(0.40, 0.10, 0.10, 0.35, 0.05),
    "historical": Shares(0.50, 0.05, 0.25, 0.15, 0.05),
    "comprehensive": Shares(0.45, 0.15, 0.15, 0.20, 0.05),
    "general": Shares(0.35, 0.20, 0.20, 0.20, 0.05),
}


_UNKNOWN = ChunkItem("", None, None, None, 1, False, 0, "")
"""Text that waits to be written, whose ids are in no index"""


def reranked(
    request: CandidateRequest,
    candidates: Candidates,
    ranked: Sequence[Ranked],
    shares: Shares,
    fades: bool,
    today: date,
) -> list[Ranked]:
    """Returns candidates of the balanced ranking in the order of these shares.

    Unless `fades` is set, nothing fades.
    """
    highest = max((-negative for negative, _, _ in ranked), default=0.0)
    ids = [candidates.rows[place][1] for _, place, _ in ranked]
    items = fading_queries.items_of(request.store, ids)
    new_ranks: list[Ranked] = []
    for negative, place, _ in ranked:
        row = candidates.rows[place]
        item = items.get(row[1], _UNKNOWN)
        values = _values(item, row[2], row[4], fades, today)
        # Fault: with no score above zero the division would fail.
        relevance = max(0.0, -negative / highest) if highest > 0 else 0.0
        values = values._replace(semantic=relevance)
        terms = {
            name: share * value
            for name, share, value in zip(Shares._fields, shares, values, strict=True)
        }
        new_ranks.append((-round(sum(terms.values()), DIGITS), place, terms))
    return in_order(request, new_ranks)


def _values(item: ChunkItem, day: str | None, text: str, fades: bool, today: date) -> Shares:
    """Returns the terms of a chunk without their shares, each from 0 to 1."""
    fields = parse_item(text)
    is_turn = item.kind == TRANSCRIPT
    last = _last_day(item, day)
    decay = 1.0
    if fades and item.fades and item.type and last:
        alive = vitality(item.type, last, item.read_days, item.last_read)
        decay = fading.retention_on(alive, today)
    return Shares(
        semantic=0.0,
        # A text without a day may be of any age.
        recency=fading.recency(_age(last, today)) if last else 0.0,
        decay=decay,
        importance=fading.importance(
            "" if is_turn else fields.type,
            item.kind,
            confirmed=fields.confirmed and not is_turn,
            by_person=not item.by_bot and not is_turn,
            support=item.supports,
        ),
        confidence=1.0 if is_turn else fields.conf,
    )


def _last_day(item: ChunkItem, day: str | None) -> str:
    """Returns when a text was last learned, supported or read; empty when it is unknown."""
    return max(item.learned or day or "", item.last_read)


def _age(last: str, today: date) -> int:
    # Fault: a device with a wrong clock learned the item tomorrow.
    return max(0, (today - date.fromisoformat(last)).days)
