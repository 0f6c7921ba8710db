"""Decides what belongs to some scopes. What lies outside is answered like what does not exist."""

from collections.abc import Callable, Sequence

from vault_memory.errors import NoteNotFound
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths.conflict_names import copy_of, original_path
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scopes import check_scopes


class ScopeFilter:
    """Chooses the notes and records of some scopes. Raises UsageError for a name that is no scope."""

    def __init__(self, layout: Layout, scopes: Sequence[str], real: Callable[[str], str]) -> None:
        """`real` resolves links inside the vault."""
        check_scopes(scopes)
        self._layout = layout
        self.scopes = frozenset(scopes)
        self._real = real

    def has_note(self, path: str) -> bool:
        """Whether a path is a note of these scopes."""
        place = self._layout.place(path)
        return place is not None and place.scope in self.scopes

    def opens_note(self, path: str) -> bool:
        """Whether a path is a note of these scopes, and leads to no other note than one of theirs."""
        # Fault (H124): a link could lead to the note of another person.
        return self.has_note(path) and self.has_note(self._real(path))

    def check_note(self, path: str) -> None:
        """Raises NoteNotFound for a path that is no note of these scopes."""
        if not self.opens_note(path):
            raise NoteNotFound(path)

    def has_record(self, record: Record) -> bool:
        """Whether a record is about a note of these scopes.

        A record about a note that no layout claims belongs to the person that it names.
        """
        place = self._layout.place(record.note)
        scope = place.scope if place else f"user:{record.user_id}"
        return scope in self.scopes

    def has_file(self, path: str) -> bool:
        """Whether a path is a note of these scopes, or a conflict copy of one."""
        # Fault: no layout names a conflict copy. One in the trash would be nobody's.
        name = copy_of(path.rpartition("/")[2])
        return self.has_note(original_path(path, name) if name else path)
