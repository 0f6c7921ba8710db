"""The audit records that a session may see, and how it takes one back."""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory import places
from vault_memory.addons.page.records.record_rows import RecordRow, Undoing, row_of
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import state_file
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.note_items import resolve

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Proposal, Record

EVERYTHING = "*"
"""In place of the scopes of a session that sees all of the vault"""
HINT = "the log lists the records with their ids"
FILE = "web-seen.json"
MOST_MARKS = 200


class RecordViewer:
    """The audit of a vault, as one session may see it."""

    def __init__(
        self, memory: VaultMemory, scopes: Sequence[str], *, sees_all: bool = False
    ) -> None:
        """`sees_all`: also records of notes that are in no scope any more."""
        self._memory = memory
        self._scopes = scopes
        self._chosen_scopes = None if sees_all else scopes
        # Fault: with the first note of a new person, all scopes are other scopes, and
        # everything would be new again.
        self._rights = (EVERYTHING,) if sees_all else scopes
        self._seen = SeenMarks(memory.vault.state.path)

    def newest_first(self) -> "Iterator[Record]":
        """Yield the records of the session's scopes."""
        yield from reversed(self._memory.log(scopes=self._chosen_scopes))

    def with_undoing(self) -> "Iterator[tuple[Record, str]]":
        """Yield the same records, each with the id of the record that undid it, or ""."""
        undoing = Undoing()
        for record in self.newest_first():
            yield record, undoing.add(record)

    def find(self, prefix: str) -> "Record":
        """Return the only record whose id begins so. Raises UnclearId."""
        record, _ = self._find(prefix)
        return record

    def row(self, prefix: str) -> RecordRow:
        """Return the only record whose id begins so, with all of its diff. Raises UnclearId."""
        record, undone_by = self._find(prefix)
        return row_of(record, undone_by, complete=True)

    def _find(self, prefix: str) -> "tuple[Record, str]":
        records = {
            record_id: (record, undone_by)
            for record, undone_by in self.with_undoing()
            for record_id in (*record.folded, record.id)
        }
        # Fault: the ids of other scopes among the candidates would show what others did.
        match = resolve(prefix, records)
        if not match.id:
            raise UnclearId("record", prefix, match.candidates, HINT)
        return records[match.id]

    def undo(self, prefix: str, *, dry_run: bool = False) -> "Edit":
        """Take back what a record did. Raises UnclearId, NotUndoable, Folded."""
        return self._memory.undo(prefix, dry_run=dry_run, scopes=self._chosen_scopes)

    def proposals(self) -> "list[Proposal]":
        """Return the proposals that wait for a person, the oldest first."""
        return list(self._memory.inbox(self._chosen_scopes))

    def conflicts(self) -> "list[ConflictCopy]":
        """Return the conflict copies, by note."""
        return self._memory.conflicts(self._scopes)

    def seen_mark(self) -> str:
        """Return the id of the newest record that was seen; empty before the first mark."""
        return self._seen.mark(self._rights)

    def mark_seen(self, record_id: str) -> None:
        """Move the seen mark forward to a record."""
        self._seen.move(self._rights, record_id)

    def reason(self, error: VaultMemoryError) -> str:
        """Return what an error says, without folders of the machine."""
        folders = folders_of(self._memory)
        return without_paths(f"{error.message}; {error.hint}", folders)

    def kind(self, note: str) -> str:
        """Return the kind of a note, such as `facts`; empty for a file that is no note."""
        place = self._memory.layout.place(note)
        return place.kind if place else ""


# --- Seen marks ---

# Seen marks: up to which audit record the sessions with the same rights have seen everything.
#
# They are in a file of the state folder, `web-seen.json`: digest of the scopes → id of the
# record.


class SeenMarks:
    """The seen marks of one vault. Several processes may use the same file."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        self._lock = state / f"{FILE}.lock"

    def mark(self, scopes: Collection[str]) -> str:
        """Return the id of the newest record that was seen; empty before the first mark."""
        return self._marks().get(_digest(scopes), "")

    def move(self, scopes: Collection[str], record_id: str) -> None:
        """Move the mark forward to a record."""
        key = _digest(scopes)
        places.make_private(self._lock.parent)
        with state_file.lock(self._lock):
            marks = self._marks()
            # Fault: an old view that is still open in another tab would move the mark back.
            newest = max(marks.pop(key, ""), record_id)
            marks[key] = newest
            recent = dict(list(marks.items())[-MOST_MARKS:])
            state_file.write(self._file, json.dumps(recent))

    def _marks(self) -> dict[str, str]:
        value = state_file.read_json(self._file)
        # Fault: a person may edit any file of the state folder. Then all records are new.
        if not isinstance(value, dict):
            return {}
        return {key: mark for key, mark in value.items() if isinstance(mark, str)}


def _digest(scopes: Collection[str]) -> str:
    """Return a digest: the file shall not say who looks at whose notes."""
    names = "\n".join(sorted(scopes))
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()
