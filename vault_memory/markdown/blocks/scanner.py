"""Reads ordinary Markdown blocks fast, and reports where it is not sure.

`scan` reads the block that begins at a line: a heading, a list with its items, a paragraph, a fence, a
quote, a rule, or indented code. It follows the block rules of markdown-it-py (CommonMark, no tables). It
returns UNSURE for other constructs: HTML, link reference definitions, lazy lines after quotes, and code,
quotes or headings in items. The caller then reads that one block with markdown-it-py. Tests compare the
two on generated and on real notes.
"""

from collections.abc import Callable

from vault_memory.markdown.blocks.list_scanner import scan_list
from vault_memory.markdown.blocks.model import BLANKS, Block, heading_name, without_blank_end
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
"""Never the end of a block, which comes after its first line"""

Blocks = list[Block]


def scan(lines: list[str], line: int, blocks: Blocks) -> int:
    """Add the block that begins at `line`, which is not blank; return the line after it, or UNSURE."""
    text = lines[line]
    first = text[0]
    if first in BLANKS:
        indent = len(text) - len(text.lstrip(" "))
        first = text[indent]
        if indent > 3 or first == "\t":
            return _code(lines, line, blocks)
    read = _READERS.get(first, _paragraph)
    return read(lines, line, blocks)


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
            if stripped[0] in MAY_BREAK and not indented(text):
                match = breaks(stripped)
                kind = match.lastgroup if match else None
                if kind == "ends":
                    break
                if kind == "underline":
                    return _setext(lines, line, end, blocks)
                if kind == "unsure":
                    return UNSURE
        end += 1
    blocks.append(Block("paragraph", line, end))
    return end


def _setext(lines: list[str], line: int, underline: int, blocks: Blocks) -> int:
    """Add a heading with an underline."""
    level = 1 if "=" in lines[underline] else 2
    name = heading_name(" ".join(lines[line:underline]))
    blocks.append(Block("heading", line, underline + 1, level, name))
    return underline + 1


def _heading(lines: list[str], line: int, blocks: Blocks) -> int:
    text = lines[line].strip(BLANKS)
    content = text.lstrip("#")
    level = len(text) - len(content)
    if level > 6 or (content and content[0] not in BLANKS):
        return _paragraph(lines, line, blocks)
    # The marks at the end of `# C #` are not part of the name, those of `# C#` are.
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
    # An open fence takes all lines to the end of the note.
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
        # A line without a mark may continue a paragraph in the quote.
        if text[0] != ">" or indented(lines[end]):
            return UNSURE
        end += 1
    blocks.append(Block("quote", line, end))
    return end


def _rule(lines: list[str], line: int, blocks: Blocks) -> int:
    """Read a line that begins like a rule or a bullet."""
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
    if maybe_reference(lines[line].lstrip(" ")):
        return UNSURE
    return _paragraph(lines, line, blocks)


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
