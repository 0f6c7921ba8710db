"""Reads the block structure of a note: where headings, items, paragraphs and fences begin and end.

The authority is markdown-it-py (CommonMark block rules). A block at the top level depends on nothing
above it, so each block is read by our line scanner where that is sure, and else by markdown-it-py.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.lazy import lazy_module
from vault_memory.markdown.blocks.fallback import FallbackReader
from vault_memory.markdown.blocks.incremental import reread
from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.scanner import UNSURE, scan

if TYPE_CHECKING:
    from vault_memory.markdown import encodings
else:
    encodings = lazy_module("vault_memory.markdown.encodings")

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
