"""Reads notes for the editor: which files it may change, where links lead, and what a half-finished save hides."""

import os
import time
from datetime import datetime
from pathlib import Path

from vault_memory.edits.audit_log import ENDING, AuditLog
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.errors import NoteNotFound
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.fs import Files
from vault_memory.vault.reader import LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import Snapshots
from vault_memory.vault.write.preconditions import HOLD, half_saved
from vault_memory.vault.write.writer import real_path

CURATED = frozenset(
    {"user", "channel", "memory", "note", "dated", "facts", "rules", "reflection"}
)
"""Kinds of notes that ops may change"""
PERSONA = "persona"
"""Kind of note that only a move of sections, and its undo, may change"""
PAUSE_SECONDS = 0.02


class NoteAccess:
    """Reads the notes of one vault that commands may change."""

    def __init__(
        self, folder: Folder, layout: Layout, trail: AuditLog, files: Files
    ) -> None:
        self.files = files
        self._folder, self._layout, self._trail = folder, layout, trail

    def place(self, path: str, *, persona: bool = False) -> Place:
        """Returns the kind and scope of a note. Raises NotCurated, BadPath."""
        place = self._layout.place(path)
        if place is None:
            raise NotCurated(path, "")
        if place.kind in CURATED or (persona and place.kind == PERSONA):
            return place
        raise NotCurated(path, place.kind)

    def keeps_versions_of(self, path: str) -> bool:
        """Whether versions that people save are stored."""
        place = self._layout.place(path)
        return place is not None and (place.kind in CURATED or place.kind == "inbox")

    def real(self, path: str) -> str:
        """Resolves symlinks inside the vault."""
        return real_path(self.files, path) or path

    def read(self, path: str) -> Note | None:
        """Returns the note, also through a link; None when it is absent. Raises NotCurated, NoteUnreadable."""
        self.place(path, persona=True)
        try:
            return self._folder.read(self.real(path), max_bytes=LARGEST_STORED)
        except NoteNotFound:
            return None

    def has_folder(self, path: str) -> bool:
        """Whether the folder of a note exists."""
        folder = path.rpartition("/")[0]
        return os.path.isdir(os.path.join(self._folder.root, folder))

    def wait_for_complete_save(
        self,
        path: str,
        note: Note | None,
        snapshots: Snapshots,
        now: datetime,
        *,
        patient: bool,
    ) -> Note | None:
        """Returns the note to plan on, if need be after a short wait for a save that is under way."""
        may_be_mid_save = self._may_be_mid_save(path, note, snapshots)
        if patient and may_be_mid_save:
            note = self._wait_for_text(path, now) or note
        return None if note is None else _complete_version(note, snapshots, now)

    def _wait_for_text(self, path: str, now: datetime) -> Note | None:
        """Waits for the text of an absent or empty note while its file changes."""
        # An editor that saves in place leaves an empty note for a moment; one that makes a backup leaves none.
        file = Path(self._folder.root, path)
        deadline = time.monotonic() + HOLD
        while time.monotonic() < deadline and _changed_just_now(file, now):
            time.sleep(PAUSE_SECONDS)
            note = self.read(path)
            if note is not None and note.raw:
                return note
        return None

    def _may_be_mid_save(
        self, path: str, note: Note | None, snapshots: Snapshots
    ) -> bool:
        """Whether an absent or empty note had a text before, or a note is new and empty."""
        has_versions = snapshots.head(self.real(path)) is not None
        if note is None:
            return has_versions and not self._was_taken_away(path)
        return not has_versions and not note.raw

    def _was_taken_away(self, path: str) -> bool:
        """Whether the last record of an absent note took it away."""
        last = self._trail.last_of(path + ENDING)
        return last is not None and bool(last.before) and not last.after


def _complete_version(note: Note, snapshots: Snapshots, now: datetime) -> Note:
    """Returns the note, or the version before it where the note is half a save; the writer merges the other half."""
    head = snapshots.head(note.path)
    if head is None or head.revision == note.revision:
        return note
    if now.timestamp() - note.stat.ctime_ns / 1e9 >= HOLD:
        return note
    previous = snapshots.bytes_of(head.revision)
    if previous and half_saved(note.raw, previous):
        return note._replace(raw=previous, revision=head.revision)
    return note


def _changed_just_now(file: Path, now: datetime) -> bool:
    """Whether the file, or its folder where the file is missing, changed so lately that a save may be under way."""
    try:
        changed = (file if file.exists() else file.parent).stat().st_mtime
    except OSError:
        return False
    return now.timestamp() - changed < HOLD
