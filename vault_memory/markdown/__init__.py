"""Markdown as bytes: sections, items and chunks of a note, and three-way merge. Pure: no files, no clock.

Each public name is loaded when it is first asked for: a search in an index that is up to date reads no Markdown.
"""

from vault_memory.lazy import lazy_members

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from vault_memory.markdown.blocks.model import CHUNKING
    from vault_memory.markdown.chunking.chunk_text import Chunk, embed_text, identity
    from vault_memory.markdown.chunking.chunker import chunk
    from vault_memory.markdown.chunking.splitter import CAP, Piece, cut
    from vault_memory.markdown.document import Section, SectionedDoc, is_text, parse, render
    from vault_memory.markdown.editable_region import Region, item_marker, top_region
    from vault_memory.markdown.items import Item, ItemFields, normalised, parse_item
    from vault_memory.markdown.merging.similarity import LIKE, alike, likeness, made_of, words_in
    from vault_memory.markdown.merging.three_way import Conflict, Merged, merge

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
    "CAP": "chunking.splitter",
    "CHUNKING": "blocks.model",
    "Chunk": "chunking.chunk_text",
    "Conflict": "merging.three_way",
    "Item": "items",
    "ItemFields": "items",
    "LIKE": "merging.similarity",
    "Merged": "merging.three_way",
    "Piece": "chunking.splitter",
    "Region": "editable_region",
    "Section": "document",
    "SectionedDoc": "document",
    "alike": "merging.similarity",
    "chunk": "chunking.chunker",
    "cut": "chunking.splitter",
    "embed_text": "chunking.chunk_text",
    "identity": "chunking.chunk_text",
    "is_text": "document",
    "item_marker": "editable_region",
    "likeness": "merging.similarity",
    "made_of": "merging.similarity",
    "merge": "merging.three_way",
    "normalised": "items",
    "parse": "document",
    "parse_item": "items",
    "render": "document",
    "top_region": "editable_region",
    "words_in": "merging.similarity",
}

__getattr__ = lazy_members(__name__, _MODULES)
