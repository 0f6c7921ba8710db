"""Results of the calls that read, index, list and count notes, with the names of the JSON contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.index import note_queries, schema
from vault_memory.index.inspection import row_counts
from vault_memory.index.properties import property_values
from vault_memory.markdown import document, encodings

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import NoteCountsJson, StatsJson
    from vault_memory.index.inspection.row_counts import GroupBy
    from vault_memory.index.store import Index
    from vault_memory.ingest.scan import ScanReport
    from vault_memory.vault.reader import Note


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an update of the index changed."""

    notes: int
    changed: int
    removed: int
    chunks_added: int
    chunks_kept: int
    chunks_removed: int
    embedded: int
    seconds: float
    missing_notes: int = 0
    """notes that are not indexed, because the vault has more files than one listing can have"""
    encodings: Mapping[str, str] = field(default_factory=dict)
    """the encodings of the notes that are no UTF-8, by path"""


def index_report(
    index: "Index", report: "ScanReport", embedded: int, seconds: float
) -> IndexReport:
    """Return the report of a scan of the vault."""
    return IndexReport(
        notes=index.count_notes(),
        changed=len(report.changed),
        removed=len(report.removed),
        chunks_added=report.delta.added,
        chunks_kept=report.delta.unchanged,
        chunks_removed=report.delta.removed,
        embedded=embedded,
        seconds=seconds,
        missing_notes=schema.missing_notes(index),
        encodings=property_values.encodings(index),
    )


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it is now. `text` is decoded, whatever encoding its bytes have."""

    HIDDEN = ("raw",)

    note: str
    revision: str
    text: str
    sections: tuple[str, ...]
    raw: bytes = field(default=b"", repr=False)
    """the exact bytes of which `revision` is the SHA-256"""


def note_text(note: "Note") -> NoteText:
    """Return a note that was read."""
    return NoteText(
        note.path,
        note.revision,
        encodings.text_of(note.raw),
        document.parse(encodings.as_utf8(note.raw)).headings,
        note.raw,
    )


class NoteList(list["NoteInfo"]):
    """Notes of some scopes, or of all."""

    unknown_scopes: tuple[str, ...] = ()
    """scopes that were asked for and have no note: perhaps misspelt names"""


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """One line of the list of notes."""

    note: str
    scope: str
    kind: str
    revision: str
    bytes: int


# --- Counts ---


def list_notes(index: "Index", scopes: Sequence[str] | None) -> list[NoteInfo]:
    """The notes of `scopes`, or all, sorted by path."""
    return [NoteInfo(*note) for note in note_queries.all_notes(index, scopes)]


def stats_of(index: "Index", scopes: Sequence[str]) -> "StatsJson":
    """Counts of notes and chunks of these scopes by kind and scope.

    No sum includes a note of another scope.
    """
    by_kind = _counts(index, row_counts.GroupBy.KIND, scopes)
    by_scope = _counts(index, row_counts.GroupBy.SCOPE, scopes)
    sums: NoteCountsJson = {
        "notes": sum(counts["notes"] for counts in by_scope.values()),
        "chunks": sum(counts["chunks"] for counts in by_scope.values()),
    }
    return {"kinds": by_kind, "scopes": by_scope, "sources": {"notes": sums}}


def stats(index: "Index", today: date) -> "StatsJson":
    """Counts of notes and chunks by kind and scope, of facts, and of vectors by model."""
    notes, chunks = index.counts()
    facts = row_counts.fact_counts(index, today)
    return {
        "kinds": _counts(index, row_counts.GroupBy.KIND),
        "scopes": _counts(index, row_counts.GroupBy.SCOPE),
        "sources": {"notes": {"notes": notes, "chunks": chunks}},
        "facts": {"current": facts.current, "ended": facts.ended},
        "newest_day": row_counts.newest_day(index, today),
        "vectors": row_counts.vectors_by_model(index),
        "index_bytes": row_counts.bytes_of_pages(index),
    }


def _counts(
    index: "Index", group: "GroupBy", scopes: Sequence[str] | None = None
) -> "dict[str, NoteCountsJson]":
    counts = row_counts.note_counts(index, group, scopes)
    return {count.name: {"notes": count.notes, "chunks": count.chunks} for count in counts}
