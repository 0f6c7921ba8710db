"""Versions of a note, and writes that wait for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vault_memory.edits.edit_errors import UnclearId
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import PendingWrite

HISTORY = "`vault-memory history NOTE` lists the versions that are kept"


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """A stored version of a note, or its present text."""

    revision: str
    ts: str
    """time at which it was first seen, ISO 8601"""
    by: str
    """`person`, or the source of the record that wrote it: cli, tool, nightly, undo, …"""
    bytes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending write."""

    note: str
    reason: str
    id: str
    explanation: str


def waiting_write(write: PendingWrite) -> Waiting:
    """Returns a pending write as the calls give it."""
    explanation = WriteResult.of(write).explanation
    return Waiting(write.path, write.reason, write.op_id, explanation)


def versions_of(
    note: Note | None, chain: Sequence[Version], records: Iterable[Record]
) -> list[NoteVersion]:
    """Returns all versions, the newest first, with the present text even if it is not stored yet."""
    sources_of: dict[str, list[str]] = {}
    for record in records:
        if record.after != record.before:
            sources_of.setdefault(record.after, []).append(record.source)
    versions = []
    for version in chain:
        sources = sources_of.get(version.revision) if version.by == "bot" else None
        author = sources.pop() if sources else version.by
        versions.append(NoteVersion(version.revision, _iso(version.at), author, version.size))
    if note is not None and (not chain or chain[0].revision != note.revision):
        saved = _iso(note.stat.mtime_ns / 1e9)
        present = NoteVersion(note.revision, saved, "person", len(note.raw))
        versions.insert(0, present)
    return versions


def revision_named(given: str, versions: Iterable[NoteVersion]) -> str:
    """Returns the one revision that begins so. Raises UnclearId."""
    match = resolve(given, (version.revision for version in versions))
    if not match.id:
        raise UnclearId("revision", given, match.candidates, HISTORY)
    return match.id


def different_paths(
    revisions: Iterable[tuple[str, str]], others: Iterable[tuple[str, str]]
) -> list[str]:
    """Returns the paths to which `others` give another revision, or none. Both are sorted by path."""
    remaining = iter(others)
    current: tuple[str, str] | None = ("", "")
    different = []
    for path, revision in revisions:
        while current is not None and current[0] < path:
            current = next(remaining, None)
        if current != (path, revision):
            different.append(path)
    return different


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
