"""Reads the block structure of a note: where headings, items, paragraphs and fences begin and end.

The authority is markdown-it-py (CommonMark block rules). A block at the top level depends on nothing
above it, so each block is read by our line scanner where that is sure, and else by markdown-it-py.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown import encodings
from vault_memory.markdown.blocks.incremental import reread
from vault_memory.markdown.blocks.model import BLANKS, Block, heading_name, without_blank_end
from vault_memory.markdown.blocks.scanner import UNSURE, scan

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


BOM = "\ufeff"
LONG = 400
"""Lines from which on the blocks of a text are cached"""
MOST = 4
"""How many long texts are cached"""

_FRONT_EDGE = re.compile(r"---[ \t]*")
_FRONT_END = re.compile(r"(?:---|\.\.\.)[ \t]*")


class Outline(NamedTuple):
    """The lines of a note and their blocks."""

    lines: list[str]
    """Decoded, without line ends and BOM"""
    body: int
    """The first line after the front matter; 0 without any"""
    blocks: list[Block]


def decode(raw: bytes, *, whole: bool = True) -> list[str]:
    """Return the lines of a note as markdown-it-py counts them. Any bytes are a note.

    A final newline gives a last, empty line. At the beginning of a section, which is not a `whole`
    note, a BOM is a letter like others.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = encodings.text_of_lines(raw)
    if whole:
        text = text.removeprefix(BOM)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def front_matter_end(lines: list[str]) -> int:
    """Return the number of lines of the front matter with both its edges; 0 without any."""
    if not lines[0].startswith("---") or not _FRONT_EDGE.fullmatch(lines[0]):
        return 0
    for number in range(1, len(lines)):
        if _FRONT_END.fullmatch(lines[number]):
            return number + 1
    return 0


def outline(raw: bytes) -> Outline:
    """Return the block structure of a note."""
    lines = decode(raw)
    body = front_matter_end(lines)
    return Outline(lines, body, read_blocks(lines, body))


class _CachedText(NamedTuple):
    """A long text and its blocks."""

    lines: list[str]
    start: int
    blocks: list[Block]


_recent: tuple[_CachedText, ...] = ()


def read_blocks(lines: list[str], start: int) -> list[Block]:
    """Return the blocks from line `start` on, in order. The caller must not change the list.

    Of a long text that differs little from a recent one, only the difference is read.
    """
    global _recent
    if len(lines) < LONG:
        return _read_all(lines, start)
    recent = _recent
    for index, cached in enumerate(recent):
        text = _read_from(cached, lines, start)
        if text is not None:
            _recent = (text, *recent[:index], *recent[index + 1 :])
            return text.blocks
    blocks = _read_all(lines, start)
    _recent = (_CachedText(lines, start, blocks), *recent[: MOST - 1])
    return blocks


def _read_from(cached: _CachedText, lines: list[str], start: int) -> _CachedText | None:
    """Return a text read with the help of a cached one; None where they differ too much."""
    if cached.start != start:
        return None
    if cached.lines == lines:
        return cached
    blocks = reread(cached.lines, cached.blocks, lines, start)
    return None if blocks is None else _CachedText(lines, start, blocks)


def _read_all(lines: list[str], start: int) -> list[Block]:
    blocks: list[Block] = []
    fallback: FallbackReader | None = None
    line, count = start, len(lines)
    while line < count:
        if not lines[line] or not lines[line].strip(BLANKS):
            line += 1
            continue
        end = scan(lines, line, blocks)
        if end == UNSURE:
            fallback = fallback or FallbackReader(lines)
            end = fallback.read(line, blocks)
        line = end
    return blocks


MAX_NESTING = 60
"""Levels (an item in an item is two) that markdown-it-py reads.

Below them it takes the remaining note for a part of the deepest block. Its default of 20 is fewer than
outlines have: the headings below such a list would be lost."""


class FallbackReader:
    """Reads single blocks of one note with markdown-it-py."""

    def __init__(self, lines: list[str]) -> None:
        from markdown_it.rules_block import StateBlock  # slow to load, and rarely used

        self._lines = lines
        self._state = StateBlock("\n".join(lines).replace("\0", "\ufffd"), _parser(), {}, [])

    def read(self, line: int, blocks: list[Block]) -> int:
        """Add the block that begins at `line` with its nested items; return the line after it."""
        state = self._state
        state.tokens.clear()
        state.line = line
        for rule in _parser().block.ruler.getRules(""):
            if rule(state, line, state.lineMax, False):
                break
        _add(blocks, state.tokens, self._lines, line, state.line)
        return state.line


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # slow to load, and rarely used

    return MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})


_KINDS = {
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "blockquote_open": "quote",
}


def _add(
    blocks: list[Block], tokens: "list[Token]", lines: list[str], first: int, end: int
) -> None:
    end = without_blank_end(lines, first, end)
    if not tokens:
        # A link reference definition has no token.
        _add_reference(blocks, first, end)
        return
    token = tokens[0]
    if token.type == "heading_open":
        level, name = int(token.tag[1]), heading_name(tokens[1].content)
        blocks.append(Block("heading", first, end, level, name))
    elif token.type in _KINDS:
        blocks.append(Block(_KINDS[token.type], first, end))
    else:
        _add_items(blocks, tokens, lines)


def _add_reference(blocks: list[Block], first: int, end: int) -> None:
    """Add a link reference definition, or extend the one right above."""
    if blocks and blocks[-1].kind == "reference" and blocks[-1].end == first:
        first = blocks.pop().first
    blocks.append(Block("reference", first, end))


def _add_items(blocks: list[Block], tokens: "list[Token]", lines: list[str]) -> None:
    """Add the items of a list, without those inside quotes."""
    quotes = 0
    for token in tokens:
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type == "list_item_open" and not quotes and token.map:
            first, end = token.map
            end = without_blank_end(lines, first, end)
            blocks.append(Block("item", first, end, (token.level + 1) // 2))
