"""Reads notes for the editor: which files it may change, where links lead, and what a half-finished save hides."""

import os
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from vault_memory.edits.audit import deleted_items
from vault_memory.edits.audit_log import ENDING, AuditLog
from vault_memory.edits.commands import EditAction, EditCommand, RunOptions, SaveText
from vault_memory.edits.edit_errors import NotCurated, NoteChanged
from vault_memory.errors import BadPath, NoteNotFound
from vault_memory.models.llm import policy_tables
from vault_memory.rules.learning import write_policy
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.fs import Files
from vault_memory.vault.reader import LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.loaded_note import LoadedNote, real_path
from vault_memory.vault.write.preconditions import HOLD, half_saved
from vault_memory.vault.write.writer import Writer

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from vault_memory.edits.audit.deleted_items import DeletedItems, FindDeleted

CURATED = frozenset(
    {"user", "channel", "memory", "note", "dated", "episode", "facts", "rules", "reflection"}
)
"""Kinds of notes that ops may change"""
PERSONA = "persona"
"""Kind of note that only a move of sections, and its undo, may change"""
QUIET_SECONDS = 0.3
"""A note must be unchanged for this long before it is written while a user waits"""
PAUSE_SECONDS = 0.02
SHORTEST_REVISION = 12
"""Digits of a revision that name it"""


class NoteState(NamedTuple):
    """A note as an edit is planned from it: read once, and handed from station to station."""

    note: Note | None
    """None: the note is absent"""
    loaded: LoadedNote
    """What a write of it needs"""

    @property
    def revision(self) -> str | None:
        """The revision of the text to plan on; None: the note is absent."""
        return self.note.revision if self.note else None

    @property
    def raw(self) -> bytes | None:
        """The text to plan on; None: the note is absent."""
        return self.note.raw if self.note else None

    def full_revision(self, given: str | None) -> str | None:
        """Returns the current revision where `given` is a beginning of it: models get only the first digits."""
        current = self.note.revision if self.note else None
        if not given or not current or len(given) < SHORTEST_REVISION:
            return given
        return current if current.startswith(given) else given


class NoteAccess:
    """Reads the notes of one vault that commands may change."""

    def __init__(
        self, folder: Folder, layout: Layout, trail: AuditLog, files: Files, state: Path
    ) -> None:
        self.files = files
        self._folder, self._layout, self._trail = folder, layout, trail
        self._state = state

    def deleted(self, note: str) -> "FindDeleted":
        """Returns a function that finds the deleted items that a line below a heading of a note says again."""
        return self._deleted.of_scope(note)

    @cached_property
    def _deleted(self) -> "DeletedItems":
        return deleted_items.DeletedItems(self._folder, self._layout, self._trail)

    def kept_out(self, heading: str, lines: Iterable[str]) -> str:
        """Returns why no tool stores lines below a heading, by the tables of the write policy."""
        cues = policy_tables.policy_cues(self._state)
        return write_policy.reason_to_keep_out(heading, lines, cues.reasons)

    def place(self, path: str, *, persona: bool = False) -> Place:
        """Returns the kind and scope of a note. Raises NotCurated, BadPath."""
        place = self._layout.place(inside(path))
        if place is None:
            raise NotCurated(path, "")
        if place.kind in CURATED or (persona and place.kind == PERSONA):
            return place
        raise NotCurated(path, place.kind)

    def listed(self, path: str) -> str:
        """Returns the note's path as the folder spells it. Raises BadPath when that is of another scope."""
        listed = self._folder.listed(inside(path))
        # Fault: the layout could give the other spelling to another person.
        if listed != path and self._owner(listed) != self._owner(path):
            raise BadPath(path, f"the folder has it as `{listed}`")
        return listed

    def _owner(self, path: str) -> tuple[str, str] | None:
        place = self._layout.place(path)
        return (place.kind, place.scope) if place else None

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
        return self._read(self.real(path))

    def times(self, path: str) -> tuple[float, float]:
        """Returns when a note was saved and when its file changed; of an absent note those of its folder."""
        file = Path(self._folder.root, self.real(path))
        status = next(each for each in (file, *file.parents) if each.exists()).stat()
        return status.st_mtime, status.st_ctime

    def load(self, path: str, kind: str, writer: Writer) -> NoteState:
        """Returns a note of this kind for an edit, also through a link. Raises NotCurated, NoteUnreadable."""
        if kind not in CURATED and kind != PERSONA:
            raise NotCurated(path, kind)
        loaded = writer.load(path)
        # The reader tells an absent note from one that cannot be read.
        note = self._read(loaded.path) if loaded.file is None else loaded.note
        return NoteState(note, loaded)

    def _read(self, real: str) -> Note | None:
        try:
            return self._folder.read(real, max_bytes=LARGEST_STORED)
        except NoteNotFound:
            return None

    def has_folder(self, path: str) -> bool:
        """Whether the folder of a note exists."""
        folder = path.rpartition("/")[0]
        return os.path.isdir(os.path.join(self._folder.root, folder))

    def wait_for_complete_save(
        self, command: EditCommand, state: NoteState, writer: Writer, now: datetime
    ) -> NoteState:
        """Returns the note to plan on, after a short wait for a save that is under way."""
        if not self._may_be_mid_save(command.note, state):
            return state
        # Fault (A3, C23): an editor that saves in place leaves an empty note for a
        # moment. One that makes a backup leaves none.
        file = Path(self._folder.root, command.note)
        deadline = time.monotonic() + HOLD
        while time.monotonic() < deadline and _changed_just_now(file, now):
            time.sleep(PAUSE_SECONDS)
            newer = self.load(command.note, command.kind, writer)
            if newer.raw:
                return newer
        return state

    def complete_version(
        self, action: EditAction, state: NoteState, writer: Writer, now: datetime
    ) -> NoteState:
        """Returns the version before a note that is half a save; the writer merges the other half."""
        note, head = state.note, state.loaded.head
        if note is None or (head and head.revision == note.revision):
            return state
        age = now.timestamp() - note.stat.ctime_ns / 1e9
        if age >= HOLD:
            return state
        previous = writer.snapshots.bytes_of(head.revision) if head else None
        is_half = bool(previous) and half_saved(note.raw, previous)
        # Fault (A4): half a save would be a conflict with a person's text. From its base,
        # the writer waits until the save is complete, and then merges.
        if isinstance(action, SaveText) and (is_half or age < QUIET_SECONDS):
            previous = action.base.encode()
        elif not is_half:
            return state
        # Fault (A4): a plan on half a save would put the bot's lines into sections that are
        # about to return.
        assert previous is not None, "half a save is one of a version"
        revision = revision_of(previous)
        return state._replace(note=note._replace(raw=previous, revision=revision))

    def _may_be_mid_save(self, path: str, state: NoteState) -> bool:
        """Whether an absent or empty note had a text before, or a note is new and empty."""
        has_versions = state.loaded.head is not None
        if state.note is None:
            last = self._trail.last_of(path + ENDING)
            # The last record may have taken the note away.
            return has_versions and not (last and last.before and not last.after)
        return not has_versions and not state.note.raw


def text_of_expected(
    command: EditCommand,
    state: NoteState,
    options: RunOptions,
    bytes_of: Callable[[str | None], bytes | None],
) -> bytes | None:
    """Returns the text that the ops were made for, where the note has another one now.

    Raises NoteChanged where the two must not be merged.
    """
    current = state.revision
    expected = state.full_revision(options.expected)
    if expected is None or expected == current:
        return None
    # Fault (A8): the caller planned on a text that is gone. Merged without its
    # consent, its ops could hit other lines.
    if not options.merge:
        raise NoteChanged(command.note, expected, current)
    return bytes_of(expected)


def _changed_just_now(file: Path, now: datetime) -> bool:
    """Whether the file, or its folder where the file is missing, changed so lately that a save may be under way."""
    try:
        changed = (file if file.exists() else file.parent).stat().st_mtime
    except OSError:
        return False
    return now.timestamp() - changed < HOLD
