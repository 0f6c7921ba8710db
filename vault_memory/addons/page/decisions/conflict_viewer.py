"""The conflict copies and deleted notes that a session may see, and how it resolves and restores them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.conflict_copies import find_copy

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import ThrownNote


class ConflictViewer:
    """The conflicts and the trash of a vault, as one session may see them."""

    def __init__(self, memory: VaultMemory, scopes: Sequence[str]) -> None:
        self._memory = memory
        self._scopes = scopes

    def copies(self) -> "list[ConflictCopy]":
        """Return the conflict copies, by note."""
        return self._memory.conflicts(self._scopes)

    def find(self, copy_id: str) -> "ConflictCopy":
        """Return the only copy whose id begins so. Raises UnclearId."""
        return find_copy(self.copies(), copy_id)

    def merge(self, copy_id: str, *, both: bool = False) -> "list[ResolvedConflict]":
        """Merge a copy into its note. Raises UnclearId."""
        calls = self._memory.conflicts
        return calls.merge([copy_id], both=both, scopes=self._scopes)

    def take(self, copy_id: str) -> "list[ResolvedConflict]":
        """Replace the text of the note by that of a copy. Raises UnclearId."""
        return self._memory.conflicts.take(copy_id, scopes=self._scopes)

    def discard(self, copy_id: str) -> "list[ResolvedConflict]":
        """Move a copy to the trash. Raises UnclearId."""
        return self._memory.conflicts.discard([copy_id], scopes=self._scopes)

    def save(self, copy: "ConflictCopy", text: bytes, base: bytes) -> "Edit":
        """Save the note of a copy as a person wrote it. Raises SaveConflict, NoteGone."""
        return self._memory.edits.save(copy.note, text, base=base)

    def trash(self) -> "list[ThrownNote]":
        """Return what was deleted in the last 30 days, newest first."""
        return self._memory.conflicts.trash(self._scopes)

    def untrash(self, thrown_id: str) -> "ThrownNote":
        """Restore a note or a copy from the trash. Raises UnclearId."""
        return self._memory.conflicts.untrash(thrown_id, scopes=self._scopes)

    def clean(self, reason: str) -> str:
        """Return a reason without folders of the machine."""
        return without_paths(reason, folders_of(self._memory))
