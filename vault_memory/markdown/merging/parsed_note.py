"""A note as a merge sees it: front matter, headings, and units between them that are moved whole.

A unit is a list item with all that is indented below it, a paragraph, a table, a fence and so on. The reader looks at
each line once and asks no Markdown parser: it must stay fast on any note. It says None where structure cannot be relied
on: a fence or comment that is still open, front matter that is none, bytes that are no UTF-8.
"""

import re
from functools import cached_property
from typing import NamedTuple

from vault_memory.markdown.merging.front_matter import Front, read_front

BOM = b"\xef\xbb\xbf"
BLANKS = b" \t"

_RULE = rb"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$"
_FENCE = rb"(?:`{3,}+[^`]*|~{3,}.*)$"
_HEADING = rb"#{1,6}(?:[ \t]|$)"
_HTML = (
    rb"<(?:!--|\?|![A-Za-z\[]|/?(?:script|pre|style|textarea|address|article|aside|blockquote|details|dialog|div|dl|"
    rb"footer|form|h[1-6r]|header|iframe|li|main|nav|ol|p|section|summary|table|tbody|td|th|thead|tr|ul)(?=[\s/>]|$))"
)

_item = re.compile(rb"( {0,3})([-+*]|[0-9]{1,9}[.)])(?:( {1,4})(?=[^ ])| *$| )").match
_plain_item = re.compile(rb"[-+*] [^-*_ \t]").match
_is_rule = re.compile(rb" {0,3}" + _RULE).match
_is_fence = re.compile(rb" {0,3}" + _FENCE).match
_is_heading = re.compile(rb" {0,3}" + _HEADING).match
_underline = re.compile(rb" {0,3}(?:=+|-+)[ \t]*$").match
_ends_paragraph = re.compile(
    rb" {0,3}(?:>|"
    + _HEADING
    + rb"|"
    + _FENCE
    + rb"|"
    + _RULE
    + rb"|"
    + _HTML
    + rb"|(?:[-+*]|0{0,8}1[.)])[ \t]+[^ \t])",
    re.IGNORECASE,
).match
_ends_item = re.compile(
    rb" {0,3}(?:>|"
    + _HEADING
    + rb"|"
    + _FENCE
    + rb"|"
    + _RULE
    + rb"|"
    + _HTML
    + rb"|(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$))",
    re.IGNORECASE,
).match
_table_edge = re.compile(rb"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[-:| \t]*)?$").match
_opens_html = re.compile(
    rb" {0,3}(?:" + _HTML + rb"|</?[A-Za-z][^>]*>[ \t]*$)", re.IGNORECASE
).match
_html_until = re.compile(
    rb" {0,3}<(?:(!--)|(\?)|(![A-Za-z])|(!\[CDATA\[)|(?:script|pre|style|textarea)(?=[\s>]|$))",
    re.I,
).match
_HTML_ENDS = (rb"</(?:script|pre|style|textarea)>", rb"-->", rb"\?>", rb">", rb"\]\]>")
_MAY_END = frozenset(b" \t<>#`~-+*_=0123456789")


class Unit(NamedTuple):
    """Something that is moved, kept or dropped whole."""

    kind: str
    """heading, item, paragraph, table, fence, code, quote, html, rule"""
    first: int
    """its first line in the page, 0-based"""
    end: int
    """the line after its last one"""
    text: bytes
    """its lines with ``\\n`` between them, whatever the line ends are"""


class Heading(NamedTuple):
    """What begins a section. A section ends at the next heading of any level."""

    unit: int
    """where its line stands among the units; -1 for what comes before the first heading"""
    level: int
    name: bytes
    parent: int
    """the section it lies in: the nearest one above with a lower level"""


class Page:
    """A note that was read."""

    def __init__(
        self, lines: list[bytes], bom: bool, front: Front | None, units: list[Unit]
    ) -> None:
        self.lines = lines
        """with their ends, without BOM"""
        self.bom = bom
        self.front = front
        self.units = units
        self.sections, self.home = _sections(units)
        """the headings, the first one being none; and of each unit the section it stands in"""

    @property
    def body(self) -> int:
        """The first line after the front matter."""
        return self.front.end if self.front else 0

    @cached_property
    def newline(self) -> bytes:
        """The line end that most lines have; empty without any."""
        return majority_newline(self.lines)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every line but the last surely ends with ``\n`` alone."""
        return self.newline == b"\n" and not any(b"\r" in line for line in self.lines)

    @property
    def ends_with_newline(self) -> bool:
        return bool(self.lines) and self.lines[-1].endswith((b"\n", b"\r"))

    def has_gap(self, unit: int) -> bool:
        """Whether blank lines part a unit, not the first, from the one before."""
        return self.units[unit - 1][2] != self.units[unit][1]

    def gap(self, unit: int) -> list[bytes]:
        """The blank lines before a unit; those at the end for the number of units."""
        first = self.units[unit - 1].end if unit else self.body
        return self.lines[
            first : self.units[unit].first
            if unit < len(self.units)
            else len(self.lines)
        ]


def majority_newline(lines: list[bytes]) -> bytes:
    windows = sum(line.endswith(b"\r\n") for line in lines)
    old = sum(line.endswith(b"\r") for line in lines) if not windows else 0
    unix = sum(line.endswith(b"\n") for line in lines) - windows
    most = max(windows, old, unix)
    return (
        b""
        if not most
        else b"\n"
        if unix == most
        else b"\r\n"
        if windows == most
        else b"\r"
    )


def read_page(raw: bytes) -> Page | None:
    """The note's units, or None where its structure is broken."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return None
    bom = raw.startswith(BOM)
    raw = raw[len(BOM) :] if bom else raw
    texts = raw.splitlines()
    front = read_front(texts)
    if front is None and texts and re.fullmatch(rb"---[ \t]*", texts[0]):
        return None
    units: list[Unit] | None = read_units(texts, front.end if front else 0)
    return (
        None
        if units is None
        else Page(raw.splitlines(keepends=True), bom, front, units)
    )


def read_units(texts: list[bytes], line: int) -> list[Unit] | None:
    """The units from a line on; None where one has no end."""
    units: list[Unit] = []
    count = len(texts)
    while line < count:
        text = texts[line]
        if _plain_item(text) and (
            line + 1 == count or _plain_item(texts[line + 1])
        ):  # most lines, most of the time
            units.append(Unit("item", line, line + 1, text))
            line += 1
            continue
        if not text or not text.strip(BLANKS):
            line += 1
            continue
        kind, end = _block(texts, line, text)
        if not end:
            return None
        units.append(
            Unit(
                kind,
                line,
                end,
                text if end == line + 1 else b"\n".join(texts[line:end]),
            )
        )
        line = end
    return units


def _block(texts: list[bytes], line: int, text: bytes) -> tuple[str, int]:
    """The kind of the unit that begins at a line and where it ends; 0 where it has no end."""
    if text[0] not in _MAY_END:
        return _paragraph(texts, line)
    if indent_of(text) > 3:
        return "code", _code_end(texts, line)
    if _is_heading(text):
        return "heading", line + 1
    if _is_rule(text):
        return "rule", line + 1
    if width := item_width(text):
        return "item", _item_end(texts, line, width)
    if _is_fence(text):
        return "fence", _fence_end(texts, line)
    if text.lstrip(b" ").startswith(b">"):
        return "quote", _quote_end(texts, line)
    if _opens_html(text):
        return "html", _html_end(texts, line)
    return _paragraph(texts, line)


def indent_of(text: bytes) -> int:
    """How many columns a line is indented."""
    if b"\t" in text:
        text = text.expandtabs(4)
    return len(text) - len(text.lstrip(b" "))


def item_width(text: bytes) -> int:
    """The column where the content of the item begins whose first line this is; 0 when it is none."""
    if b"\t" in text:
        text = text.expandtabs(4)
    match = _item(text)
    if not match:
        return 0
    return match.end(3) if match[3] else match.end(2) + 1


def _item_end(texts: list[bytes], line: int, width: int) -> int:
    end, blank = line + 1, False
    for number in range(line + 1, len(texts)):
        text = texts[number]
        if not text or not text.strip(BLANKS):
            blank = True
            continue
        first = text[0]
        if first in BLANKS and indent_of(text) >= width:
            blank = False
        elif blank or (first in _MAY_END and _ends_item(text)):
            break
        end = number + 1
    return end


def _fence_end(texts: list[bytes], line: int) -> int:
    opening = texts[line].lstrip(b" ")
    mark = opening[: len(opening) - len(opening.lstrip(opening[:1]))]
    for number in range(line + 1, len(texts)):
        if mark in texts[number]:
            text = texts[number].strip(BLANKS)
            if (
                len(text) >= len(mark)
                and not text.strip(mark[:1])
                and indent_of(texts[number]) < 4
            ):
                return number + 1
    return 0


def _code_end(texts: list[bytes], line: int) -> int:
    end = line + 1
    while end < len(texts) and texts[end].strip(BLANKS) and indent_of(texts[end]) > 3:
        end += 1
    return end


def _quote_end(texts: list[bytes], line: int) -> int:
    end = line + 1
    while end < len(texts):
        text = texts[end].lstrip(BLANKS)
        if not text or (
            text[0] in _MAY_END and text[:1] != b">" and _ends_item(texts[end])
        ):
            break
        end += 1
    return end


def _html_end(texts: list[bytes], line: int) -> int:
    closed = _html_until(texts[line])
    if not closed:
        end = line + 1
        while end < len(texts) and texts[end].strip(BLANKS):
            end += 1
        return end
    ends = re.compile(_HTML_ENDS[closed.lastindex or 0], re.IGNORECASE)
    start = closed.end() if closed[1] is None else closed.end() - 2
    if ends.search(texts[line], start):
        return line + 1
    for number in range(line + 1, len(texts)):
        if ends.search(texts[number]):
            return number + 1
    return 0


def _paragraph(texts: list[bytes], line: int) -> tuple[str, int]:
    end, count = line + 1, len(texts)
    while end < count:
        text = texts[end]
        if not text:
            break
        if text[0] in _MAY_END:
            if not text.strip(BLANKS):
                break
            if _underline(text):
                return "heading", end + 1
            if _ends_paragraph(text):
                break
        end += 1
    if (
        end - line > 1
        and b"|" in texts[line]
        and b"-" in texts[line + 1]
        and _table_edge(texts[line + 1])
    ):
        return "table", end
    return "paragraph", end


def _sections(units: list[Unit]) -> tuple[list[Heading], list[int]]:
    sections, home = [Heading(-1, 0, b"", -1)], []
    for number, unit in enumerate(units):
        if unit.kind == "heading":
            level, name = _heading_name(unit.text)
            parent = len(sections) - 1
            while parent and sections[parent].level >= level:
                parent = sections[parent].parent
            sections.append(Heading(number, level, name, parent))
        home.append(len(sections) - 1)
    return sections, home


def _heading_name(text: bytes) -> tuple[int, bytes]:
    if b"\n" in text:
        above, _, underline = text.rpartition(b"\n")
        return (1 if b"=" in underline else 2), b" ".join(above.split())
    content = text.strip()
    name = content.lstrip(b"#")
    level = len(content) - len(name)
    unclosed = name.rstrip(b"#")
    if not unclosed or unclosed[-1] in BLANKS:
        name = unclosed
    return level, b" ".join(name.split())
