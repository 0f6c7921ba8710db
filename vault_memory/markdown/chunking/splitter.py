"""Cuts a text that is too long for one chunk: at sentence ends, else at blanks, else anywhere.

Any script may be cut. Long runs of letters without a blank are shortened before: images in base64,
paths of drawings, tokens. No person searches for them, and they would fill the chunks of a note.
Scripts that write no blanks between words, such as Japanese and Thai, are text and stay complete.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

CAP = 400
"""The most characters of a chunk"""
LONGEST_RUN = 200
"""The most letters without a blank that stay complete"""
_SEARCHED_LETTERS = 16
"""How many letters before the limit are tried when a text without blanks is cut"""

_SENTENCE_END = re.compile(
    r"(?<![.!?…؟।։])[.!?…؟।։]++[\"'”’»)\]*_]*+(?=\s)"
    r"|[。！？｡]+[”’」』）]*"
    r"|\n(?=[ \t]*(?:\n|[-*+>]|\d{1,9}[.)]))"
)
_BLANKS = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+|\s+\Z")
_INDENT = re.compile(r"[ \t]*")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


class Piece(NamedTuple):
    """A stretch of a text, with its lines counted from the first line of the text."""

    text: str
    first: int
    last: int


def cut(text: str, *, by_line: bool) -> Iterator[Piece]:
    """Yield the text in stretches of at most `CAP` characters; only blanks between them are lost.

    `by_line` prefers line ends, for tables and code.
    """
    line = start = 0
    while start < len(text):
        blank = _BLANK_LINES.match(text, start)
        if blank:
            line += text.count("\n", start, blank.end())
            start = blank.end()
            continue
        end = _end(text, start, by_line)
        stretch = text[start:end].rstrip()
        if stretch:
            yield Piece(stretch, line, line + stretch.count("\n"))
        line += text.count("\n", start, end)
        start = _after_blanks(text, end)


def _after_blanks(text: str, start: int) -> int:
    match = _INDENT.match(text, start)
    return match.end() if match else start


def _end(text: str, start: int, by_line: bool) -> int:
    """Return where the stretch that begins at `start` ends."""
    length = len(text) - start
    if length <= CAP:
        return len(text)
    if by_line:
        end = text.rfind("\n", start + 1, start + CAP + 1)
        if end > start:
            return end
    # Two thirds of a text that is a little too long: two even chunks, and no tiny last one.
    limit = start + min(CAP, length * 2 // 3)
    return (
        _last_sentence_end(text, start + CAP // 4, limit)
        or _last_blank(text, start, limit)
        or _between_letters(text, start, limit)
    )


def _last_sentence_end(text: str, start: int, limit: int) -> int:
    """Return the end of the last sentence before the limit; 0 without any."""
    end = 0
    for match in _SENTENCE_END.finditer(text, start, limit + 1):
        if match.end() <= limit:
            end = match.end()
    return end


def _last_blank(text: str, start: int, limit: int) -> int:
    """Return the start of the last blank before the limit; 0 without any."""
    end = 0
    for match in _BLANKS.finditer(text, start, limit + 1):
        if match.start() > start:
            end = match.start()
    return end


def _between_letters(text: str, start: int, limit: int) -> int:
    """Return the last position before the limit that is not inside a letter with its marks."""
    for end in range(limit, max(start, limit - _SEARCHED_LETTERS), -1):
        letter, previous = text[end], text[end - 1]
        is_joined = letter in _JOINERS or previous == "\u200d"
        if not is_joined and not unicodedata.combining(letter):
            return end
    # A text that is nothing but marks is cut anywhere.
    return limit


_KEPT = 64
"""Of a run that is longer, the most letters that stay at its beginning, and at its end"""

_RUN = re.compile(
    # Two bytes of UTF-8 reach from Latin to Arabic: all of them write blanks. The first two
    # conditions let a run begin at its first letter only, so the time is linear.
    rb"(?<![!-~])(?<![\xc3-\xdf][\x80-\xbf])(?:[!-~]|[\xc3-\xdf][\x80-\xbf]){%d,}+"
    % (LONGEST_RUN + 1)
)
_WORDS = re.compile(r"(?:[^\W_]{1,20}+(?![^\W_])|[\W_])*+")
"""Words that a person writes, up to the first one that is too long for that"""
_CLOSING = re.compile(r"[)>\"'].*")
_DATA = "base64,"


def without_long_runs(raw: bytes) -> bytes:
    """Return a text with its long runs shortened, on the same lines.

    What a person can read stays: the text and the host of a link, and what follows its end.
    """
    return _RUN.sub(_shortened, raw)


def _shortened(match: re.Match[bytes]) -> bytes:
    run = match[0].decode()
    # Fault: a line below a heading, the edge of a table and a row of links are no data.
    if not any(map(str.isalnum, run)) or "]]" in run:
        return match[0]
    words = _WORDS.match(run, 0, _KEPT)
    beginning, data, _ = words[0].partition(_DATA) if words else ("", "", "")
    closing = _CLOSING.search(run, len(run) - _KEPT)
    return f"{beginning}{data}…{closing[0] if closing else ''}".encode()
