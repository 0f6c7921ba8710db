"""A block: a run of a note's lines that is a heading, an item, a paragraph, a fence and so on."""

from typing import NamedTuple

CHUNKING = "2"
"""The version of the rules of chunks; another one means that all notes are chunked again."""
BLANKS = " \t"
"""What may stand on a blank line. A form feed or a no-break space is text."""


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


def without_blank_end(lines: list[str], first: int, end: int) -> int:
    """The end of lines `first` to `end` when blank lines at their end are left out."""
    while end > first + 1 and not lines[end - 1].strip(BLANKS):
        end -= 1
    return end


def heading_name(content: str) -> str:
    """What a heading is called: its text in one line."""
    return " ".join(content.replace("\0", "\ufffd").split())
