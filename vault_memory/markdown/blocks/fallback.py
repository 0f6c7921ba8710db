"""Reads single blocks with markdown-it-py, by CommonMark block rules, where the scanner is not sure."""

from functools import cache
from typing import TYPE_CHECKING

from vault_memory.markdown.blocks.model import Block, heading_name, without_blank_end

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


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
