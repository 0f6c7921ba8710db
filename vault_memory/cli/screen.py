"""The terminal of a person: its width, wrapped text, tables that fit it, and short local times."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from vault_memory.cli.terminal import escaped, styled

NARROWEST = 20
"""The least width that lines are made for, so that each has room for words"""
USUAL = 80
"""Columns of a terminal that reports no size"""
WIDEST = 100
"""Columns of the longest line of prose; a longer one is hard to read"""
_WIDE = frozenset("WF")
_WITHOUT_WIDTH = frozenset(("Mn", "Me", "Cf"))
_PIECE = re.compile(r"(?:`[^`]*`|\S)+")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal that shows an answer."""

    columns: int
    now: datetime
    """the local time, to which short times relate"""

    @property
    def prose(self) -> int:
        """Columns of a line of prose."""
        return min(self.columns, WIDEST)


def screen_of_stdout(now: datetime | None) -> Screen:
    """Return the terminal on stdout, at this time."""
    moment = now or datetime.now().astimezone()
    return Screen(columns_of(1), moment)


def columns_of(descriptor: int) -> int:
    """Return the width of the terminal at a file descriptor."""
    try:
        columns = os.get_terminal_size(descriptor).columns
    except OSError:
        # The stream is not the terminal of the system, as in a test.
        columns = 0
    # Fault: a terminal without a size reports 0 columns.
    return max(columns or USUAL, NARROWEST)


def cells(text: str) -> int:
    """Return the columns that a text takes: East Asian letters take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(letter: str) -> int:
    if unicodedata.east_asian_width(letter) in _WIDE:
        return 2
    if unicodedata.category(letter) in _WITHOUT_WIDTH:
        return 0
    return 1


def padded(text: str, columns: int) -> str:
    """Return the text with blanks up to a width."""
    return text + " " * (columns - cells(text))


def wrapped(text: str, columns: int, *, first: str = "", indent: str | None = None) -> list[str]:
    """Return lines of at most `columns`, broken at blanks.

    `first` begins the first line, and `indent` each other one (default: as many blanks). A word
    that is longer than a line is broken inside, unless it is an address or a path.
    """
    # A line that fits keeps its blanks, which may be those of columns.
    if cells(first + text) <= columns:
        return [first + text]
    following = " " * cells(first) if indent is None else indent
    lines: list[str] = []
    start = line = first
    # The blanks at the beginning show the depth of a list: they stay.
    line += text[: len(text) - len(text.lstrip(" "))]
    start = line
    for word in _words(text, columns - max(cells(start), cells(following))):
        gap = "" if line == start else " "
        if line != start and cells(line) + len(gap) + cells(word) > columns:
            lines.append(line)
            line = start = following
            gap = ""
        line += gap + word
    lines.append(line)
    return lines


def wrapped_cells(
    texts: Iterable[str], columns: int, *, gap: str = "  ", first: str = ""
) -> list[str]:
    """Return short texts side by side; one that does not fit begins the next line.

    Only a text that is longer than a line is broken. `first` begins the first line.
    """
    visible_texts = [text for text in texts if text]
    lines: list[str] = []
    line = first
    for number, text in enumerate(visible_texts):
        separator = gap if line != first else ""
        is_last = number == len(visible_texts) - 1
        # The separator stays visible at the end of a line that others follow.
        after = 0 if is_last else len(gap.rstrip())
        if cells(line + separator + text) + after <= columns:
            line += separator + text
            continue
        if separator:
            lines.append(line + gap.rstrip())
            line = "  "
        *full_lines, line = wrapped(text, columns, first=line, indent="  ")
        lines += full_lines
    return [*lines, line]


def wrapped_remark(text: str) -> str:
    """Return a remark for the terminal on stderr, each line of it wrapped with an indent."""
    columns = min(columns_of(2), WIDEST)
    lines: list[str] = []
    for line in text.split("\n"):
        lines += wrapped(line, columns, indent="  ")
    return "\n".join(lines)


def _words(text: str, room: int) -> Iterator[str]:
    """Yield the words of a text, none longer than `room` unless a break would spoil it.

    A text in backticks is one word if it fits.
    """
    room = max(room, 2)
    for piece in _PIECE.findall(text):
        # Fault: a command in backticks that is broken cannot be copied.
        if cells(piece) <= room:
            yield piece
            continue
        for word in _WORD.findall(piece):
            # Fault: an address or a path that is broken cannot be copied or clicked.
            if cells(word) <= room or "/" in word:
                yield word
                continue
            yield from _broken(word, room)


def _broken(word: str, room: int) -> Iterator[str]:
    line = ""
    for letter in word:
        if cells(line + letter) > room:
            yield line
            line = ""
        line += letter
    yield line


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_NEAR = {-1: "yesterday", 0: "today", 1: "tomorrow"}
"""Days from today → their name"""
WITH_HOURS = timedelta(days=7)
"""Times nearer than this are shown with hours and minutes"""


def time_text(text: str | None, screen: Screen | None) -> str:
    """Return a time of ISO 8601 in short form for a terminal; unchanged for anything else."""
    if screen is None or not text:
        return text or ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        # An audit record of another program may hold any text there.
        return text
    if len(text) == len("2026-01-31"):
        return short_day(moment.date(), screen.now.date())
    return short_time(moment, screen.now)


def short_time(moment: datetime, now: datetime) -> str:
    """Return a time in the zone of `now`: `today 14:05`, `Mon 3 Mar 14:05`, `Mon 3 Mar`."""
    local = moment.astimezone(now.tzinfo)
    day = short_day(local.date(), now.date())
    if abs(local - now) > WITH_HOURS:
        return day
    return f"{day} {local:%H:%M}"


def short_day(day: date, today: date) -> str:
    """Return a day: `today`, `Mon 3 Mar`, and with its year if that is another one."""
    near = _NEAR.get((day - today).days)
    if near:
        return near
    # The names are English, as all text of the program is.
    text = f"{day.day} {_MONTHS[day.month - 1]}"
    if day.year == today.year:
        return f"{_DAYS[day.weekday()]} {text}"
    return f"{text} {day.year}"


GAP = "  "
LEAST_ROOM = 24
"""Columns that the last column needs beside the others; else it goes below them"""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> str:
    """Return the rows under their headers, in lines of at most `columns`."""
    cells_of_rows = [[escaped(cell) for cell in row] for row in rows]
    widths = _widths(headers, cells_of_rows)
    # Fault: a last column of a few letters in each line cannot be read.
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    is_narrow = columns - before < min(LEAST_ROOM, widths[-1])
    lay_out = _stacked if is_narrow else _in_columns
    head, *body = ([*headers], *cells_of_rows)
    lines = [styled(line, bold=True) for line in lay_out(head, widths, columns)]
    for row in body:
        lines += lay_out(row, widths, columns)
    return "\n".join(lines)


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(headers, *rows, strict=True)]


def _in_columns(row: Sequence[str], widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield the lines of a row with its cells side by side."""
    start = ""
    for cell, width in zip(row[:-1], widths, strict=False):
        start += padded(cell, width) + GAP
    for line in wrapped(row[-1], columns, first=start):
        yield line.rstrip()


def _stacked(row: Sequence[str], widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield the lines of a row with its last cell below the others."""
    yield from wrapped_cells(row[:-1], columns)
    if row[-1]:
        yield from wrapped(row[-1], columns, first=GAP)
