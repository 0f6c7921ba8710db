"""Reads the body of a section: its items, and the place where a new item goes."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.outline import decode, read_blocks
from vault_memory.markdown.chunking.hidden_blocks import (
    COMMENT_SIGN,
    FORMULA_SIGN,
    enclosed,
    is_navigation,
)
from vault_memory.markdown.document import line_starts
from vault_memory.markdown.item_text import marker_end, parts_of
from vault_memory.markdown.items import Item

CACHED = 8
"""Regions that are cached: an op reads that of its section before and after its edit"""

_BELOW = r"%%|\^[A-Za-z0-9-]+[ \t]*$|\[\^?[^\[\]]+\]:|</|<!--"
_APPARATUS = re.compile(_BELOW)
"""How a line begins that is about the text above it: comment, block id, definition, end tag"""
_NEW_BLOCK = re.compile(rf"{_BELOW}|\$\$|\||!\[\[[^\[\]]*\]\][ \t]*$")
"""How a line begins that editors take for a block of its own: also a formula, a table or an embed"""


class Region(NamedTuple):
    """The body of a section as ops see it; positions are bytes from the start of the body."""

    items: tuple[Item, ...]
    """In order; a nested item follows its parent and is inside it"""
    text_end: int
    """After the last line that is not blank"""
    place: int
    """Where a new item goes: after the last item, else after the text"""
    after_item: bool
    """Whether an item is above that place, so that no blank line is needed"""
    is_loose: bool
    """Whether blank lines separate the last items"""


@lru_cache(maxsize=CACHED)
def top_region(body: bytes) -> Region:
    """Return the region of `body`, the bytes of a section after its heading."""
    lines = decode(body, whole=False)
    starts = line_starts(body, whole=False)
    all_blocks = read_blocks(lines, 0)
    blocks = _without_hidden(body, lines, all_blocks)
    items: list[Item] = []
    new = tuple.__new__  # a third of the cost of `Item(…)`
    line = -1
    for block in blocks:
        # Fault: `- 24. Dezember` is an item in an item. Its reader sees one, which can be replaced.
        if block.kind != "item" or block.first == line:
            continue
        line = block.first
        end = starts[_text_end(lines, block, _NEW_BLOCK)]
        items.append(new(Item, (starts[line], end, block.level)))
    text_end = starts[max((block.end for block in all_blocks), default=0)]
    top_items = _items_of_list(lines, blocks)
    if top_items:
        place = starts[_text_end(lines, top_items[-1], _NEW_BLOCK)]
        is_loose = _is_loose(lines, blocks, top_items)
        return Region(tuple(items), text_end, place, True, is_loose)
    line = _end_of_text(lines, blocks)
    return Region((), text_end, starts[line], False, False)


def _without_hidden(body: bytes, lines: Sequence[str], blocks: list[Block]) -> list[Block]:
    """Return the blocks that are in no comment and in no formula."""
    hidden: set[int] = set()
    for sign in (COMMENT_SIGN, FORMULA_SIGN):
        if sign.encode() in body:
            hidden |= enclosed(lines, blocks, sign)
    if not hidden:
        return blocks
    return [block for index, block in enumerate(blocks) if index not in hidden]


def _items_of_list(lines: Sequence[str], blocks: Sequence[Block]) -> list[Block]:
    """Return the items at the top, without a footer: links to other notes below the last rule."""
    items = [block for block in blocks if block.kind == "item" and block.level == 1]
    rule = max((block.first for block in blocks if block.kind == "rule"), default=-1)
    footer = [item for item in items if item.first > rule >= 0]
    texts = ["\n".join(lines[item.first : item.end]) for item in footer]
    if len(footer) < len(items) and all(map(is_navigation, texts)):
        return items[: len(items) - len(footer)]
    return items


def _text_end(lines: Sequence[str], block: Block, begins_other: re.Pattern[str]) -> int:
    """Return the end of an item or a paragraph: above a line at the margin that begins another block."""
    end = block.end
    # Markdown takes such a line for a part of the paragraph above it.
    for number in range(block.end - 1, block.first, -1):
        if lines[number][:1] in (" ", "\t"):
            break
        if begins_other.match(lines[number]):
            end = number
    return end


def _is_loose(lines: Sequence[str], blocks: Sequence[Block], top_items: Sequence[Block]) -> bool:
    """Return whether a blank line is between the last two items of the list."""
    if len(top_items) < 2:
        return False
    previous, last = top_items[-2:]
    signs = {lines[item.first].strip().lstrip("0123456789")[:1] for item in (previous, last)}
    # Another sign begins another list.
    if previous.end == last.first or len(signs) > 1:
        return False
    return not any(previous.end <= block.first < last.first for block in blocks)


def _end_of_text(lines: Sequence[str], blocks: Sequence[Block]) -> int:
    """Return the line after the text of a section without a list.

    Rules, comments, definitions and settings at the end are below it, and a footer below a rule.
    """
    count = len(blocks)
    while count and _is_apparatus(lines, blocks[count - 1]):
        count -= 1
    is_footer = count > 1 and blocks[count - 2].kind == "rule"
    if is_footer and (count < len(blocks) or _is_short(lines, blocks[count - 1])):
        return _end_of_text(lines, blocks[: count - 2])
    if not count:
        return 0
    # Fault: an item above the end tag of a table would be in the table.
    if blocks[count - 1].kind == "html":
        return blocks[count - 1].end
    return _text_end(lines, blocks[count - 1], _APPARATUS)


def _is_apparatus(lines: Sequence[str], block: Block) -> bool:
    if block.kind in ("rule", "reference"):
        return True
    text = lines[block.first : block.end]
    return block.kind in ("paragraph", "html") and all(map(_APPARATUS.match, text[:1]))


def _is_short(lines: Sequence[str], block: Block) -> bool:
    """Return whether a paragraph is a footer: one line, or nothing but links."""
    text = "\n".join(lines[block.first : block.end])
    return block.kind == "paragraph" and ("\n" not in text or is_navigation(text))


def needs_gap_before(text: bytes) -> bool:
    """Return whether a text would become a part of an item that is written directly above it."""
    line = text.split(b"\n")[0].rstrip(b"\r").decode("utf-8", "replace")
    return bool(line.strip(BLANKS)) and _NEW_BLOCK.match(line) is not None


def item_marker(item: bytes) -> bytes:
    """Return the indent, marker and box at the beginning of an item; empty without any."""
    return item[: marker_end(item)]


def marker_after(item: bytes) -> bytes:
    """Return the marker of the item after `item`: the same, or the next number."""
    marker = parts_of(item).marker
    sign = marker.strip()
    if sign[:-1].isdigit():
        indent = marker[: len(marker) - len(marker.lstrip())]
        number = b"%d" % (int(sign[:-1]) + 1)
        return indent + number.zfill(len(sign) - 1) + sign[-1:] + b" "
    return marker if marker.endswith((b" ", b"\t")) else marker + b" "
