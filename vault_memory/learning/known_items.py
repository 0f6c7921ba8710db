"""Finds the item that says already what someone asks to remember."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.learning.duplicate_filter import ExistingItem
from vault_memory.rules.learning.twins import TwinIndex, compared, may_have_twin

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.rules.paths.scope_notes import Places


class KnownItem(NamedTuple):
    """An item that says what a new text says."""

    item: ExistingItem
    is_shorter: bool
    """the new text says all that the item says, and more"""
    is_replaceable: bool


def find_known(edits: "EditCalls", places: "Places", line: str) -> KnownItem | None:
    """Returns the item of the scope that is the best twin of a line."""
    items: list[ExistingItem] = []
    new = compared(line)
    for note in memory_notes(places):
        raw = _read(edits, note)
        if may_have_twin(new, raw.decode("utf-8", "replace")):
            items += items_in(note, parse(raw))
    twin = TwinIndex(item.text for item in items).find(line)
    if twin is None or not twin.is_duplicate:
        return None
    item = items[twin.position]
    doc = parse(_read(edits, item.note))
    records = edits.editor.trail.of(item.note)
    return KnownItem(item, twin.replaces, is_replaceable(item, doc, records))


def memory_notes(places: "Places") -> Iterator[str]:
    """Yields the notes whose items are memories: the profile and the notes of the scope."""
    yield places.profile
    yield from places.undated
    for _, note in places.dated:
        yield note


def items_in(note: str, doc: SectionedDoc) -> Iterator[ExistingItem]:
    """Yields the items of a note at the top level: a nested one depends on its parent."""
    for item in items_of(doc):
        # Fault: to replace a nested item would take it from its parent.
        if item.depth == 1:
            yield ExistingItem(note, item.heading, item.text)


def _read(edits: "EditCalls", note: str) -> bytes:
    try:
        return edits.vault.folder.read(note).raw
    except VaultMemoryError:
        # A missing or damaged note must not keep the others from being compared.
        return b""


def is_replaceable(item: ExistingItem, doc: SectionedDoc, records: Iterable[Record]) -> bool:
    """Returns whether the bot wrote an item, and no person confirmed it.

    `doc` and `records` are the item's note and its audit.
    """
    # Fault: a person confirmed the line. The bot must not replace it.
    if parse_item(item.text).confirmed:
        return False
    own_items = replay(records).bots_items(doc)
    return (item.heading, item.text) in {(own.heading, own.text) for own in own_items}
