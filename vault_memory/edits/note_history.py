"""What stood in the notes before: their versions, what went back to one of them, and how long they are kept."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from vault_memory.edits.backup_detection import gaps, went_back
from vault_memory.edits.versions import NoteVersion, revision_named, versions_of
from vault_memory.errors import NoteNotFound

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor


class NoteHistory:
    """Of one vault."""

    def __init__(self, curator: "NoteEditor") -> None:
        self._curator = curator

    def history(self, path: str) -> list[NoteVersion]:
        """The versions of a note, the newest first."""
        note = self._curator.there(path)
        chain = self._curator.writer.snapshots.chain(self._curator.real(path))
        found = versions_of(note, chain, self._curator.trail.of(path))
        if not found:
            raise NoteNotFound(path)
        return found

    def version(self, path: str, given: str) -> tuple[str, bytes]:
        """A version of a note by its revision, or the beginning of it. Raises UnclearId."""
        revision = revision_named(given, self.history(path))
        raw = self._curator.writer.snapshots.bytes_of(revision)
        if raw is None:
            note = self._curator.there(path)
            if note is None:
                raise NoteNotFound(path)
            raw = note.raw
        return revision, raw

    def went_back(self, live: Mapping[str, str]) -> dict[str, str]:
        """The notes that stand, `live`, as they had before something newer, which is kept: its revision."""
        return went_back(self._curator.writer.snapshots, live)

    def gaps(self) -> dict[str, int]:
        """The notes whose audit was edited, so that records are missing; how many lines are none."""
        return gaps(self._curator.writer, self._curator.trail)

    def prune(self, now: datetime) -> None:
        """Let go of versions that are older than they are kept."""
        self._curator.writer.prune(now)
