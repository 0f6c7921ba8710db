"""Markdown as bytes: sections, items and chunks of a note, and three-way merge. Pure: no files, no clock.

Nothing is loaded until it is used: a search in an index that is up to date reads no Markdown.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.markdown.block import CHUNKING

if TYPE_CHECKING:
    from vault_memory.markdown.chunk_text import Chunk, embed_text, identity
    from vault_memory.markdown.chunks import chunk
    from vault_memory.markdown.cutting import CAP, Piece, cut
    from vault_memory.markdown.document import Section, SectionedDoc, is_text, parse, render
    from vault_memory.markdown.items import Item, ItemFields, normalised, parse_item
    from vault_memory.markdown.merging import Conflict, Merged, merge
    from vault_memory.markdown.merging.likeness import LIKE, alike, likeness, made_of, words_in
    from vault_memory.markdown.region import Region, item_marker, top_region

__all__ = [
    "CAP",
    "CHUNKING",
    "LIKE",
    "Chunk",
    "Conflict",
    "Item",
    "ItemFields",
    "Merged",
    "Piece",
    "Region",
    "Section",
    "SectionedDoc",
    "alike",
    "chunk",
    "cut",
    "embed_text",
    "identity",
    "is_text",
    "item_marker",
    "likeness",
    "made_of",
    "merge",
    "normalised",
    "parse",
    "parse_item",
    "render",
    "top_region",
    "words_in",
]

_MODULES = {
    "chunk": "chunks",
    **dict.fromkeys(("Chunk", "embed_text", "identity"), "chunk_text"),
    **dict.fromkeys(("CAP", "Piece", "cut"), "cutting"),
    **dict.fromkeys(("Section", "SectionedDoc", "is_text", "parse", "render"), "document"),
    **dict.fromkeys(("Item", "ItemFields", "normalised", "parse_item"), "items"),
    **dict.fromkeys(("Conflict", "Merged", "merge"), "merging"),
    **dict.fromkeys(("LIKE", "alike", "likeness", "made_of", "words_in"), "merging.likeness"),
    **dict.fromkeys(("Region", "item_marker", "top_region"), "region"),
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        globals()[name] = found = getattr(import_module(f"vault_memory.markdown.{_MODULES[name]}"), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
