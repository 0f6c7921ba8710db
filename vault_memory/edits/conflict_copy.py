"""A conflict copy beside its note, the result of resolving one, and which wait for a person."""

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from vault_memory.database.connection import DatabaseError
from vault_memory.edits.edit_result import Edit
from vault_memory.edits.plans.copy_places import CopyDecisions, CopyPlace
from vault_memory.edits.plans.merge_copy import MergedCopy, State
from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.rules.edits.unified_diff import unified
from vault_memory.rules.paths.conflict_names import CopyName
from vault_memory.vault.reader import Note
from vault_memory.vault.write.writer import Writer

Outcome = Literal[
    "merged", "taken", "discarded", "settled", "pending", "changed", "conflict", "none"
]


@dataclass(frozen=True, slots=True)
class ConflictCopy:
    """A conflict copy beside its note."""

    id: str
    """of this copy with these bytes"""
    note: str
    path: str
    name: CopyName
    program: str
    """that made the copy, where the name says it"""
    date: str
    """when it was made, else last modified: ``2026-11-21``, with a time where that is known"""
    kind: str
    """of the note"""
    scope: str
    revision: str
    state: State | Literal["orphan"]
    """`orphan`: the note is not there"""
    why: str
    sure: bool
    """whether the name can only be that of a copy"""
    folded: MergedCopy = field(default=MergedCopy("conflict"), repr=False)
    current: Note | None = field(default=None, repr=False)
    """the note; None when it is not there"""
    raw: bytes = field(default=b"", repr=False)
    changed_ns: int = 0
    decisions: CopyDecisions = field(default=CopyDecisions(b"", b""), repr=False)
    """on its places; without places only the whole copy can be decided"""

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The places that both changed."""
        return self.folded.conflicts

    @property
    def places(self) -> list[CopyPlace]:
        """The places that differ and wait for a decision."""
        return self.decisions.open_places()

    @property
    def diff(self) -> bytes:
        """A unified diff from the note to the copy."""
        before = self.current.raw if self.current else b""
        return unified(before, self.raw, self.note)


@dataclass(frozen=True, slots=True)
class ResolvedConflict:
    """The result of resolving a copy."""

    copy: ConflictCopy
    outcome: Outcome
    why: str = ""
    edit: Edit | None = None


logger = logging.getLogger(__name__)

PREFIX = "conflict:"
KEPT_FOR = timedelta(days=400)
"""After the verdict was last given: a copy exists until a person resolves it"""
RENEWED_AFTER = timedelta(days=30)


class Verdicts:
    """The copies that wait for a person, by note and revision.

    A copy that was called a conflict stays one for as long as its bytes are the same: a later save
    of an unrelated line must not make it look mergeable. The journal keeps this over restarts. A
    name is a hash, so that no path and no text is kept.
    """

    def __init__(self, writer: Writer) -> None:
        self._journal = writer.journal

    def is_conflict(self, note: str, revision: str) -> bool:
        """Whether a copy with these bytes was called a conflict before."""
        return self._journal.state(_name(note, revision)) is not None

    def call_conflict(self, note: str, revision: str, now: datetime) -> None:
        """Remembers that a person has to resolve a copy with these bytes. A failing journal is logged."""
        name = _name(note, revision)
        try:
            last_verdict = self._journal.state(name)
            if last_verdict is not None:
                age = now - datetime.fromisoformat(last_verdict)
                # A commit waits for the disk, and the daemon looks at each copy again
                # and again.
                if age < RENEWED_AFTER:
                    return
            with self._journal.transaction():
                self._journal.set_state(name, now.isoformat())
                self._journal.drop_states(PREFIX, (now - KEPT_FOR).isoformat())
        except (VaultMemoryError, DatabaseError) as error:
            logger.warning("cannot remember that a conflict copy waits for a person: %s", error)


def _name(note: str, revision: str) -> str:
    return PREFIX + sha256(f"{note}\0{revision}".encode()).hexdigest()
