"""The block structure of a note: where headings, items, paragraphs and fences begin and end.

The authority is markdown-it-py (CommonMark block rules). A block at the top level depends on nothing above it, so each
one may be read by our line scanner where that is sure, and by markdown-it-py where it is not.
"""

import re
from typing import NamedTuple

from vault_memory.markdown.blocks.fallback import HandOver
from vault_memory.markdown.blocks.incremental import reread
from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.scanner import scan

BOM = "\ufeff"
LONG = 400
"""Lines, from which on what was read of a text is remembered"""
MOST = 4
"""So many long texts are remembered"""

_FRONT_EDGE = re.compile(r"---[ \t]*")
_FRONT_END = re.compile(r"(?:---|\.\.\.)[ \t]*")


class Outline(NamedTuple):
    """The lines of a note and what they are."""

    lines: list[str]
    """decoded, without line ends and BOM"""
    body: int
    """the first line after the front matter; 0 without any"""
    blocks: list[Block]


def decode(raw: bytes, *, whole: bool = True) -> list[str]:
    """The lines of a note as markdown-it-py counts them, for any bytes; a final newline gives a last, empty line.

    At the beginning of a part of a note, which is not `whole`, a BOM is a letter like others.
    """
    text = raw.decode("utf-8", "replace")
    text = text.removeprefix(BOM) if whole else text
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


class _Read(NamedTuple):
    """What was read of a long text."""

    lines: list[str]
    start: int
    blocks: list[Block]


_recent: tuple[_Read, ...] = ()


def read_blocks(lines: list[str], start: int) -> list[Block]:
    """The blocks from line `start` on, in order; nobody changes the list.

    Of a long text that differs little from one that was read lately, only the difference is read.
    """
    global _recent
    if len(lines) < LONG:
        return _read_all(lines, start)
    recent = _recent
    for at, known in enumerate(recent):
        if known.start != start:
            continue
        same = known.lines == lines
        blocks = (
            known.blocks if same else reread(known.lines, known.blocks, lines, start)
        )
        if blocks is not None:
            _recent = (
                known if same else _Read(lines, start, blocks),
                *recent[:at],
                *recent[at + 1 :],
            )
            return blocks
    blocks = _read_all(lines, start)
    _recent = (_Read(lines, start, blocks), *recent[: MOST - 1])
    return blocks


def _read_all(lines: list[str], start: int) -> list[Block]:
    blocks: list[Block] = []
    asked: HandOver | None = None
    line, count = start, len(lines)
    while line < count:
        if not lines[line] or not lines[line].strip(BLANKS):
            line += 1
            continue
        end = scan(lines, line, blocks)
        if not end:
            asked = asked or HandOver(lines)
            end = asked.read(line, blocks)
        line = end
    return blocks
