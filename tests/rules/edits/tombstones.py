"""What the audit of a note says that its people deleted."""

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.ownership import Ownership


def tombstones(ownership: Ownership, doc: SectionedDoc) -> frozenset[str]:
    """The normalised texts that the bot wrote, and that the note has no more."""
    return ownership.texts - {item.key[1] for item in items_of(doc)}
