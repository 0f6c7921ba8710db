"""Finds the top region of a section: everything before its first subheading.

There a bot may add, change and remove items.
"""

from functools import lru_cache
from typing import NamedTuple

from vault_memory.markdown.blocks.outline import decode, read_blocks
from vault_memory.markdown.document import line_starts
from vault_memory.markdown.item_text import marker_end, parts_of
from vault_memory.markdown.items import Item

CACHED = 8
"""Regions that are cached: an op reads that of its section before and after its edit"""


class Region(NamedTuple):
    """The top region of the body of a section; positions are bytes from the start of the body."""

    items: tuple[Item, ...]
    """In order; a nested item follows its parent and is inside it"""
    text_end: int
    """After the last line that is not blank"""
    ends_in_item: bool
    """Whether that line belongs to an item"""


@lru_cache(maxsize=CACHED)
def top_region(body: bytes) -> Region:
    """Return the top region of `body`, the bytes of a section after its heading."""
    starts = line_starts(body, whole=False)
    items: list[Item] = []
    text_end = 0
    ends_in_item = False
    for block in read_blocks(decode(body, whole=False), 0):
        if block.kind == "heading":
            break
        end = starts[block.end]
        is_item = block.kind == "item"
        start = starts[block.first]
        # Fault: `- 24. Dezember` is an item in an item. Its reader sees one, which can be replaced.
        if is_item and not (items and items[-1].start == start):
            items.append(Item(start, end, block.level))
        if end >= text_end:
            text_end = end
            ends_in_item = is_item
    return Region(tuple(items), text_end, ends_in_item)


def item_marker(item: bytes) -> bytes:
    """Return the indent, marker and box at the beginning of an item; empty without any."""
    return item[: marker_end(item)]


def marker_after_last(
    body: bytes,
    region: Region,
) -> bytes:
    """Return the marker of a new item at the end of a region, in the style of its last item."""
    top_items = [item for item in region.items if item.depth == 1]
    if not top_items or not region.ends_in_item:
        return b"- "
    last = top_items[-1]
    return marker_after(body[last.start : last.end])


def marker_after(item: bytes) -> bytes:
    """Return the marker of the item after `item`: the same, or the next number."""
    marker = parts_of(item).marker
    sign = marker.strip()
    if sign[:-1].isdigit():
        indent = marker[: len(marker) - len(marker.lstrip())]
        return indent + b"%d%s " % (int(sign[:-1]) + 1, sign[-1:])
    return marker if marker.endswith((b" ", b"\t")) else marker + b" "
