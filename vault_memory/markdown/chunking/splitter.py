"""How a text that is too long for one chunk is cut: at sentence ends, else at blanks, else anywhere. Any script."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

CAP = 400
"""The most characters a chunk has."""

_SENTENCE_END = re.compile(
    r"[.!?…؟।։]+[\"'”’»)\]*_]*(?=\s)"
    r"|[。！？｡]+[”’」』）]*"
    r"|\n(?=[ \t]*(?:\n|[-*+>]|\d{1,9}[.)]))"
)
_BLANKS = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+|\s+\Z")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


class Piece(NamedTuple):
    """A part of a text, with its lines counted from the text's first."""

    text: str
    first: int
    last: int


def cut(text: str, *, by_line: bool) -> Iterator[Piece]:
    """The text in pieces of at most `CAP` characters; only blanks between them are lost."""
    line = start = 0
    while start < len(text):
        blank = _BLANK_LINES.match(text, start)
        if blank:
            line += text.count("\n", start, blank.end())
            start = blank.end()
            continue
        end = _end(text, start, by_line)
        piece = text[start:end].rstrip()
        last = line + piece.count("\n")
        if piece:
            yield Piece(piece, line, last)
        line += text.count("\n", start, end)
        start = end
        if start < len(text) and text[start] in " \t":
            start = _after_blanks(text, start)


def _after_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t":
        start += 1
    return start


def _end(text: str, start: int, by_line: bool) -> int:
    rest = len(text) - start
    if rest <= CAP:
        return len(text)
    if by_line:
        end = text.rfind("\n", start + 1, start + CAP + 1)
        if end > start:
            return end
    limit = start + min(CAP, rest * 2 // 3)
    return (
        _last(_SENTENCE_END, text, start + CAP // 4, limit)
        or _last_blank(text, start, limit)
        or _anywhere(text, start, limit)
    )


def _last(pattern: re.Pattern[str], text: str, start: int, limit: int) -> int:
    end = 0
    for match in pattern.finditer(text, start, limit + 1):
        if match.end() <= limit:
            end = match.end()
    return end


def _last_blank(text: str, start: int, limit: int) -> int:
    end = 0
    for match in _BLANKS.finditer(text, start, limit + 1):
        if match.start() > start:
            end = match.start()
    return end


def _anywhere(text: str, start: int, limit: int) -> int:
    """Not inside a letter with its marks, as far as that can be had cheaply."""
    for end in range(limit, max(start, limit - 16), -1):
        if (
            not unicodedata.combining(text[end])
            and text[end] not in _JOINERS
            and text[end - 1] != "\u200d"
        ):
            return end
    return limit
