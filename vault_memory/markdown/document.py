"""Splits a note into sections, and joins them to the same bytes. Any bytes are a note."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from vault_memory.markdown.blocks.model import Block
from vault_memory.markdown.blocks.outline import MOST, Outline, outline
from vault_memory.markdown.chunking.hidden_blocks import COMMENT_SIGN, FORMULA_SIGN, shown_headings

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BOM = b"\xef\xbb\xbf"
_HIDING = (COMMENT_SIGN.encode(), FORMULA_SIGN.encode())
LARGE = 1 << 15
"""Bytes from which on the sections of a note are cached"""


class Section(NamedTuple):
    """A heading at the top level of a note, and everything up to the next heading of any level.

    The opening of a note, which has no heading, is a section, too: its name is empty.
    """

    name: str
    """The text of the heading, without marks and closing #s"""
    heading: bytes
    """Its line or, in setext form, lines, with line ends, e.g. ``b"## Preferences\\r\\n"``"""
    body: bytes
    level: int = 2
    """1 to 6; 0 for the opening"""


class SectionedDoc(NamedTuple):
    """A note as a preamble and sections; joined in order they are the note."""

    preamble: bytes
    """BOM and front matter"""
    sections: tuple[Section, ...]
    """The opening, then one for each heading"""

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of all sections but the opening"""
        return tuple(section.name for section in self.sections if section.level)


def parse(raw: bytes) -> SectionedDoc:
    """Return the sections of a note."""
    return _parsed(raw) if len(raw) < LARGE else _parse_cached(raw)


@lru_cache(maxsize=MOST)
def _parse_cached(raw: bytes) -> SectionedDoc:
    return _parsed(raw)


def _parsed(raw: bytes) -> SectionedDoc:
    note = outline(raw)
    # Fault: a heading in a comment or a formula is no heading to the person who reads the note.
    if any(sign in raw for sign in _HIDING):
        headings = shown_headings(note.lines, note.blocks)
    else:
        headings = [block for block in note.blocks if block.kind == "heading"]
    return _sectioned(raw, note, headings)


def parse_main(raw: bytes) -> SectionedDoc:
    """Return the sections of level 2, each with all that is below it; all before them is preamble."""
    doc = parse(raw)
    starts = [number for number, section in enumerate(doc.sections) if section.level == 2]
    sections = [
        _joined(doc.sections[start:end]) for start, end in pairwise([*starts, len(doc.sections)])
    ]
    opening = SectionedDoc(doc.preamble, doc.sections[: starts[0]] if starts else doc.sections)
    return SectionedDoc(render(opening), tuple(sections))


def _joined(sections: Sequence[Section]) -> Section:
    first, *deeper = sections
    below = b"".join(section.heading + section.body for section in deeper)
    return first._replace(body=first.body + below)


def render(doc: SectionedDoc) -> bytes:
    """Return the bytes of a note: `render(parse(raw)) == raw`."""
    return doc.preamble + b"".join(section.heading + section.body for section in doc.sections)


def _sectioned(raw: bytes, note: Outline, headings: Sequence[Block]) -> SectionedDoc:
    starts = line_starts(raw)
    start = starts[note.body]
    edges = [starts[block.first] for block in headings]
    edges.append(len(raw))
    sections = [Section("", b"", raw[start : edges[0]], 0)]
    for block, first, end in zip(headings, edges, edges[1:], strict=False):
        body = starts[block.end]
        sections.append(Section(block.name, raw[first:body], raw[body:end], block.level))
    return SectionedDoc(raw[:start], tuple(sections))


def is_text(raw: bytes) -> bool:
    """Return whether these bytes are UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def line_starts(raw: bytes, *, whole: bool = True) -> list[int]:
    """Return the positions of the lines, and the end of the note.

    The BOM of a `whole` note belongs to no line.
    """
    if b"\r" in raw:
        starts = [0, *(match.end() for match in _LINE.finditer(raw))]
    else:
        lengths = [len(line) + 1 for line in raw.split(b"\n")]
        starts = list(accumulate(lengths, initial=0))
        starts.pop()
        # Without a final newline the last line ends with the note.
        if starts[-1] != len(raw):
            starts.append(len(raw))
    if whole and raw.startswith(_BOM):
        starts[0] = len(_BOM)
    return starts
