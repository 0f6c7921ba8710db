"""markdown-it-py, asked about a whole note at once: what the block structure ought to be."""

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from vault_memory.markdown.blocks.model import BLANKS, Block, without_blank_end
from vault_memory.markdown.blocks.outline import MAX_NESTING

KINDS = {
    "heading_open": "heading",
    "list_item_open": "item",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "blockquote_open": "quote",
    "hr": "rule",
}


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def blocks_of(text: str) -> list[Block]:
    """The blocks at the top level and the items in items; what has no token is a link reference definition."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = _parser().parse(text)
    return _with_references(_blocks(tokens, lines), lines)


def _blocks(tokens: list[Token], lines: list[str]) -> list[Block]:
    blocks, quotes = [], 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        at_top = token.level == 0 or (token.type == "list_item_open" and not quotes)
        if at_top and token.type in KINDS and token.map:
            kind = KINDS[token.type]
            level = int(token.tag[1]) if kind == "heading" else (token.level + 1) // 2
            name = " ".join(following.content.split()) if kind == "heading" and following else ""
            end = without_blank_end(lines, token.map[0], token.map[1])
            blocks.append(Block(kind, token.map[0], end, level, name))
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
    return blocks


def _with_references(blocks: list[Block], lines: list[str]) -> list[Block]:
    covered = {number for block in blocks for number in range(block.first, block.end)}
    first = None
    for number, line in enumerate([*lines, ""]):
        uncovered = number not in covered and bool(line.strip(BLANKS))
        if uncovered and first is None:
            first = number
        elif not uncovered and first is not None:
            blocks.append(Block("reference", first, number))
            first = None
    return sorted(blocks, key=lambda block: (block.first, block.level))
