"""Splits a note into sections, and joins them to the same bytes. Any bytes are a note."""

import re
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from vault_memory.markdown.blocks.outline import MOST, Outline, outline

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BOM = b"\xef\xbb\xbf"
LARGE = 1 << 15
"""Bytes from which on the sections of a note are cached"""


class Section(NamedTuple):
    """A level-2 heading at the top level of a note, and everything up to the next one."""

    name: str
    """The text of the heading, without marks and closing #s"""
    heading: bytes
    """Its line or, in setext form, lines, with line ends, e.g. ``b"## Preferences\\r\\n"``"""
    body: bytes


class SectionedDoc(NamedTuple):
    """A note as a preamble and sections; joined in order they are the note."""

    preamble: bytes
    """Everything before the first section: BOM, front matter, title, text"""
    sections: tuple[Section, ...]


def parse(raw: bytes) -> SectionedDoc:
    """Return the sections of a note."""
    return _sectioned(raw, outline(raw)) if len(raw) < LARGE else _parse_cached(raw)


@lru_cache(maxsize=MOST)
def _parse_cached(raw: bytes) -> SectionedDoc:
    return _sectioned(raw, outline(raw))


def render(doc: SectionedDoc) -> bytes:
    """Return the bytes of a note: `render(parse(raw)) == raw`."""
    return doc.preamble + b"".join(
        section.heading + section.body for section in doc.sections
    )


def _sectioned(
    raw: bytes,
    note: Outline,
) -> SectionedDoc:
    headings = [
        block for block in note.blocks if block.kind == "heading" and block.level == 2
    ]
    if not headings:
        return SectionedDoc(raw, ())
    starts = line_starts(raw)
    edges = [starts[block.first] for block in headings]
    edges.append(len(raw))
    sections: list[Section] = []
    for block, start, end in zip(headings, edges, edges[1:], strict=False):
        body = starts[block.end]
        sections.append(Section(block.name, raw[start:body], raw[body:end]))
    return SectionedDoc(raw[: edges[0]], tuple(sections))


def is_text(raw: bytes) -> bool:
    """Return whether these bytes are UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def line_starts(
    raw: bytes,
    *,
    whole: bool = True,
) -> list[int]:
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
