"""Reads a hostile note into markdown-it tokens, within limits of time, depth and size.

Nothing of the text is dropped: markdown-it-py leaves out link definitions, table cells without
a column, and all that is nested too deeply. A reader of the page must see what a bot reads.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from vault_memory.addons.page.note_html.link_resolver import LinkResolver

LONGEST_NOTE = 256 * 1024
"""Bytes of a note that is rendered"""
SECONDS = 1.0
"""CPU time for one note"""
DEEPEST_BLOCK = 60
"""Levels of lists and quotes (an item in an item is two), as many as the index reads"""
DEEPEST_TEXT = 20
"""Levels of links and emphasis"""

_BLOCK_STARTS = ["paragraph", "reference", "blockquote", "list"]
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]\n|]{0,500})(?:\|([^\[\]\n]{1,500}))?\]\](?!\()")


class TooLong(Exception):
    """The note is too long, too deep or too slow to render. Its raw text can be shown."""


class Limit:
    """The deadline of one note. It needs no signal, so it works in each thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = clock() + SECONDS

    def check(self) -> None:
        """Raise TooLong after the deadline."""
        if self._clock() > self._end:
            raise TooLong


class NoteParser:
    """Parses the text of one note."""

    def __init__(self, links: LinkResolver, limit: Limit) -> None:
        self._env: dict[str, Any] = {"references": {}, "links": links, "limit": limit}

    def blocks(self, text: str) -> list[Token]:
        """Return the tokens of the blocks. Those of type `inline` are not parsed yet."""
        parser = _block_parser()
        tokens: list[Token] = []
        parser.block.parse(text, parser, self._env, tokens)
        return tokens

    def inline(self, text: str) -> list[Token]:
        """Return the tokens of the text of one block."""
        parser = _inline_parser()
        tokens: list[Token] = []
        parser.inline.parse(text, parser, self._env, tokens)
        return tokens


@cache
def _block_parser() -> MarkdownIt:
    # The guard raises before markdown-it-py would leave out what is nested too deeply.
    parser = _parser(DEEPEST_BLOCK + 1)
    rules = parser.block.ruler
    rules.before("table", "guard", _guard_block, {"alt": _BLOCK_STARTS})
    rules.at("table", _table, {"alt": ["paragraph", "reference"]})
    rules.at("reference", _definition)
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    parser = _parser(DEEPEST_TEXT)
    rules = parser.inline.ruler
    rules.before("text", "guard", _guard_inline)
    rules.before("link", "wiki_link", _wiki_link)
    return parser


def _parser(nesting: int) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": nesting})
    parser.enable(["table", "strikethrough"])
    # The writer decides about links, and shows those that it refuses.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return parser


# --- Rules of the parsers ---------------------------------------------------------------------


def _guard_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Stop at a limit. The rule never matches."""
    state.env["limit"].check()
    if state.level >= DEEPEST_BLOCK:
        raise TooLong
    return False


def _guard_inline(state: StateInline, silent: bool) -> bool:
    state.env["limit"].check()
    return False


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read link definitions as usual, and show them too."""
    if not reference(state, start, end, silent):
        return False
    # Fault: `[//]: # (words)` is a usual way to hide words from a reader.
    if not silent:
        token = state.push("definition", "p", 0)
        token.map = [start, state.line]
        token.content = state.getLines(start, state.line, state.blkIndent, False)
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table. One that has cells without a column is left as text."""
    count = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    # Fault: cells beyond the last column would not be shown.
    if not silent and _has_extra_cells(state, start):
        del state.tokens[count:]
        state.line = start
        return False
    return True


def _has_extra_cells(state: StateBlock, start: int) -> bool:
    columns = _cell_count(state, start)
    rows = range(start + 2, state.line)
    return any(_cell_count(state, row) > columns for row in rows)


def _cell_count(state: StateBlock, line: int) -> int:
    text = state.getLines(line, line + 1, state.blkIndent, False)
    cells = escapedSplit(text.strip(" \t"))
    if cells and cells[0] == "":
        cells.pop(0)
    if cells and cells[-1] == "":
        cells.pop()
    return len(cells)


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """Read `[[Note]]`, `[[Note|text]]` and `[[Note#Heading]]` where the note can be opened.

    `![[Note]]` shows the note in its place in other programs; here it leads there, too.
    """
    link = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if link is None:
        return False
    target, _, heading = link[1].rstrip("\\").partition("#")
    url = state.env["links"].note_url(target.strip(), heading.strip())
    if url is None:
        return False
    if not silent:
        token = state.push("wiki_link", "a", 0)
        token.content = (link[2] or link[1].replace("#", " › ")).strip(" ›")
        token.attrs = {"href": url}
    state.pos = link.end()
    return True
