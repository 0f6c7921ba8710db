"""A unified diff as lines with signs and words: nobody has to see a colour."""

from collections.abc import Iterator
from typing import NamedTuple

SHORT_LINES = 30
"""Lines of a diff in a list of records"""
SHORT_LETTERS = 1_500
LONG_LINES = 5_000
"""Lines of a diff that is alone in its view"""
LONG_LETTERS = 262_144
_WORDS = {"+": "added", "-": "removed", "@": "place", "\\": "remark"}
"""First letter of a line of the diff → what became of the line"""


class ChangedLine(NamedTuple):
    """A line of a diff."""

    sign: str
    """`+`, `-`, or a blank"""
    word: str
    """`added`, `removed`, `same`, `place` or `remark`"""
    text: str


class ChangedLines(NamedTuple):
    """The lines of a diff, as far as a view shows them."""

    lines: tuple[ChangedLine, ...] = ()
    left_out: int = 0
    """how many more lines there are"""


NO_CHANGES = ChangedLines()


def read_diff(diff: str, *, complete: bool = False) -> ChangedLines:
    """Return the lines of a unified diff; `complete` or the first of them."""
    lines = list(_lines(diff))
    most_lines = LONG_LINES if complete else SHORT_LINES
    letters = LONG_LETTERS if complete else SHORT_LETTERS
    first_lines: list[ChangedLine] = []
    # Fault: one line may be as long as a note, and a list of such records as a hundred notes.
    for line in lines[:most_lines]:
        if letters <= 0:
            break
        first_lines.append(line._replace(text=line.text[:letters]))
        letters -= len(line.text)
    return ChangedLines(tuple(first_lines), len(lines) - len(first_lines))


def _lines(diff: str) -> Iterator[ChangedLine]:
    rows = diff.removesuffix("\n").split("\n") if diff else []
    if rows and rows[0].startswith("--- "):
        # Both names are that of the note.
        del rows[:2]
    for row in rows:
        yield _line(row.removesuffix("\r"))


def _line(row: str) -> ChangedLine:
    word = _WORDS.get(row[:1], "same")
    if word == "place":
        return ChangedLine("", word, _place(row))
    if word == "remark":
        return ChangedLine("", word, "no line end here")
    return ChangedLine(row[:1], word, row[1:])


def _place(row: str) -> str:
    """Return where a block of changes is: `@@ -1,2 +3,4 @@` is from line 3."""
    _, _, new = row.partition("+")
    number = new.partition(" ")[0].partition(",")[0]
    return f"line {number}"
