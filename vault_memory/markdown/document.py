"""A note as bytes and sections. What is read is given back byte for byte, whatever the bytes are."""

import re
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from vault_memory.markdown.blocks.outline import MOST, Outline, outline

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BOM = b"\xef\xbb\xbf"
LARGE = 1 << 15
"""In bytes, from which on a note that was read is remembered"""


class Section(NamedTuple):
    """A level-2 heading at the top level of a note, and all up to the next one."""

    name: str
    """the heading's text, without marks and closing #s"""
    heading: bytes
    """its line or, in setext form, lines, with line ends, e.g. ``b"## Preferences\\r\\n"``"""
    body: bytes


class SectionedDoc(NamedTuple):
    """A note in parts; joined in order they are the note."""

    preamble: bytes
    """everything before the first section: BOM, front matter, title, text"""
    sections: tuple[Section, ...]


def parse(raw: bytes) -> SectionedDoc:
    """The sections of a note. Any bytes are a note."""
    return _sectioned(raw, outline(raw)) if len(raw) < LARGE else _remembered(raw)


@lru_cache(maxsize=MOST)
def _remembered(raw: bytes) -> SectionedDoc:
    return _sectioned(raw, outline(raw))


def render(doc: SectionedDoc) -> bytes:
    """The bytes of a note: `render(parse(raw)) == raw`."""
    return doc.preamble + b"".join(
        section.heading + section.body for section in doc.sections
    )


def _sectioned(raw: bytes, found: Outline) -> SectionedDoc:
    headings = [
        block for block in found.blocks if block.kind == "heading" and block.level == 2
    ]
    if not headings:
        return SectionedDoc(raw, ())
    starts = line_starts(raw)
    edges = [starts[block.first] for block in headings] + [len(raw)]
    sections = tuple(
        Section(
            block.name, raw[edge : starts[block.end]], raw[starts[block.end] : after]
        )
        for block, edge, after in zip(headings, edges, edges[1:], strict=False)
    )
    return SectionedDoc(raw[: edges[0]], sections)


def is_text(raw: bytes) -> bool:
    """Whether these bytes are UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def line_starts(raw: bytes, *, whole: bool = True) -> list[int]:
    """Where each line begins, and where the note ends. The BOM of a `whole` note belongs to no line."""
    if b"\r" in raw:
        starts = [0, *(match.end() for match in _LINE.finditer(raw))]
    else:
        starts = list(
            accumulate([len(line) + 1 for line in raw.split(b"\n")], initial=0)
        )
        starts.pop()
        if starts[-1] != len(raw):
            starts.append(len(raw))
    if whole and raw.startswith(_BOM):
        starts[0] = len(_BOM)
    return starts
