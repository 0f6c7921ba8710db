"""Finds what people deleted from the notes of a scope: no tool writes it again, in any note or words."""

from collections.abc import Callable, Iterator
from functools import cache

from vault_memory.edits.audit_log import AuditLog
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.ownership import Key, replay
from vault_memory.rules.learning.deleted_statements import DeletedStatements
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from vault_memory.models.llm import phrase_tables
else:
    phrase_tables = lazy_module("vault_memory.models.llm.phrase_tables")

FACTS = "facts"


class DeletedItems:
    """The items that people deleted, by the audits and the present notes of a vault."""

    def __init__(
        self,
        folder: Folder,
        layout: Layout,
        trail: AuditLog,
    ) -> None:
        self._folder = folder
        self._layout = layout
        self._trail = trail

    def of_scope(
        self,
        note: str,
    ) -> Callable[[str, str], bool]:
        """Returns a function that tells whether a line below a heading of a note was deleted.

        It reads the notes of the scope when it is first called.
        """
        place = self._layout.place(note)
        if place is None:
            return lambda heading, line: False
        is_page = place.kind == FACTS

        @cache
        def statements() -> DeletedStatements:
            return self._read(place.scope)

        def is_deleted(heading: str, line: str) -> bool:
            if is_page:
                return statements().has_fact(heading, line)
            return statements().has_sentence(line)

        return is_deleted

    def _read(self, scope: str) -> DeletedStatements:
        # Fault: a line moved to another note, or stands there, too.
        present = set(self._present_texts(scope))
        sentences: list[str] = []
        facts: list[Key] = []
        for note in self._trail.notes():
            place = self._layout.place(note)
            if place is None or place.scope != scope:
                continue
            history = replay(self._trail.of(note))
            deleted = [key for key in sorted(history.recorded) if key[1] not in present]
            if place.kind == FACTS:
                facts += deleted
            else:
                sentences += [text for _, text in deleted]
        return DeletedStatements(sentences, facts, phrase_tables.predicate_words)

    def _present_texts(self, scope: str) -> Iterator[str]:
        for path in self._folder.listing(suffixes=(".md",)).entries:
            place = self._layout.place(path)
            if place is not None and place.scope == scope:
                for item in items_of(self._doc(path)):
                    yield item.key[1]

    def _doc(self, path: str) -> SectionedDoc:
        try:
            return parse(self._folder.read(path).raw)
        except VaultMemoryError:
            # Another process removed the note after the listing.
            return parse(b"")
