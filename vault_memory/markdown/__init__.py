"""Markdown as bytes: sections, items and chunks of a note. Pure: no files, no clock."""

from vault_memory.markdown.chunks import CHUNKING, Chunk, chunk, embed_text, identity
from vault_memory.markdown.document import Section, SectionedDoc, parse, render
from vault_memory.markdown.items import Item, ItemFields, item_spans, normalised, parse_item

__all__ = [
    "CHUNKING",
    "Chunk",
    "Item",
    "ItemFields",
    "Section",
    "SectionedDoc",
    "chunk",
    "embed_text",
    "identity",
    "item_spans",
    "normalised",
    "parse",
    "parse_item",
    "render",
]
