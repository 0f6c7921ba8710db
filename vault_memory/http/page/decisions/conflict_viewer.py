"""The conflict copies that a session may see, and how it resolves them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.conflict_copies import find_copy

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.edit_result import Edit


class ConflictViewer:
    """The conflicts of a vault, as one session may see them."""

    def __init__(
        self,
        memory: VaultMemory,
        scopes: Sequence[str],
    ) -> None:
        self._memory = memory
        self._scopes = scopes

    def copies(self) -> "list[ConflictCopy]":
        """Return the conflict copies, by note."""
        return self._memory.conflicts(self._scopes)

    def find(self, copy_id: str) -> "ConflictCopy":
        """Return the only copy whose id begins so. Raises UnclearId."""
        return find_copy(self.copies(), copy_id)

    def merge(
        self,
        copy_id: str,
        *,
        both: bool = False,
    ) -> "list[ResolvedConflict]":
        """Merge a copy into its note. Raises UnclearId."""
        calls = self._memory.conflicts
        return calls.merge([copy_id], both=both, scopes=self._scopes)

    def take(self, copy_id: str) -> "list[ResolvedConflict]":
        """Replace the text of the note by that of a copy. Raises UnclearId."""
        return self._memory.conflicts.take(copy_id, scopes=self._scopes)

    def discard(self, copy_id: str) -> "list[ResolvedConflict]":
        """Move a copy to the trash. Raises UnclearId."""
        return self._memory.conflicts.discard([copy_id], scopes=self._scopes)

    def save(
        self,
        copy: "ConflictCopy",
        text: bytes,
        base: bytes,
    ) -> "Edit":
        """Save the note of a copy as a person wrote it. Raises SaveConflict, NoteGone."""
        return self._memory.edits.save(copy.note, text, base=base)

    def clean(self, reason: str) -> str:
        """Return a reason without folders of the machine."""
        return without_paths(reason, folders_of(self._memory))
