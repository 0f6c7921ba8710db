"""The items of a note as the rules of memory see them: where each stands, what it says, which id it is called by."""

import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.editable_region import item_marker, top_region
from vault_memory.markdown.items import normalised

ID_LENGTH = 10
"""Hex digits of an item's or a proposal's id"""


class NoteItem(NamedTuple):
    """One item in the top region of a section; positions are bytes from the start of the section's body."""

    section: int
    """which section of the note, counted from 0"""
    heading: str
    start: int
    own_end: int
    """after its own lines, before its first nested item"""
    end: int
    """after its nested items"""
    depth: int
    text: str
    """its own text in one line, without its marker"""

    @property
    def key(self) -> tuple[str, str]:
        """By what it is known again: its section and its normalised text."""
        return self.heading, normalised(self.text)


def items_of(doc: SectionedDoc) -> list[NoteItem]:
    """All items that curation could reach, in the order of the note."""
    return [item for at in range(len(doc.sections)) for item in section_items(doc, at)]


def section_items(doc: SectionedDoc, at: int) -> list[NoteItem]:
    """The items in the top region of one section; a nested item follows its parent."""
    section = doc.sections[at]
    body, spans = section.body, top_region(section.body).items
    found = []
    for here, span in enumerate(spans):
        own_end = (
            min(spans[here + 1].start, span.end) if here + 1 < len(spans) else span.end
        )
        text = text_of(body[span.start : own_end])
        found.append(
            NoteItem(at, section.name, span.start, own_end, span.end, span.depth, text)
        )
    return found


def section_named(doc: SectionedDoc, name: str) -> int | None:
    """Which section is meant by a name: the first that has it."""
    return next(
        (at for at, section in enumerate(doc.sections) if section.name == name), None
    )


def text_of(own: bytes) -> str:
    """What an item's own lines say, in one line."""
    return " ".join(own[len(item_marker(own)) :].decode("utf-8", "replace").split())


def said(line: str) -> str:
    """What an item that is written with this line says."""
    return text_of(b"- " + line.encode("utf-8", "replace"))


def texts_in(piece: bytes) -> tuple[str, ...]:
    """What the items say in some bytes cut out of a note: an item with what is nested in it, or a whole section."""
    doc = parse(piece)
    if doc.sections:
        return tuple(item.text for item in section_items(doc, 0))
    found = parse(b"## \n" + dedented(piece))
    return tuple(item.text for item in section_items(found, 0))


def dedented(piece: bytes) -> bytes:
    """The piece with the indent of its first line taken from all its lines."""
    indent = piece[: len(piece) - len(piece.lstrip(b" \t"))]
    return (
        b"".join(line.removeprefix(indent) for line in piece.splitlines(keepends=True))
        if indent
        else piece
    )


def folded(text: str) -> str:
    """As ops compare texts: case and blanks do not count."""
    return " ".join(text.casefold().split())


def line_end(raw: bytes) -> bytes:
    """The line end that most lines have."""
    crlf = raw.count(b"\r\n")
    lf, cr = raw.count(b"\n") - crlf, raw.count(b"\r") - crlf
    if crlf > max(lf, cr):
        return b"\r\n"
    return b"\r" if cr > lf else b"\n"


def item_id(scope: str, kind: str, text: str) -> str:
    """The id of an item: it needs no mark in the note, and is the same on every device."""
    return short_hash(scope, kind, normalised(text))


def short_hash(*parts: str) -> str:
    """The first hex digits of the SHA-256 of some texts, one a line."""
    joined = unicodedata.normalize("NFC", "\n".join(parts)).encode("utf-8", "replace")
    return sha256(joined).hexdigest()[:ID_LENGTH]


class Resolved(NamedTuple):
    """What a beginning of an id stands for."""

    id: str
    """empty when none or several begin so"""
    candidates: tuple[str, ...]
    """all that begin so"""


def resolve(prefix: str, ids: Iterable[str]) -> Resolved:
    """The one id that begins with `prefix`; a whole id means itself also where others begin with it."""
    wanted = prefix.strip().casefold()
    found = tuple(
        sorted({one for one in ids if wanted and one.casefold().startswith(wanted)})
    )
    if wanted in found:
        return Resolved(wanted, (wanted,))
    return Resolved(found[0] if len(found) == 1 else "", found)
