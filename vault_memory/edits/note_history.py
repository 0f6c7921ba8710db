"""Stored versions of notes: lists and reads them, finds notes that went back to one, and prunes them."""

from collections.abc import Callable, Mapping
from datetime import datetime

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.backup_detection import gaps, reverted_notes
from vault_memory.edits.note_access import NoteAccess
from vault_memory.edits.versions import NoteVersion, revision_named, versions_of
from vault_memory.errors import NoteNotFound
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.writer import Writer


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
        raw = self._writer().snapshots.bytes_of(revision)
        if raw is None:
            note = self._access.read(path)
            if note is None:
                raise NoteNotFound(path)
            raw = note.raw
        return revision, raw

    def bytes_of(self, path: str, revision: str | None) -> bytes | None:
        """Returns the bytes of a version of a note; None when they are neither stored nor on the disk."""
        raw = self._writer().snapshots.bytes_of(revision)
        if raw is not None:
            return raw
        note = self._access.read(path)
        return note.raw if note and note.revision == revision else None

    def went_back(self, live: Mapping[str, str]) -> dict[str, str]:
        """Returns the notes that are back at an older version, with the revision of a newer one.

        `live` has the present revision of each note.
        """
        return reverted_notes(self._writer().snapshots, live)

    def gaps(self) -> dict[str, int]:
        """Returns the notes whose audit log lacks records, with the number of its unreadable lines."""
        return gaps(self._writer(), self._trail)

    def prune(self, now: datetime) -> None:
        """Deletes versions that are too old."""
        self._writer().prune(now)
