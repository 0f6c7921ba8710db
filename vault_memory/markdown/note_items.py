"""Lists the items of a note for the rules of memory: position, text and id of each."""

import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.editable_region import Region, top_region
from vault_memory.markdown.item_text import (
    marker_and_box,
    marker_end,
    parts_of,
    unescaped,
)
from vault_memory.markdown.items import normalised_text, text_in_id

ID_LENGTH = 10
"""Hex digits of the id of an item or a proposal"""


class NoteItem(NamedTuple):
    """An item in the top region of a section; positions are bytes from the start of its body."""

    section: int
    """The number of the section, from 0"""
    heading: str
    start: int
    own_end: int
    """After its own lines, before its first nested item"""
    end: int
    """After its nested items"""
    depth: int
    text: str
    """Its own text in one line, without marker, box and escapes"""
    own: bytes
    """Its own lines"""
    box: str = ""
    """The letter in the box of a task"""

    @property
    def key(self) -> tuple[str, str]:
        """The section and the normalised text, by which an item is recognised."""
        return self.heading, normalised_text(self.text)

    @property
    def paragraph(self) -> str:
        """Its first paragraph in one line, without block id."""
        return one_line(parts_of(self.own).paragraph)


def items_of(doc: SectionedDoc) -> list[NoteItem]:
    """Return all items that ops can address, in the order of the note."""
    return [
        item
        for section in range(len(doc.sections))
        for item in section_items(doc, section)
    ]


def section_items(
    doc: SectionedDoc,
    at: int,
) -> list[NoteItem]:
    """Return the items in the top region of section `at`; a nested item follows its parent."""
    section = doc.sections[at]
    return region_items(section.body, top_region(section.body), at, section.name)


def region_items(
    body: bytes,
    region: Region,
    at: int = 0,
    heading: str = "",
) -> list[NoteItem]:
    """Return the items in a region of the body of section `at`."""
    spans = region.items
    next_starts = [span.start for span in spans[1:]] + [len(body)]
    items: list[NoteItem] = []
    for span, next_start in zip(spans, next_starts, strict=False):
        own_end = min(next_start, span.end)
        own = body[span.start : own_end]
        text_start, box = marker_and_box(own)
        items.append(
            NoteItem(
                section=at,
                heading=heading,
                start=span.start,
                own_end=own_end,
                end=span.end,
                depth=span.depth,
                text=one_line(own[text_start:]),
                own=own,
                box=box,
            )
        )
    return items


def section_named(
    doc: SectionedDoc,
    name: str,
) -> int | None:
    """Return the number of the first section with a name."""
    names = [section.name for section in doc.sections]
    return names.index(name) if name in names else None


def own_texts(
    body: bytes,
    region: Region,
) -> tuple[str, ...]:
    """Return the own text of each item of a region, in order."""
    starts = [item.start for item in region.items]
    own_ends = map(min, [*starts[1:], len(body)], [item.end for item in region.items])
    return tuple(
        text_of(body[start:end]) for start, end in zip(starts, own_ends, strict=False)
    )


def text_of(own: bytes) -> str:
    """Return the text of an item's own lines, in one line, without marker, box and escapes."""
    return one_line(own[marker_end(own) :])


def one_line(text: bytes) -> str:
    """Return the text of an item's lines without their marker, in one line and without escapes."""
    return unescaped(" ".join(text.decode("utf-8", "replace").split()))


def said(line: str) -> str:
    """Return the text of an item that is written with this line."""
    return text_of(b"- " + line.encode("utf-8", "replace"))


def texts_in(raw: bytes) -> tuple[str, ...]:
    """Return the texts of the items in bytes from a note: an item with its nested ones, or a section."""
    doc = parse(raw)
    if not doc.sections:
        doc = parse(b"## \n" + dedented(raw))
    return tuple(item.text for item in section_items(doc, 0))


def archived_bytes(item: bytes) -> bytes:
    """Return an item as it is in the archive: at the margin, and without blank lines after it."""
    return dedented(item).rstrip()


def dedented(raw: bytes) -> bytes:
    """Return lines without the indent of the first one."""
    indent = raw[: len(raw) - len(raw.lstrip(b" \t"))]
    if not indent:
        return raw
    return b"".join(line.removeprefix(indent) for line in raw.splitlines(keepends=True))


def line_end(raw: bytes) -> bytes:
    """Return the line end that most lines have."""
    crlf = raw.count(b"\r\n")
    lf = raw.count(b"\n") - crlf
    cr = raw.count(b"\r") - crlf
    if crlf > max(lf, cr):
        return b"\r\n"
    return b"\r" if cr > lf else b"\n"


def item_id(
    scope: str,
    kind: str,
    text: str,
) -> str:
    """Return the id of an item. It needs no mark in the note, and is the same on every device."""
    return short_hash(scope, kind, text_in_id(text))


def short_hash(*parts: str) -> str:
    """Return the first hex digits of the SHA-256 of some texts, joined by newlines."""
    joined = unicodedata.normalize("NFC", "\n".join(parts)).encode("utf-8", "replace")
    return sha256(joined).hexdigest()[:ID_LENGTH]


class Resolved(NamedTuple):
    """The ids that begin with a prefix."""

    id: str
    """Empty when no id or several ids begin with it"""
    candidates: tuple[str, ...]
    """All ids that begin with it"""


def resolve(
    prefix: str,
    ids: Iterable[str],
) -> Resolved:
    """Return the only id that begins with `prefix`, or the id that equals it."""
    prefix = prefix.strip().casefold()
    if not prefix:
        return Resolved("", ())
    matches = tuple(sorted({id_ for id_ in ids if id_.casefold().startswith(prefix)}))
    if prefix in matches:
        return Resolved(prefix, (prefix,))
    return Resolved(matches[0] if len(matches) == 1 else "", matches)
