"""What can be told of a vault and its index at a glance: the list of notes, counts, status."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits import reports
    from vault_memory.edits.reports import NoteInfo
else:
    reports = lazy_module("vault_memory.edits.reports")


def notes(index: Index, scopes: Sequence[str] | None) -> "list[NoteInfo]":
    """The notes of `scopes`, or all, sorted by path."""
    rows = index.connection.execute(
        "SELECT note.path, scope.name, note.kind, note.revision, note.bytes"
        " FROM note JOIN scope ON scope.id = note.scope ORDER BY note.path"
    )
    return [
        reports.NoteInfo(*row) for row in rows if scopes is None or row[1] in scopes
    ]


def stats_of(index: Index, scopes: Sequence[str]) -> dict[str, object]:
    """Counts of notes and chunks of these scopes by kind and scope; nothing of others shows in a sum."""
    kinds, by_scope = (
        _counts(index, "note.kind", scopes),
        _counts(index, "scope.name", scopes),
    )
    sums = {
        what: sum(counts[what] for counts in by_scope.values())
        for what in ("notes", "chunks")
    }
    return {"kinds": kinds, "scopes": by_scope, "sources": {"notes": sums}}


def stats(index: Index) -> dict[str, object]:
    """Counts of notes and chunks by kind and scope, and of vectors by model."""
    return {
        "kinds": _counts(index, "note.kind"),
        "scopes": _counts(index, "scope.name"),
        "sources": {
            "notes": dict(zip(("notes", "chunks"), index.counts(), strict=True))
        },
        "vectors": dict(
            index.connection.execute(
                "SELECT model.name, count(*) FROM vector JOIN model ON model.id = vector.model GROUP BY model.id"
            )
        ),
        "index_bytes": index.connection.pragma("page_count")
        * index.connection.pragma("page_size"),
    }


def _counts(
    index: Index, column: str, scopes: Sequence[str] | None = None
) -> dict[str, dict[str, int]]:
    within = (
        ""
        if scopes is None
        else f" WHERE scope.name IN ({', '.join('?' * len(scopes))})"
    )
    rows = index.connection.execute(
        f"SELECT {column}, count(DISTINCT note.id), count(chunk.id) FROM note JOIN scope ON scope.id = note.scope"
        f" LEFT JOIN chunk ON chunk.note = note.id{within} GROUP BY {column} ORDER BY {column}",
        tuple(scopes or ()),
    )
    return {name: {"notes": notes, "chunks": chunks} for name, notes, chunks in rows}


def status(memory: "VaultMemory") -> dict[str, object]:
    """As a command without a daemon sees it; the daemon fills in the watcher and itself."""
    index = memory.indexing.index()
    fresh = memory.freshness()
    count, chunks = index.counts()
    return {
        "vault": str(memory.root),
        "index": {
            "notes": count,
            "chunks": chunks,
            "stale_files": list(fresh.stale_files),
            "generation": memory.indexing.generations.current,
            "parked": {path: reason for path, (reason, _) in index.parked().items()},
        },
        "semantic": fresh.semantic,
        "reason": fresh.reason,
        "watcher": {"mode": "off", "healthy": False, "reason": "no daemon"},
        "sync": memory.sync_status(),
        "night": _night(memory),
        "inbox_open": _inbox_open(memory),
        "conflicts": _conflicts(memory),
        "pending": _pending(memory),
        "daemon": {"running": False, "pid": None},
        "state_folder": str(memory.state.path),
        "drop_folder": str(memory.drop_folder.make()),
    }


def _night(memory: "VaultMemory") -> dict[str, object] | None:
    """When the nights are; nobody can tell of a vault that is away."""
    try:
        return memory.nights()
    except VaultMemoryError:
        return None


def _inbox_open(memory: "VaultMemory") -> int:
    """How many proposals wait; of a vault that is away nobody can tell, and the rest of the status still counts."""
    try:
        return len(memory.inbox())
    except VaultMemoryError:
        return 0


def _pending(memory: "VaultMemory") -> list[dict[str, object]]:
    """The writes that wait; on a full disk the journal cannot be opened, and the rest of the status still counts."""
    from dataclasses import asdict  # only here: a hook would wait for it

    try:
        return [asdict(waiting) for waiting in memory.waiting()]
    except VaultMemoryError:
        return []


def _conflicts(memory: "VaultMemory") -> int:
    """How many conflict copies lie beside their notes."""
    try:
        return memory.count_conflicts()
    except VaultMemoryError:
        return 0
