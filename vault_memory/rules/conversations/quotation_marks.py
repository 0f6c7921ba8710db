"""Finds what is between quotation marks, in all the ways of writing them. Pure.

A quotation is hidden behind signs that are no letters. The text keeps its length, so a position in
it is the same position in the turn.
"""

import re
from collections.abc import Callable

HIDDEN = "\ufffc"
"""In place of each character of a quotation"""
MOST_NESTED = 20
LONGEST_TITLE = 5
"""Words of a title or a name in quotation marks"""
LONGEST_RUN_TITLE = 6
"""Its characters in a script without spaces"""

_CLOSERS = {
    marks[0]: marks[1:]
    for marks in """‟”" ‛’ 〝〞〟 “”" „“”" ”” "" ＂＂ «» »« ‹› ›‹ 「」 『』 《》 〈〉 ‘’ ‚‘’ '' ``""".split()
}
"""Opening mark → the marks that close it"""
_EVEN = frozenset("\"＂”'`»›")
"""Marks that open and close"""
_APOSTROPHES = frozenset("'’‘‚‛`")
_MARK = re.compile(r"[“„‟”\"＂«»‹›「」『』《》〈〉‘’‚‛〝〞〟'`]|\n[ \t\r]*\n")
_SENTENCE_ENDS = frozenset(".!?…。！？")
_CLAUSE_MARK = re.compile(r"[.!?:;,。！？：；，\n]")
_NEXT_SENTENCE = re.compile(r"\s*+(?:\Z|(?<=\s)[^\W\d_a-zà-ÿа-я])")


def quotations(text: str) -> list[tuple[int, int]]:
    """Returns the begin and the end of each outermost quotation, in order, marks included.

    A quotation that is never closed ends with the text.
    """
    open_marks: list[tuple[str, int]] = []
    spans: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        sign, position = match[0], match.start()
        if sign[0] == "\n":
            # Fault: an apostrophe before a word would quote all paragraphs up to the next one.
            open_marks = [mark for mark in open_marks if mark[0] not in _APOSTROPHES]
            continue
        depth = _closed_by(sign, open_marks)
        if depth is not None and _may_close(text, position):
            spans.append((open_marks[depth][1], match.end()))
            del open_marks[depth:]
        elif _may_open(text, position) and len(open_marks) < MOST_NESTED:
            open_marks.append((sign, position))
    unclosed = (start for sign, start in open_marks if sign not in _APOSTROPHES)
    spans += [(start, len(text)) for start in unclosed]
    return _outermost(spans)


def unquoted(text: str, *, shows: Callable[[str, int, int], bool] | None = None) -> str:
    """Returns a text of the same length in which quotations are hidden.

    `shows` returns whether the quotation between two positions remains visible.
    """
    segments: list[str] = []
    position = 0
    for start, end in quotations(text):
        if shows is not None and shows(text, start, end):
            continue
        # The end of a quoted sentence also ends the sentence around it, if another one follows.
        if text[end - 2] in _SENTENCE_ENDS and _NEXT_SENTENCE.match(text, end):
            end -= 2
        segments += [text[position:start], HIDDEN * (end - start)]
        position = end
    return "".join([*segments, text[position:]])


def _closed_by(sign: str, open_marks: list[tuple[str, int]]) -> int | None:
    """Returns the depth of the innermost open mark that a sign closes."""
    for depth in range(len(open_marks) - 1, -1, -1):
        if sign in _CLOSERS[open_marks[depth][0]]:
            return depth
    return None


def _may_close(text: str, position: int) -> bool:
    sign = text[position]
    before, after = text[position - 1], text[position + 1 : position + 2]
    # Fault: the apostrophe of "doesn't" ends no quotation.
    if sign in _APOSTROPHES:
        return not before.isspace() and not _is_letter(after)
    # The same sign, before a word, opens a quotation within the quotation.
    return not (sign in _EVEN and _is_edge(before) and _is_letter(after))


def _may_open(text: str, position: int) -> bool:
    sign = text[position]
    if sign not in _CLOSERS:
        return False
    if sign not in _EVEN and sign not in _APOSTROPHES:
        return True
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    # Fault: the sign after a number, as in 27", is an inch; after a letter it is an apostrophe.
    if _is_letter(before):
        return False
    is_plain = sign in '"＂'
    return bool(after) and (is_plain or not after.isspace())


def _is_edge(before: str) -> bool:
    return not before or before.isspace() or before in "([{"


def _is_letter(char: str) -> bool:
    """Returns whether a character is a letter or a digit of a script with spaces."""
    return char.isalnum() and not "\u3040" <= char <= "\u9fff"


def is_title(text: str, start: int, end: int) -> bool:
    """Returns whether a quotation may be a title or a name, by its form."""
    if text[max(0, start - 3) : start].rstrip()[-1:] in (":", "："):
        return False
    inside = text[start + 1 : end - 1].strip()
    if not inside or _CLAUSE_MARK.search(inside):
        return False
    is_run = not inside.isascii() and not _is_letter(inside[0])
    if is_run:
        return len(inside) <= LONGEST_RUN_TITLE
    return len(inside.split()) <= LONGEST_TITLE


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    outer: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer
