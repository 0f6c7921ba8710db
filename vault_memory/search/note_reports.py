"""Results of the calls that read and index notes, with the names of the JSON contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.index import schema
    from vault_memory.index.properties import property_values
    from vault_memory.index.store import Index
    from vault_memory.ingest.scan import ScanReport
    from vault_memory.markdown import document, encodings
    from vault_memory.vault.reader import Note
else:
    schema = lazy_module("vault_memory.index.schema")
    property_values = lazy_module("vault_memory.index.properties.property_values")
    document = lazy_module("vault_memory.markdown.document")
    encodings = lazy_module("vault_memory.markdown.encodings")


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
    index: "Index",
    report: "ScanReport",
    embedded: int,
    seconds: float,
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
