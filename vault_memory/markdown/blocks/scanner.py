"""A fast reader of ordinary Markdown blocks, which says so when it is not sure.

`scan` reads the block that begins at a line: a heading, a list with its items, a paragraph, a fence, a quote, a rule,
or indented code. It does what markdown-it-py's block rules do (CommonMark, no tables) and returns 0 for all it does not
know: HTML, link reference definitions, lazy lines after quotes, code, quotes and headings in
items. The caller then asks markdown-it-py for that one block. Tests compare the two on generated and on real notes.
"""

from collections.abc import Callable

from vault_memory.markdown.blocks.list_scanner import scan_list
from vault_memory.markdown.blocks.model import (
    BLANKS,
    Block,
    heading_name,
    without_blank_end,
)
from vault_memory.markdown.blocks.patterns import (
    MAY_BREAK,
    breaks,
    closes,
    fence_mark,
    indented,
    is_fence,
    is_marker,
    is_rule,
    maybe_reference,
)

UNSURE = 0
"""Never the end of a block: that lies after its first line."""

Blocks = list[Block]


def scan(lines: list[str], line: int, blocks: Blocks) -> int:
    """Adds the block that begins at `line`, which is not blank; returns the line to go on from, or UNSURE."""
    text = lines[line]
    first = text[0]
    if first in BLANKS:
        indent = len(text) - len(text.lstrip(" "))
        first = text[indent]
        if indent > 3 or first == "\t":
            return _code(lines, line, blocks)
    reader = _READERS.get(first)
    return reader(lines, line, blocks) if reader else _paragraph(lines, line, blocks)


def _paragraph(lines: list[str], line: int, blocks: Blocks) -> int:
    end, count = line + 1, len(lines)
    while end < count:
        text = lines[end]
        if not text:
            break
        if text[0] in MAY_BREAK:
            stripped = text.lstrip(BLANKS)
            if not stripped:
                break
            found = (
                breaks(stripped)
                if stripped[0] in MAY_BREAK and not indented(text)
                else None
            )
            if found:
                if found.lastgroup == "ends":
                    break
                return (
                    _setext(lines, line, end, blocks)
                    if found.lastgroup == "underline"
                    else UNSURE
                )
        end += 1
    blocks.append(Block("paragraph", line, end))
    return end


def _setext(lines: list[str], line: int, underline: int, blocks: Blocks) -> int:
    level = 1 if "=" in lines[underline] else 2
    blocks.append(
        Block(
            "heading",
            line,
            underline + 1,
            level,
            heading_name(" ".join(lines[line:underline])),
        )
    )
    return underline + 1


def _heading(lines: list[str], line: int, blocks: Blocks) -> int:
    text = lines[line].strip(BLANKS)
    content = text.lstrip("#")
    level = len(text) - len(content)
    if level > 6 or (content and content[0] not in BLANKS):
        return _paragraph(lines, line, blocks)
    if content.endswith("#"):
        unclosed = content.rstrip("#")
        if unclosed[-1] in BLANKS:
            content = unclosed
    blocks.append(Block("heading", line, line + 1, level, heading_name(content)))
    return line + 1


def _fence(lines: list[str], line: int, blocks: Blocks) -> int:
    text = lines[line].lstrip(" ")
    if not is_fence(text):
        return _paragraph(lines, line, blocks)
    mark = fence_mark(text)
    for number in range(line + 1, len(lines)):
        if mark in lines[number] and closes(lines[number], mark):
            blocks.append(Block("fence", line, number + 1))
            return number + 1
    blocks.append(Block("fence", line, without_blank_end(lines, line, len(lines))))
    return len(lines)


def _code(lines: list[str], line: int, blocks: Blocks) -> int:
    end = number = line + 1
    while number < len(lines):
        text = lines[number]
        number += 1
        if text.strip(BLANKS):
            if not indented(text):
                break
            end = number
    blocks.append(Block("code", line, end))
    return end


def _quote(lines: list[str], line: int, blocks: Blocks) -> int:
    end = line + 1
    while end < len(lines):
        text = lines[end].lstrip(BLANKS)
        if not text:
            break
        if text[0] != ">" or indented(lines[end]):
            return UNSURE
        end += 1
    blocks.append(Block("quote", line, end))
    return end


def _rule(lines: list[str], line: int, blocks: Blocks) -> int:
    """A line that begins like a rule or a bullet."""
    text = lines[line].lstrip(" ")
    if is_rule(text):
        blocks.append(Block("rule", line, line + 1))
        return line + 1
    return _list(lines, line, blocks)


def _list(lines: list[str], line: int, blocks: Blocks) -> int:
    if not is_marker(lines[line].lstrip(" ")):
        return _paragraph(lines, line, blocks)
    return scan_list(lines, line, blocks)


def _reference(lines: list[str], line: int, blocks: Blocks) -> int:
    return (
        UNSURE
        if maybe_reference(lines[line].lstrip(" "))
        else _paragraph(lines, line, blocks)
    )


def _unsure(lines: list[str], line: int, blocks: Blocks) -> int:
    return UNSURE


_READERS: dict[str, Callable[[list[str], int, Blocks], int]] = {
    "#": _heading,
    "`": _fence,
    "~": _fence,
    ">": _quote,
    "[": _reference,
    "<": _unsure,
    **dict.fromkeys("-*_", _rule),
    **dict.fromkeys("+0123456789", _list),
}
