"""Counts of the index, and the list of its notes."""

from collections.abc import Sequence

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
    rows = index.connection.execute(
        "SELECT note.path, scope.name, note.kind, note.revision, note.bytes"
        " FROM note"
        " JOIN scope ON scope.id = note.scope"
        " ORDER BY note.path"
    )
    return [
        note_reports.NoteInfo(*row)
        for row in rows
        if scopes is None or row[1] in scopes
    ]


def stats_of(
    index: Index,
    scopes: Sequence[str],
) -> "StatsJson":
    """Counts of notes and chunks of these scopes by kind and scope.

    No sum includes a note of another scope.
    """
    by_kind = _counts(index, "note.kind", scopes)
    by_scope = _counts(index, "scope.name", scopes)
    sums: NoteCountsJson = {
        "notes": sum(counts["notes"] for counts in by_scope.values()),
        "chunks": sum(counts["chunks"] for counts in by_scope.values()),
    }
    return {"kinds": by_kind, "scopes": by_scope, "sources": {"notes": sums}}


def stats(index: Index) -> "StatsJson":
    """Counts of notes and chunks by kind and scope, and of vectors by model."""
    connection = index.connection
    notes, chunks = index.counts()
    vectors = connection.execute(
        "SELECT model.name, count(*)"
        " FROM vector"
        " JOIN model ON model.id = vector.model"
        " GROUP BY model.id"
    )
    pages, page_size = connection.pragma("page_count"), connection.pragma("page_size")
    return {
        "kinds": _counts(index, "note.kind"),
        "scopes": _counts(index, "scope.name"),
        "sources": {"notes": {"notes": notes, "chunks": chunks}},
        "vectors": dict(vectors),
        "index_bytes": pages * page_size,
    }


def _counts(
    index: Index,
    column: str,
    scopes: Sequence[str] | None = None,
) -> "dict[str, NoteCountsJson]":
    within = ""
    if scopes is not None:
        within = f" WHERE scope.name IN ({', '.join('?' * len(scopes))})"
    rows = index.connection.execute(
        f"SELECT {column}, count(DISTINCT note.id), count(chunk.id)"
        " FROM note"
        " JOIN scope ON scope.id = note.scope"
        f" LEFT JOIN chunk ON chunk.note = note.id{within}"
        f" GROUP BY {column}"
        f" ORDER BY {column}",
        tuple(scopes or ()),
    )
    return {name: {"notes": notes, "chunks": chunks} for name, notes, chunks in rows}
