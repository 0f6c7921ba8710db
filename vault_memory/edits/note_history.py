"""Stored versions of notes: lists and reads them, finds notes that went back to one, and prunes them."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from vault_memory.edits.backup_detection import gaps, reverted_notes
from vault_memory.edits.versions import NoteVersion, revision_named, versions_of
from vault_memory.errors import NoteNotFound

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor


class NoteHistory:
    """The versions of the notes of one vault."""

    def __init__(self, curator: "NoteEditor") -> None:
        self._curator = curator

    def history(self, path: str) -> list[NoteVersion]:
        """Returns the versions of a note, the newest first. Raises NoteNotFound."""
        note = self._curator.there(path)
        chain = self._curator.writer.snapshots.chain(self._curator.real(path))
        versions = versions_of(note, chain, self._curator.trail.of(path))
        if not versions:
            raise NoteNotFound(path)
        return versions

    def version(self, path: str, given: str) -> tuple[str, bytes]:
        """Returns revision and bytes of a version, named by the beginning of its revision. Raises UnclearId."""
        revision = revision_named(given, self.history(path))
        raw = self._curator.writer.snapshots.bytes_of(revision)
        if raw is None:
            note = self._curator.there(path)
            if note is None:
                raise NoteNotFound(path)
            raw = note.raw
        return revision, raw

    def went_back(self, live: Mapping[str, str]) -> dict[str, str]:
        """Returns the notes whose present (`live`) text is older than a stored version, with the revision of that."""
        return reverted_notes(self._curator.writer.snapshots, live)

    def gaps(self) -> dict[str, int]:
        """Returns the notes whose audit log lacks records, with the number of its unreadable lines."""
        return gaps(self._curator.writer, self._curator.trail)

    def prune(self, now: datetime) -> None:
        """Deletes versions that are too old."""
        self._curator.writer.prune(now)
