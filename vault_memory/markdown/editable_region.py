"""The top region of a section: all before the first heading below it. It is where a bot may add, change and remove."""

import re
from typing import NamedTuple

from vault_memory.markdown.blocks.outline import decode, read_blocks
from vault_memory.markdown.document import line_starts
from vault_memory.markdown.items import Item

_MARKER = re.compile(
    rb"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|(?=[\r\n]|$))(?:\[[ xX-]\](?:[ \t]+|(?=[\r\n]|$)))?"
)


class Region(NamedTuple):
    """What stands in the top region of a section's body; positions are bytes from the start of the body."""

    items: tuple[Item, ...]
    """in order; a nested item follows its parent and lies inside it"""
    text_end: int
    """after the last line that is not blank"""
    ends_in_item: bool
    """whether that line belongs to an item"""


def top_region(body: bytes) -> Region:
    """The top region of `body`, the bytes of a section after its heading."""
    starts = line_starts(body, whole=False)
    items: list[Item] = []
    text_end, ends_in_item = 0, False
    for block in read_blocks(decode(body, whole=False), 0):
        if block.kind == "heading":
            break
        if block.kind == "item":
            items.append(Item(starts[block.first], starts[block.end], block.level))
        if starts[block.end] >= text_end:
            text_end, ends_in_item = starts[block.end], block.kind == "item"
    return Region(tuple(items), text_end, ends_in_item)


def item_marker(item: bytes) -> bytes:
    """The indent, marker and box with which an item begins; empty when it begins with none."""
    found = _MARKER.match(item)
    return found[0] if found else b""
