"""Lists the items of a note for the rules of memory: position, text and id of each.

Also says how much of an old note a new one has.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.editable_region import Region, top_region
from vault_memory.markdown.item_text import marker_and_box, marker_end, parts_of, unescaped
from vault_memory.markdown.items import normalised, normalised_text, text_in_id
from vault_memory.markdown.visible_text import visible

_BLOCK_HEADING = re.compile(r"#{1,6} (.*\S)")
_MAY_BE_HEADING = re.compile(rb"(?:[-*+]|[0-9][.)])[ \t]+(?:\[.\][ \t]+)?#")
_NO_WORDS = re.compile(
    r"%%.*?%%|\{#[^{}]*\}|[ \t]\^[\w-]+$|[0-9#*]\ufe0f?\u20e3"
    r"|(?<!\S):[a-z][a-z0-9_+-]{0,40}:(?!\S)"
)
"""Parts of a heading that are no words: comments, ids, keycaps, short names of emoji"""
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
    return [item for section in range(len(doc.sections)) for item in section_items(doc, section)]


def section_items(doc: SectionedDoc, at: int) -> list[NoteItem]:
    """Return the items in the top region of section `at`; a nested item follows its parent."""
    section = doc.sections[at]
    return region_items(section.body, top_region(section.body), at, section.name)


def region_items(body: bytes, region: Region, at: int = 0, heading: str = "") -> list[NoteItem]:
    """Return the items in a region of the body of section `at`."""
    spans = region.items
    next_starts = [span.start for span in spans[1:]] + [len(body)]
    items: list[NoteItem] = []
    new = tuple.__new__  # a third of the cost of `NoteItem(…)`
    above = [(0, heading)]
    for span, next_start in zip(spans, next_starts, strict=False):
        own_end = min(next_start, span.end)
        own = body[span.start : own_end]
        # In Logseq an item may be a heading: the items nested in it are its section.
        while above[-1][0] >= span.depth:
            above.pop()
        heading = above[-1][1]
        text_start, box = marker_and_box(own)
        if own[text_start : text_start + 1] == b"#" and (name := item_heading(own)):
            above.append((span.depth, name))
        items.append(
            new(
                NoteItem,
                (
                    at,
                    heading,
                    span.start,
                    own_end,
                    span.end,
                    span.depth,
                    one_line(own[text_start:]),
                    own,
                    box,
                ),
            )
        )
    return items


class Named(NamedTuple):
    """What the name of a section means in a note."""

    sections: list[int]
    """their numbers; the only one of level 2 is the first"""
    blocks: list[NoteItem]
    """items that are this heading, as in Logseq: what is nested in them is the section"""

    @property
    def heading(self) -> str:
        """The name of a block as the note has it"""
        return item_heading(self.blocks[0].own) if self.blocks else ""


def named(doc: SectionedDoc, name: str) -> Named:
    """Return the sections that a name means; the empty name is that of the opening.

    A name that differs in case, marks, emoji or blanks means a section when it is the only such one.
    """
    if not name:
        return Named([0], [])
    exact = [
        number
        for number, section in enumerate(doc.sections)
        if section.level and section.name == name
    ]
    if exact:
        main = [number for number in exact if doc.sections[number].level == 2]
        return Named(sorted(exact, key=lambda number: [number] != main), [])
    blocks = block_headings(doc)
    same_blocks = [block for block in blocks if item_heading(block.own) == name]
    return Named([], same_blocks) if same_blocks else _alike(doc, blocks, name)


def _alike(doc: SectionedDoc, blocks: list[NoteItem], name: str) -> Named:
    """Return the only section with a similar name."""
    key = heading_key(name)
    keys = [heading_key(section.name) for section in doc.sections]
    numbers = [number for number in range(1, len(keys)) if key and keys[number] == key]
    alike_blocks = [
        block for block in blocks if key and heading_key(item_heading(block.own)) == key
    ]
    is_clear = len(numbers) + len(alike_blocks) == 1
    return Named(numbers, alike_blocks) if is_clear else Named([], [])


def section_named(doc: SectionedDoc, name: str) -> int | None:
    """Return the number of the first section that a name means, or that has this heading."""
    return next(iter(numbers_named(doc, name)), None)


def numbers_named(doc: SectionedDoc, name: str) -> list[int]:
    """Return the numbers of the sections that a name means, or that have this heading."""
    means = named(doc, name)
    return means.sections or list(dict.fromkeys(block.section for block in means.blocks))


def items_named(doc: SectionedDoc, name: str) -> list[NoteItem]:
    """Return the items of all sections that a name means."""
    means = named(doc, name)
    if means.blocks:
        heading = means.heading
        sections = dict.fromkeys(block.section for block in means.blocks)
        return [
            item
            for number in sections
            for item in section_items(doc, number)
            if item.heading == heading
        ]
    return [
        item
        for number in means.sections
        for item in section_items(doc, number)
        if item.heading == doc.sections[number].name
    ]


def item_heading(own: bytes) -> str:
    """Return the name of the heading that an item is: `Tasks` for ``- ## Tasks``; else nothing."""
    start = marker_end(own)
    if own[start : start + 1] != b"#":
        return ""
    match = _BLOCK_HEADING.match(one_line(parts_of(own).paragraph))
    return match[1] if match else ""


def block_headings(doc: SectionedDoc) -> list[NoteItem]:
    """Return the items that are headings."""
    return [
        item
        for number, section in enumerate(doc.sections)
        # Few notes have such items, and to read all others would make each op slow.
        if _MAY_BE_HEADING.search(section.body)
        for item in section_items(doc, number)
        if item_heading(item.own)
    ]


def heading_key(name: str) -> str:
    """Return the letters and digits of a heading, by which similar names are compared."""
    text = visible(_NO_WORDS.sub("", name))
    return "".join(letter for letter in text if unicodedata.category(letter)[0] in "LMN")


def own_texts(body: bytes, region: Region, texts: Mapping[bytes, str]) -> tuple[str, ...]:
    """Return the own text of each item of a region, in order; `texts` has those that were read."""
    starts = [item.start for item in region.items]
    own_ends = map(min, [*starts[1:], len(body)], [item.end for item in region.items])
    owns = [body[start:end] for start, end in zip(starts, own_ends, strict=False)]
    return tuple([texts[own] if own in texts else text_of(own) for own in owns])


def text_of(own: bytes) -> str:
    """Return the text of an item's own lines, in one line, without marker, box and escapes."""
    return one_line(own[marker_end(own) :])


def one_line(text: bytes) -> str:
    """Return the text of an item's lines without their marker, in one line and without escapes."""
    line = " ".join(text.decode("utf-8", "replace").split())
    return unescaped(line) if "\\" in line else line


def said(line: str) -> str:
    """Return the text of an item that is written with this line."""
    return text_of(b"- " + line.encode("utf-8", "replace"))


def texts_in(raw: bytes) -> tuple[str, ...]:
    """Return the texts of the items in bytes from a note: an item with its nested ones, or a section."""
    doc = parse(raw)
    if not doc.headings:
        doc = parse(b"## \n" + dedented(raw))
    return tuple(item.text for item in section_items(doc, 1))


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


def item_id(scope: str, kind: str, text: str) -> str:
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


def resolve(prefix: str, ids: Iterable[str]) -> Resolved:
    """Return the only id that begins with `prefix`, or the id that equals it."""
    prefix = prefix.strip().casefold()
    if not prefix:
        return Resolved("", ())
    matches = tuple(sorted({id_ for id_ in ids if id_.casefold().startswith(prefix)}))
    if prefix in matches:
        return Resolved(prefix, (prefix,))
    return Resolved(matches[0] if len(matches) == 1 else "", matches)


RENAMED_SHARE = 0.5
"""The share of its lines that a note keeps when it is renamed and edited"""


def line_counts(raw: bytes) -> Counter[str]:
    """Return the lines of all sections, normalised, without headings and empty lines."""
    return _lines(parse(raw))


def share_kept(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of the lines of an old text that a new one has."""
    return (old & new).total() / max(1, old.total())


def _lines(doc: SectionedDoc) -> Counter[str]:
    counts: Counter[str] = Counter()
    for body in (doc.preamble, *(section.body for section in doc.sections)):
        counts += normalised_lines(body)
    return counts


def normalised_lines(raw: bytes) -> Counter[str]:
    """Return the lines of some text, normalised, without empty ones."""
    texts = map(normalised, raw.decode("utf-8", "replace").splitlines())
    return Counter(filter(None, texts))
