"""Counts of the index, and the list of its notes."""

from collections.abc import Sequence

from vault_memory.index import note_queries
from vault_memory.index.inspection import row_counts
from vault_memory.index.inspection.row_counts import GroupBy
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vault_memory.contract.status_answers import NoteCountsJson, StatsJson
    from vault_memory.search import note_reports
    from vault_memory.search.note_reports import NoteInfo
else:
    note_reports = lazy_module("vault_memory.search.note_reports")


def list_notes(
    index: Index,
    scopes: Sequence[str] | None,
) -> "list[NoteInfo]":
    """The notes of `scopes`, or all, sorted by path."""
    return [
        note_reports.NoteInfo(*note)
        for note in note_queries.all_notes(index)
        if scopes is None or note.scope in scopes
    ]


def stats_of(
    index: Index,
    scopes: Sequence[str],
) -> "StatsJson":
    """Counts of notes and chunks of these scopes by kind and scope.

    No sum includes a note of another scope.
    """
    by_kind = _counts(index, GroupBy.KIND, scopes)
    by_scope = _counts(index, GroupBy.SCOPE, scopes)
    sums: NoteCountsJson = {
        "notes": sum(counts["notes"] for counts in by_scope.values()),
        "chunks": sum(counts["chunks"] for counts in by_scope.values()),
    }
    return {"kinds": by_kind, "scopes": by_scope, "sources": {"notes": sums}}


def stats(index: Index) -> "StatsJson":
    """Counts of notes and chunks by kind and scope, and of vectors by model."""
    notes, chunks = index.counts()
    return {
        "kinds": _counts(index, GroupBy.KIND),
        "scopes": _counts(index, GroupBy.SCOPE),
        "sources": {"notes": {"notes": notes, "chunks": chunks}},
        "vectors": row_counts.vectors_by_model(index),
        "index_bytes": row_counts.bytes_of_pages(index),
    }


def _counts(
    index: Index,
    group: GroupBy,
    scopes: Sequence[str] | None = None,
) -> "dict[str, NoteCountsJson]":
    counts = row_counts.note_counts(index, group, scopes)
    return {
        count.name: {"notes": count.notes, "chunks": count.chunks} for count in counts
    }
