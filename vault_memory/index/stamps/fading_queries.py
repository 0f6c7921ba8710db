"""Reads the stamps of items with the counts of their reads."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vault_memory.index.store import Index


class StaleBefore(NamedTuple):
    """The age from which items of a type may have faded, in one scope."""

    scope: int
    type: str
    learned: str
    """The last day, ISO 8601"""


class StaleItem(NamedTuple):
    """The item of a chunk that may have faded."""

    chunk: int
    type: str
    learned: str
    """ISO 8601"""
    read_days: int
    last_read: str
    """ISO 8601; empty when it was never read"""


class ChunkItem(NamedTuple):
    """What the index says about the item of a chunk."""

    kind: str
    """The kind of the note"""
    type: str | None
    """None without a stamp; then so are the next two"""
    learned: str | None
    by_bot: int | None
    supports: int
    fades: bool
    read_days: int
    last_read: str


def stale_items(index: "Index", limits: Sequence[StaleBefore]) -> Iterator[StaleItem]:
    """Yield the items that are older than the limit of their scope and type."""
    rows = index.connection.execute(
        "SELECT s.chunk, s.type, s.learned, coalesce(r.days, 0), coalesce(r.last, '')"
        " FROM json_each(?) limits"
        " CROSS JOIN stamp s ON s.scope = limits.value ->> 0"
        " AND s.type = limits.value ->> 1"
        " AND s.learned <= limits.value ->> 2"
        " AND s.fades > 0"
        " LEFT JOIN read_count r ON r.scope = s.scope AND r.key = s.key"
        # Fault: an index of an earlier version has 2 for facts, which never fade.
        " WHERE s.fades = 1",
        (json.dumps(limits),),
    )
    return map(StaleItem._make, rows)


def keys_of(index: "Index", chunks: Iterable[int]) -> dict[int, str]:
    """Return the content keys of those of these chunks that fade."""
    rows = index.connection.execute(
        "SELECT s.chunk, s.key"
        " FROM json_each(?) wanted"
        " CROSS JOIN stamp s ON s.chunk = wanted.value"
        " WHERE s.fades = 1",
        (json.dumps(list(chunks)),),
    )
    return {row[0]: row[1] for row in rows}


def items_of(index: "Index", chunks: Iterable[int]) -> dict[int, ChunkItem]:
    """Return what the index says about the items of these chunks, by chunk."""
    rows = index.connection.execute(
        "SELECT c.id, n.kind, s.type, s.learned, s.by_bot,"
        " coalesce(s.supports, 1), coalesce(s.fades = 1, 0),"
        " coalesce(r.days, 0), coalesce(r.last, '')"
        " FROM json_each(?) wanted"
        " CROSS JOIN chunk c ON c.id = wanted.value"
        " JOIN note n ON n.id = c.note"
        " LEFT JOIN stamp s ON s.chunk = c.id"
        " LEFT JOIN read_count r ON r.scope = s.scope AND r.key = s.key"
        # Fault: an index of an earlier version has 2 for facts, which never fade.
        " WHERE s.fades = 1",
        (json.dumps(list(chunks)),),
    )
    return {row[0]: ChunkItem._make(row[1:]) for row in rows}
