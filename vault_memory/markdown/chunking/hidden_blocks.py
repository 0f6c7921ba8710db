"""Finds what search leaves out of a note: navigation, comments, queries and settings of editors."""

import re
from collections.abc import Sequence

from vault_memory.markdown.blocks.model import Block
from vault_memory.markdown.chunking.chunk_text import COMMENT

_LINK = r"!?\[\[[^\[\]\n]+\]\]|\[[^\[\]\n]*\]\((?!\w+:)[^()\n]+\)"
_LABEL = r"(?:up|prev|previous|next|parent|back|home|index)::?(?=\s)"
_DEFINITION = r"^[ \t]*\[[^\[\]\n]+\]:[ \t]*(?!\w+:)\S+(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*$"
"""The place of a link in Markdown: `[boat]: ../boats/boat.md "Boat"` """
_NAVIGATION = re.compile(
    rf"(?>(?:{_LINK})|{_DEFINITION}|{_LABEL}|^[ \t]*\d+[.)][ \t]|[\s|·•,;:/<>«»←→↑↓⬅➡⬆⬇\ufe0f*+–—-])+",
    re.IGNORECASE | re.MULTILINE,
)
_QUERIES = frozenset({"dataview", "dataviewjs", "tasks", "query", "base", "tracker", "kanban"})
"""The languages of fences that an editor runs, and shows the result of"""
_SETTING = re.compile(
    r"(?:kanban-plugin|excalidraw-[\w-]+|cssclass(?:es)?|obsidianUIMode|obsidianEditingMode)[ \t]*:"
)
_KEY = re.compile(r"(\w(?:[\w -]*[\w-])?)[ \t]*+:")
_BOOKKEEPING = frozenset(
    {
        "tag",
        "tags",
        "topic",
        "date",
        "created",
        "date created",
        "updated",
        "modified",
        "date modified",
        "id",
        "uid",
        "uuid",
        "publish",
        "draft",
        "slug",
        "permalink",
        "layout",
    }
)
"""Fields that classify a note: filters find it by them, and they say nothing about its subject"""
_DRAWING = "excalidraw-plugin:"
_DRAWING_FENCES = frozenset({"json", "compressed-json"})
_DRAWING_HEADINGS = frozenset({"embedded files", "element links", "drawing"})
_DRAWING_WARNING = "==⚠"
_CODE = ("fence", "code")
COMMENT_SIGN = "%%"
FORMULA_SIGN = "$$"
_SIGNS = (COMMENT_SIGN.encode(), _DRAWING.encode())


def is_navigation(text: str) -> bool:
    """Return whether a text is nothing but links to other notes."""
    # Most texts have no link, and the pattern takes longer to say so.
    return "]" in text and _NAVIGATION.fullmatch(text) is not None


def is_setting(line: str) -> bool:
    """Return whether a line of front matter is a setting of an editor."""
    return _SETTING.match(line) is not None


def front_stretches(lines: Sequence[str], end: int) -> list[tuple[int, int]]:
    """Return the stretches of the front matter above `end` that say something about the subject.

    The first line is the edge of the front matter. A stretch is its first line and its end.
    """
    stretches: list[tuple[int, int]] = []
    is_hidden = False
    for number in range(1, end):
        key = _KEY.match(lines[number])
        # A line without a key belongs to the key above, such as an element of a list.
        if key:
            is_bookkeeping = key[1].casefold() in _BOOKKEEPING
            is_hidden = is_bookkeeping or is_setting(lines[number])
        if is_hidden:
            continue
        first = number
        if stretches and stretches[-1][1] == number:
            first, _ = stretches.pop()
        stretches.append((first, number + 1))
    return stretches


def is_query(first_line: str) -> bool:
    """Return whether a fence that begins with this line is a query of an editor."""
    return _language(first_line) in _QUERIES


def _language(first_line: str) -> str:
    # Fault: `dataview-notes` is a language of its own, so the complete word counts.
    info = first_line.strip().lstrip("`~").strip()
    return info.partition(" ")[0].casefold()


def may_hide(raw: bytes) -> bool:
    """Return whether a note may have comments over several blocks, or is a drawing."""
    return any(map(raw.__contains__, _SIGNS))


def hidden_blocks(lines: Sequence[str], body: int, blocks: Sequence[Block]) -> frozenset[int]:
    """Return the indexes of blocks that are comments, or the data of a drawing."""
    hidden = _commented(lines, blocks)
    if any(line.startswith(_DRAWING) for line in lines[:body]):
        hidden |= _drawn(lines, blocks)
    return frozenset(hidden)


def shown_headings(lines: Sequence[str], blocks: Sequence[Block]) -> list[Block]:
    """Return the headings that are in no comment and in no formula."""
    hidden = enclosed(lines, blocks, COMMENT_SIGN) | enclosed(lines, blocks, FORMULA_SIGN)
    return [
        block
        for index, block in enumerate(blocks)
        if block.kind == "heading" and index not in hidden
    ]


def _commented(lines: Sequence[str], blocks: Sequence[Block]) -> set[int]:
    """Return the blocks that are comments, and those within a comment."""
    hidden = enclosed(lines, blocks, COMMENT_SIGN)
    for index, block in enumerate(blocks):
        text = _text_with_signs(lines, block, COMMENT_SIGN)
        if text and not COMMENT.sub("", text).strip():
            hidden.add(index)
    return hidden


def enclosed(lines: Sequence[str], blocks: Sequence[Block], sign: str) -> set[int]:
    """Return the blocks from a line that begins or ends with a sign to the next such sign."""
    enclosed: set[int] = set()
    opened: int | None = None
    for index, block in enumerate(blocks):
        text = _text_with_signs(lines, block, sign)
        if text.count(sign) % 2 == 0:
            continue
        if opened is not None:
            # What follows the last sign in its block is text.
            end = index + 1 if text.rstrip().endswith(sign) else index
            enclosed.update(range(opened, end))
            opened = None
        elif text.lstrip().startswith(sign):
            opened = index
        elif f"\n{sign}" in text or text.rstrip().endswith(sign):
            # What is before the sign in its block is text.
            opened = index + 1
    return enclosed


def _text_with_signs(lines: Sequence[str], block: Block, sign: str) -> str:
    """Return the text of a block with these signs; empty for any other block."""
    is_nested = block.kind == "item" and block.level > 1
    # A cell of Matlab or Jupyter begins with the same sign as a comment.
    if is_nested or block.kind in _CODE:
        return ""
    text = "\n".join(lines[block.first : block.end])
    return text if sign in text else ""


def _drawn(lines: Sequence[str], blocks: Sequence[Block]) -> set[int]:
    """Return the blocks of a drawing that are not its texts."""
    hidden: set[int] = set()
    is_data = False
    for index, block in enumerate(blocks):
        first_line = lines[block.first]
        if block.kind == "heading":
            is_data = block.name.casefold() in _DRAWING_HEADINGS
        is_fence = block.kind == "fence" and _language(first_line) in _DRAWING_FENCES
        if is_data or is_fence or first_line.startswith(_DRAWING_WARNING):
            hidden.add(index)
    return hidden
