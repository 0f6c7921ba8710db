"""What is kept of a note's past, and what waits to become its future."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vault_memory.edits.edit_errors import UnclearId
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version

HISTORY = "`vault-memory history NOTE` lists the versions that are kept"


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """One version of a note that is kept, or stands there now."""

    revision: str
    ts: str
    """when it was first seen; ISO 8601"""
    by: str
    """person, or the source of the record that wrote it: cli, tool, nightly, undo, …"""
    bytes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A write that waits until the note can be written."""

    note: str
    reason: str
    id: str
    explanation: str


def versions_of(
    note: Note | None, chain: Sequence[Version], records: Iterable[Record]
) -> list[NoteVersion]:
    """All versions, the newest first; the one that stands there now is among them although nobody kept it yet."""
    wrote: dict[str, list[str]] = {}
    for record in records:
        if record.after != record.before:
            wrote.setdefault(record.after, []).append(record.source)
    found = []
    for one in chain:
        sources = wrote.get(one.revision) if one.by == "bot" else None
        found.append(
            NoteVersion(
                one.revision,
                _ts(one.at),
                sources.pop() if sources else one.by,
                one.size,
            )
        )
    if note is not None and (not chain or chain[0].revision != note.revision):
        found.insert(
            0,
            NoteVersion(
                note.revision, _ts(note.stat.mtime_ns / 1e9), "person", len(note.raw)
            ),
        )
    return found


def revision_named(given: str, versions: Iterable[NoteVersion]) -> str:
    """The one revision that begins so. Raises UnclearId."""
    found = resolve(given, (one.revision for one in versions))
    if not found.id:
        raise UnclearId("revision", given, found.candidates, HISTORY)
    return found.id


def _ts(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
