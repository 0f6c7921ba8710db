"""What is known of a conflict copy that lies beside its note, and what became of one."""

from dataclasses import dataclass, field
from typing import Literal

from vault_memory.edits.edit_result import Edit
from vault_memory.edits.plans.merge_copy import Folded, State
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.rules.edits.unified_diff import unified
from vault_memory.vault.reader import Note

Outcome = Literal[
    "merged", "taken", "discarded", "pending", "changed", "conflict", "none"
]


@dataclass(frozen=True, slots=True)
class ConflictCopy:
    """One conflict copy, as it stands beside its note."""

    id: str
    """of this copy with these bytes"""
    note: str
    path: str
    program: str
    """that made it, as far as its name tells"""
    date: str
    """when it was made, or last changed: ``2026-11-21``, with a time where that is known"""
    kind: str
    """of the note"""
    scope: str
    revision: str
    state: State | Literal["orphan"]
    """`orphan`: the note is not there"""
    why: str
    sure: bool = True
    """whether its name can mean nothing else"""
    folded: Folded = field(default=Folded("conflict"), repr=False)
    there: Note | None = field(default=None, repr=False)
    """the note"""
    raw: bytes = field(default=b"", repr=False)
    changed_ns: int = 0

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The places that both changed."""
        return self.folded.conflicts

    @property
    def diff(self) -> bytes:
        """What the copy says otherwise than the note, as a unified diff."""
        return unified(self.there.raw if self.there else b"", self.raw, self.note)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a copy."""

    copy: ConflictCopy
    outcome: Outcome
    why: str = ""
    edit: Edit | None = None
