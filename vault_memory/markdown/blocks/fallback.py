"""What the scanner is not sure of, read by markdown-it-py: CommonMark block rules, one block at a time."""

from functools import cache
from typing import TYPE_CHECKING

from vault_memory.markdown.blocks.model import Block, heading_name, without_blank_end

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


MAX_NESTING = 60
"""Levels (an item in an item is two) before markdown-it-py gives up and takes the rest of the note for part of the
deepest block. Its own 20 are fewer than outlines have: the headings below such a list would be lost."""


class HandOver:
    """Asks markdown-it-py for single blocks of one note."""

    def __init__(self, lines: list[str]) -> None:
        from markdown_it.rules_block import StateBlock

        self._lines = lines
        self._state = StateBlock(
            "\n".join(lines).replace("\0", "\ufffd"), _parser(), {}, []
        )

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
        _add_reference(blocks, first, end)
    elif tokens[0].type == "heading_open":
        blocks.append(
            Block(
                "heading",
                first,
                end,
                int(tokens[0].tag[1]),
                heading_name(tokens[1].content),
            )
        )
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
