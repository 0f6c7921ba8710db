"""A conflict copy beside its note, and the result of resolving one."""

from dataclasses import dataclass, field
from typing import Literal

from vault_memory.edits.edit_result import Edit
from vault_memory.edits.plans.merge_copy import MergedCopy, State
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.rules.edits.unified_diff import unified
from vault_memory.vault.reader import Note

Outcome = Literal["merged", "taken", "discarded", "pending", "changed", "conflict", "none"]


@dataclass(frozen=True, slots=True)
class ConflictCopy:
    """A conflict copy beside its note."""

    id: str
    """of this copy with these bytes"""
    note: str
    path: str
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
    sure: bool = True
    """whether the name can only be that of a copy"""
    folded: MergedCopy = field(default=MergedCopy("conflict"), repr=False)
    current: Note | None = field(default=None, repr=False)
    """the note; None when it is not there"""
    raw: bytes = field(default=b"", repr=False)
    changed_ns: int = 0

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The places that both changed."""
        return self.folded.conflicts

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
