"""CommonMark's block rules for one line, as patterns.

All patterns but `item` are matched where the indent of the line ends.
"""

import re

from vault_memory.markdown.blocks.model import BLANKS

_RULE = r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$"
_FENCE = r"(?:`{3,}+[^`]*|~{3}.*)$"
_HEADING = r"#{1,6}(?:[ \t]|$)"
_MARKER = r"(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$)"
_MAYBE_REFERENCE = r"\[(?![^\[\]\\]*+(?:\[|\](?!:)))"

indented = re.compile(r" {4}| {0,3}\t").match
is_rule = re.compile(_RULE).match
is_fence = re.compile(_FENCE).match
is_marker = re.compile(_MARKER).match
maybe_reference = re.compile(_MAYBE_REFERENCE).match
odd_start = re.compile(rf"[<>]|{_HEADING}|{_FENCE}|{_RULE}|{_MARKER}|{_MAYBE_REFERENCE}").match
breaks = re.compile(
    rf"(?P<underline>(?:=+|-+)[ \t]*$)|(?P<unsure><)|(?P<ends>>|{_HEADING}|{_FENCE}|{_RULE}"
    r"|(?:[-+*]|0{0,8}1[.)])[ \t]+[^ \t])"
).match
item = re.compile(r"( *)(?:[-+*]|([0-9]{1,9})[.)])(?: {1,4}(?=([^ \t]))| *$)").match
"""The line of an item up to its content. Group 1: indent; 2: number; 3: first letter of the content"""

MAY_BREAK = frozenset(" \t<>#`~-+*_=0123456789")
"""First characters of lines that may end a paragraph, or be an underline."""
MAY_BE_ODD = frozenset("<>#`~-+*_[0123456789")
"""First characters of content that may be something else than the beginning of a paragraph."""


def fence_mark(text: str) -> str:
    """Return the backticks or tildes that a fence opens with."""
    return text[: len(text) - len(text.lstrip(text[0]))]


def closes(text: str, mark: str, inside: int = 0) -> bool:
    """Return whether a line closes the fence opened with `mark`, in content at column `inside`."""
    if indented(text, inside):
        return False
    text = text.strip(BLANKS)
    return len(text) >= len(mark) and not text.strip(mark[0])
