"""The block structure of a note: where headings, items, paragraphs and fences begin and end.

The authority is markdown-it-py (CommonMark block rules). It is asked block by block: a block at the top level depends on
nothing above it, so each one may be read by the line scanner where that is sure, and by markdown-it-py where it is not.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

BLANKS = " \t"
"""What may stand on a blank line. A form feed or a no-break space is text."""

BOM = "\ufeff"

_FRONT_EDGE = re.compile(r"---[ \t]*")
_FRONT_END = re.compile(r"(?:---|\.\.\.)[ \t]*")


class Block(NamedTuple):
    """A block at the top level of a note, or an item nested in one."""

    kind: str
    """heading, item, paragraph, fence, code, html, quote, rule, reference"""
    first: int
    """0-based line"""
    end: int
    """0-based line after the last one; trailing blank lines are not part of a block"""
    level: int = 0
    """of a heading 1 to 6; of an item its depth, 1 at the top; a nested item follows its parent"""
    name: str = ""
    """of a heading"""


class Outline(NamedTuple):
    """The lines of a note and what they are."""

    lines: list[str]
    """decoded, without line ends and BOM"""
    body: int
    """the first line after the front matter; 0 without any"""
    blocks: list[Block]


def decode(raw: bytes) -> list[str]:
    """The lines of a note as markdown-it-py counts them, for any bytes; a final newline gives a last, empty line."""
    text = raw.decode("utf-8", "replace").removeprefix(BOM)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def front_matter_end(lines: list[str]) -> int:
    """The number of lines that front matter takes at the top, with both its edges; 0 when there is none."""
    if not lines[0].startswith("---") or not _FRONT_EDGE.fullmatch(lines[0]):
        return 0
    for number in range(1, len(lines)):
        if _FRONT_END.fullmatch(lines[number]):
            return number + 1
    return 0


def outline(raw: bytes) -> Outline:
    """The block structure of a note."""
    lines = decode(raw)
    body = front_matter_end(lines)
    return Outline(lines, body, read_blocks(lines, body))


def read_blocks(lines: list[str], start: int) -> list[Block]:
    """The blocks from line `start` on, in order."""
    blocks: list[Block] = []
    asked: HandOver | None = None
    line, count = start, len(lines)
    while line < count:
        if not lines[line].strip(BLANKS):
            line += 1
            continue
        asked = asked or HandOver(lines)
        line = asked.read(line, blocks)
    return blocks


class HandOver:
    """Asks markdown-it-py for single blocks of one note."""

    def __init__(self, lines: list[str]) -> None:
        from markdown_it.rules_block import StateBlock

        self._lines = lines
        self._state: StateBlock = StateBlock("\n".join(lines).replace("\0", "\ufffd"), _parser(), {}, [])

    def read(self, line: int, blocks: list[Block]) -> int:
        """Adds the block that begins at `line`, and its nested items; returns the line to go on from."""
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
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


_KINDS = {
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "blockquote_open": "quote",
}


def _add(blocks: list[Block], tokens: "list[Token]", lines: list[str], first: int, end: int) -> None:
    end = without_blank_end(lines, first, end)
    if not tokens:
        _add_reference(blocks, first, end)
    elif tokens[0].type == "heading_open":
        blocks.append(Block("heading", first, end, int(tokens[0].tag[1]), heading_name(tokens[1].content)))
    elif tokens[0].type in _KINDS:
        blocks.append(Block(_KINDS[tokens[0].type], first, end))
    else:
        _add_items(blocks, tokens, lines)


def _add_reference(blocks: list[Block], first: int, end: int) -> None:
    if blocks and blocks[-1].kind == "reference" and blocks[-1].end == first:
        first = blocks.pop().first
    blocks.append(Block("reference", first, end))


def _add_items(blocks: list[Block], tokens: "list[Token]", lines: list[str]) -> None:
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


def without_blank_end(lines: list[str], first: int, end: int) -> int:
    """The end of lines `first` to `end` when blank lines at their end are left out."""
    while end > first + 1 and not lines[end - 1].strip(BLANKS):
        end -= 1
    return end


def heading_name(content: str) -> str:
    """What a heading is called: its text in one line."""
    return " ".join(content.split())
