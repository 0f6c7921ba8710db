"""Reads a note for a merge: front matter, headings, and the units between them that move as one.

A unit is a list item with all lines indented below it, a paragraph, a table, a fence and so on. The
reader looks at each line once and uses no Markdown parser, so it is fast on any note. It returns None
where structure cannot be relied on: an open fence or comment, invalid front matter, bytes that are
not UTF-8.
"""

import re
from functools import cached_property
from typing import NamedTuple

from vault_memory.markdown.merging.front_matter import Front, read_front

BOM = b"\xef\xbb\xbf"
BLANKS = b" \t"
NO_END = 0
"""The end of a block that is open at the end of the note"""

_RULE = rb"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$"
_FENCE = rb"(?:`{3,}+[^`]*|~{3}.*)$"
_HEADING = rb"#{1,6}(?:[ \t]|$)"
_HTML = (
    rb"<(?:!--|\?|![A-Za-z\[]|/?(?:script|pre|style|textarea|address|article|aside|blockquote"
    rb"|details|dialog|div|dl|footer|form|h[1-6r]|header|iframe|li|main|nav|ol|p|section|summary"
    rb"|table|tbody|td|th|thead|tr|ul)(?=[\s/>]|$))"
)
_BLOCK = rb">|" + _HEADING + rb"|" + _FENCE + rb"|" + _RULE + rb"|" + _HTML

_item = re.compile(rb"( {0,3})([-+*]|[0-9]{1,9}[.)])(?:( {1,4})(?=[^ ])| *$| )").match
_plain_item = re.compile(rb"[-+*] [^-*_ \t]").match
_is_rule = re.compile(rb" {0,3}" + _RULE).match
_is_fence = re.compile(rb" {0,3}" + _FENCE).match
_is_heading = re.compile(rb" {0,3}" + _HEADING).match
_underline = re.compile(rb" {0,3}(?:=+|-+)[ \t]*$").match
_ends_paragraph = re.compile(
    rb" {0,3}(?:" + _BLOCK + rb"|(?:[-+*]|0{0,8}1[.)])[ \t]+[^ \t])", re.IGNORECASE
).match
_ends_item = re.compile(
    rb" {0,3}(?:" + _BLOCK + rb"|(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$))", re.IGNORECASE
).match
_table_edge = re.compile(rb"[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[-:| \t]*+)?$").match
_opens_html = re.compile(
    rb" {0,3}(?:" + _HTML + rb"|</?[A-Za-z][^>]*>[ \t]*$)", re.IGNORECASE
).match
_html_until = re.compile(
    rb" {0,3}<(?:(!--)|(\?)|(![A-Za-z])|(!\[CDATA\[)"
    rb"|(?:script|pre|style|textarea)(?=[\s>]|$))",
    re.IGNORECASE,
).match
_HTML_ENDS = (rb"</(?:script|pre|style|textarea)>", rb"-->", rb"\?>", rb">", rb"\]\]>")
"""What ends the HTML block that `_html_until` matched, by the number of its group"""
_MAY_END = frozenset(b" \t<>#`~-+*_=0123456789")
"""First bytes of lines that may end a paragraph or an item"""


class Unit(NamedTuple):
    """A block that is moved, kept or dropped as one."""

    kind: str
    """heading, item, paragraph, table, fence, code, quote, html, rule"""
    first: int
    """Its first line in the note, 0-based"""
    end: int
    """The line after its last one"""
    text: bytes
    """Its lines with ``\\n`` between them, whatever the line ends are"""


class Heading(NamedTuple):
    """The beginning of a section. A section ends at the next heading of any level."""

    unit: int
    """Its number among the units; -1 for the section before the first heading"""
    level: int
    name: bytes
    parent: int
    """The section that contains it: the nearest one above with a lower level"""


class ParsedNote:
    """A note with its units and sections."""

    def __init__(
        self, lines: list[bytes], bom: bool, front: Front | None, units: list[Unit]
    ) -> None:
        self.lines = lines
        """The lines with their ends, without BOM"""
        self.bom = bom
        self.front = front
        self.units = units
        self.sections, self.home = _sections(units)
        """The sections, the first one without a heading; and the section of each unit"""

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
        """Whether every line but the last ends with ``\\n`` alone."""
        return self.newline == b"\n" and not any(b"\r" in line for line in self.lines)

    @property
    def ends_with_newline(self) -> bool:
        return bool(self.lines) and self.lines[-1].endswith((b"\n", b"\r"))

    def has_gap(self, unit: int) -> bool:
        """Return whether blank lines separate a unit, not the first, from the one before."""
        return self.units[unit - 1].end != self.units[unit].first

    def gap(self, unit: int) -> list[bytes]:
        """Return the blank lines before a unit; those at the end for the number of units."""
        first = self.units[unit - 1].end if unit else self.body
        end = self.units[unit].first if unit < len(self.units) else len(self.lines)
        return self.lines[first:end]


def majority_newline(lines: list[bytes]) -> bytes:
    """Return the line end that most lines have; empty without any."""
    crlf = sum(line.endswith(b"\r\n") for line in lines)
    cr = sum(line.endswith(b"\r") for line in lines) if not crlf else 0
    lf = sum(line.endswith(b"\n") for line in lines) - crlf
    most = max(crlf, cr, lf)
    if not most:
        return b""
    if lf == most:
        return b"\n"
    return b"\r\n" if crlf == most else b"\r"


def parse_note(raw: bytes) -> ParsedNote | None:
    """Return a note with its units, or None where its structure is broken."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return None
    bom = raw.startswith(BOM)
    if bom:
        raw = raw[len(BOM) :]
    texts = raw.splitlines()
    front = read_front(texts)
    if front is None and texts and re.fullmatch(rb"---[ \t]*", texts[0]):
        return None
    units = read_units(texts, front.end if front else 0)
    if units is None:
        return None
    return ParsedNote(raw.splitlines(keepends=True), bom, front, units)


def read_units(texts: list[bytes], line: int) -> list[Unit] | None:
    """Return the units from a line on; None where a unit has no end."""
    units: list[Unit] = []
    count = len(texts)
    while line < count:
        text = texts[line]
        # Most lines of most notes are plain items, and the next line begins another one.
        if _plain_item(text) and (line + 1 == count or _plain_item(texts[line + 1])):
            units.append(Unit("item", line, line + 1, text))
            line += 1
            continue
        if not text or not text.strip(BLANKS):
            line += 1
            continue
        kind, end = _read_block(texts, line, text)
        if end == NO_END:
            return None
        if end > line + 1:
            text = b"\n".join(texts[line:end])
        units.append(Unit(kind, line, end, text))
        line = end
    return units


def _read_block(texts: list[bytes], line: int, text: bytes) -> tuple[str, int]:
    """Return the kind of the unit that begins at a line, and its end."""
    if text[0] not in _MAY_END:
        return _read_paragraph(texts, line)
    if indent_of(text) > 3:
        return "code", _code_end(texts, line)
    if _is_heading(text):
        return "heading", line + 1
    if _is_rule(text):
        return "rule", line + 1
    width = item_width(text)
    if width:
        return "item", _item_end(texts, line, width)
    if _is_fence(text):
        return "fence", _fence_end(texts, line)
    if text.lstrip(b" ").startswith(b">"):
        return "quote", _quote_end(texts, line)
    if _opens_html(text):
        return "html", _html_end(texts, line)
    return _read_paragraph(texts, line)


def indent_of(text: bytes) -> int:
    """Return how many columns a line is indented."""
    if b"\t" in text:
        text = text.expandtabs(4)
    return len(text) - len(text.lstrip(b" "))


def item_width(text: bytes) -> int:
    """Return the column where the content of an item begins; 0 for a line that begins no item."""
    if b"\t" in text:
        text = text.expandtabs(4)
    match = _item(text)
    if not match:
        return 0
    return match.end(3) if match[3] else match.end(2) + 1


def _item_end(texts: list[bytes], line: int, width: int) -> int:
    end = line + 1
    is_after_blank = False
    for number in range(line + 1, len(texts)):
        text = texts[number]
        if not text or not text.strip(BLANKS):
            is_after_blank = True
            continue
        first = text[0]
        if first in BLANKS and indent_of(text) >= width:
            is_after_blank = False
        elif is_after_blank or (first in _MAY_END and _ends_item(text)):
            break
        end = number + 1
    return end


def _fence_end(texts: list[bytes], line: int) -> int:
    opening = texts[line].lstrip(b" ")
    mark = opening[: len(opening) - len(opening.lstrip(opening[:1]))]
    for number in range(line + 1, len(texts)):
        if mark in texts[number] and _closes(texts[number], mark):
            return number + 1
    return NO_END


def _closes(text: bytes, mark: bytes) -> bool:
    """Return whether a line with the mark of a fence closes it: nothing else is in the line."""
    stripped = text.strip(BLANKS)
    if len(stripped) < len(mark) or stripped.strip(mark[:1]):
        return False
    return indent_of(text) < 4


def _code_end(texts: list[bytes], line: int) -> int:
    end = line + 1
    while end < len(texts) and texts[end].strip(BLANKS) and indent_of(texts[end]) > 3:
        end += 1
    return end


def _quote_end(texts: list[bytes], line: int) -> int:
    for number in range(line + 1, len(texts)):
        text = texts[number].lstrip(BLANKS)
        if not text:
            return number
        if text[0] in _MAY_END and text[:1] != b">" and _ends_item(texts[number]):
            return number
    return len(texts)


def _html_end(texts: list[bytes], line: int) -> int:
    opening = _html_until(texts[line])
    if not opening:
        return _blank_after(texts, line)
    ends = re.compile(_HTML_ENDS[opening.lastindex or 0], re.IGNORECASE)
    # `<!-->` is a whole comment: its end shares the hyphens of its beginning.
    is_comment = opening[1] is not None
    start = opening.end() - 2 if is_comment else opening.end()
    if ends.search(texts[line], start):
        return line + 1
    for number in range(line + 1, len(texts)):
        if ends.search(texts[number]):
            return number + 1
    return NO_END


def _blank_after(texts: list[bytes], line: int) -> int:
    """Return the first blank line after a line, or the end."""
    for number in range(line + 1, len(texts)):
        if not texts[number].strip(BLANKS):
            return number
    return len(texts)


def _read_paragraph(texts: list[bytes], line: int) -> tuple[str, int]:
    """Return the kind of text that begins at a line (an underline makes it a heading), and its end."""
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
    is_table = end > line + 1 and _is_table(texts[line], texts[line + 1])
    return "table" if is_table else "paragraph", end


def _is_table(first: bytes, second: bytes) -> bool:
    return b"|" in first and b"-" in second and _table_edge(second) is not None


def _sections(units: list[Unit]) -> tuple[list[Heading], list[int]]:
    """Return the sections, and the section of each unit."""
    sections = [Heading(-1, 0, b"", -1)]
    home: list[int] = []
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
    """Return the level and the name of a heading."""
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
