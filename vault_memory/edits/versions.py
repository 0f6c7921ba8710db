"""Versions of notes: lists, reads and prunes them, finds notes that went back; waiting writes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vault_memory.edits.audit_log import AuditLog, only_match
from vault_memory.edits.note_access import NoteAccess
from vault_memory.errors import NoteNotFound
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.writer import Writer

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
    by_revision = {version.revision: version for version in versions}
    return only_match("revision", given, by_revision, HISTORY).revision


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class NoteHistory:
    """The versions of the notes of one vault."""

    def __init__(self, access: NoteAccess, trail: AuditLog, writer: Callable[[], Writer]) -> None:
        self._access = access
        self._trail = trail
        self._writer = writer

    def history(self, path: str) -> list[NoteVersion]:
        """Returns the versions of a note, the newest first. Raises NoteNotFound."""
        note = self._access.read(path)
        versions = versions_of(note, self.chain(path), self._trail.of(path))
        if not versions:
            raise NoteNotFound(path)
        return versions

    def chain(self, path: str) -> list[Version]:
        """Returns the versions of a note that were seen, the newest first."""
        return self._writer().snapshots.chain(self._access.real(path))

    def version(self, path: str, prefix: str) -> tuple[str, bytes]:
        """Returns revision and bytes of the version whose revision begins so. Raises UnclearId."""
        revision = revision_named(prefix, self.history(path))
        raw = self.bytes_of(path, revision)
        if raw is None:
            raise NoteNotFound(path)
        return revision, raw

    def bytes_of(self, path: str, revision: str | None) -> bytes | None:
        """Returns the bytes of a version of a note; None when they are neither stored nor on the disk."""
        raw = self._writer().snapshots.bytes_of(revision)
        if raw is not None:
            return raw
        note = self._access.read(path)
        return note.raw if note and note.revision == revision else None
