"""Defines a block: lines of a note that are a heading, an item, a paragraph, a fence and so on."""

from typing import NamedTuple

CHUNKING = "6"
"""The version of the chunking rules. With another version all notes are chunked again."""
BLANKS = " \t"
"""The letters of a blank line. A form feed or a no-break space is text"""


class Block(NamedTuple):
    """A block at the top level of a note, or an item nested in one."""

    kind: str
    """heading, item, paragraph, fence, code, html, quote, rule, reference"""
    first: int
    """0-based line"""
    end: int
    """The line after the last one; trailing blank lines are not part of a block"""
    level: int = 0
    """1 to 6 for a heading; for an item its depth, 1 at the top. A nested item follows its parent"""
    name: str = ""
    """The text of a heading"""


def without_blank_end(lines: list[str], first: int, end: int) -> int:
    """Return the end of the lines `first` to `end` without blank lines at their end."""
    while end > first + 1 and not lines[end - 1].strip(BLANKS):
        end -= 1
    return end


def heading_name(content: str) -> str:
    """Return the text of a heading in one line."""
    return " ".join(content.replace("\0", "\ufffd").split())
