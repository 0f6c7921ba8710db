"""Chunks: the units of a note that are found. One says one thing, stands under one heading, and fits a prompt.

An item with its continuation and children, a paragraph, a fence, a table is one chunk while it fits `CAP` characters.
An item that does not fit gives up its children; what is still too long is cut at lines (fences, tables), at sentence
ends, at blanks, or anywhere. Headings stand in the heading path of what is below them; one with nothing below is a
chunk of its own.
"""

import datetime
import re
from hashlib import sha256
from typing import NamedTuple

from vault_memory.markdown.block import Block
from vault_memory.markdown.cutting import CAP, cut
from vault_memory.markdown.items import BLOCK_ID, MARKER, day, read_metadata
from vault_memory.markdown.outline import Outline, outline


class Chunk(NamedTuple):
    """A unit of a note."""

    text: str
    """its lines as they stand, decoded, without the final line end; or a part of one, when it was cut"""
    heading: tuple[str, ...]
    """the names of the headings above it, from level 1 down"""
    who: str
    """who speaks: `Ann` for ``- **Ann**: hi``; often empty"""
    first_line: int
    """1-based"""
    last_line: int
    """inclusive"""
    date: datetime.date | None
    """from the item's metadata"""
    topic: str
    """from the item's metadata, else the front matter's"""


_TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
_SPEAKER = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\*\*([^*\n]{1,40}?)(?::\*\*|\*\*:)[ \t]*")
_METADATA = re.compile(r"\(([^()\n]*)\)(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$", re.MULTILINE)
_MARKERS = re.compile(rf"^(?:{MARKER.pattern}|[ \t]+)", re.MULTILINE)
_HEADING_MARKS = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+|$)|[ \t]+#+[ \t]*$|^ {0,3}(?:-+|=+)[ \t]*$", re.MULTILINE)
_FRONT_TOPIC = re.compile(r"topic:[ \t]*[\"'\[]?[ \t]*([^\"'\[\],#]*)")
_FRONT_VALUE = re.compile(r"[ \t]*(?:-[ \t]+|[^:#]+:[ \t]*)[\"'\[{>|]*[ \t]*\w")


class _Said(NamedTuple):
    """What an item tells about all chunks that are made of it."""

    who: str
    date: datetime.date | None
    topic: str


def chunk(raw: bytes) -> list[Chunk]:
    """The chunks of a note, in order. Any bytes are a note."""
    return _Chunker(outline(raw)).run()


class _Chunker:
    """Walks the blocks of one note."""

    __slots__ = ("_blocks", "_body", "_chunks", "_heading", "_lines", "_nothing", "_path")

    def __init__(self, note: Outline) -> None:
        self._lines, self._body, self._blocks = note
        self._nothing = _Said("", None, _front_topic(self._lines[: self._body]))
        self._path: list[tuple[int, str]] = []
        self._heading: tuple[str, ...] = ()
        self._chunks: list[Chunk] = []

    def run(self) -> list[Chunk]:
        if self._body and any(map(_FRONT_VALUE.match, self._lines[1 : self._body - 1])):
            self._add(1, self._body - 1, self._nothing, by_line=True)
        for index, block in enumerate(self._blocks):
            if block.kind == "item":
                if block.level == 1:
                    self._add_item(index, self._nothing)
            elif block.kind == "heading":
                self._add_heading(index)
            elif block.kind != "rule":
                self._add_text(block)
        return self._chunks

    def _add_heading(self, index: int) -> None:
        block, path = self._blocks[index], self._path
        while path and path[-1][0] >= block.level:
            path.pop()
        self._heading = tuple([name for _, name in path])
        if not block.name:
            return
        if self._is_bare(index):
            self._add(block.first, block.end, self._nothing, by_line=False)
        path.append((block.level, block.name))
        self._heading += (block.name,)

    def _is_bare(self, index: int) -> bool:
        """Whether nothing stands below a heading, not even a deeper heading."""
        level = self._blocks[index].level
        while index + 1 < len(self._blocks):
            index += 1
            below = self._blocks[index]
            if below.kind != "rule":
                return below.kind == "heading" and below.level <= level
        return True

    def _add_text(self, block: Block) -> None:
        kind, first, end, _, _ = block
        text = "\n".join(self._lines[first:end])
        by_line = kind in ("fence", "code") or ("|" in text and bool(_TABLE.search(text)))
        said = self._nothing
        if text.startswith("**") and (speaker := _SPEAKER.match(text)):
            said = said._replace(who=speaker[1].strip())
        self._cut(text, first, said, by_line=by_line)

    def _add_item(self, index: int, above: _Said) -> None:
        block, blocks = self._blocks[index], self._blocks
        first, end = block.first, block.end
        text = own = "\n".join(self._lines[first:end]) if end - first > 1 else self._lines[first]
        has_children = index + 1 < len(blocks) and blocks[index + 1].first < end
        if has_children:
            own = "\n".join(self._lines[first : max(blocks[index + 1].first, first + 1)])
        said = _said(own, above) if "**" in own or "(" in own else above
        if len(text) <= CAP or not has_children:
            self._cut(text, first, said, by_line=False)
        else:
            self._add_in_parts(index, said)

    def _add_in_parts(self, index: int, said: _Said) -> None:
        """An item and its children, each by itself."""
        line = self._blocks[index].first
        for child in self._children(index):
            self._add(line, self._blocks[child].first, said, by_line=False)
            self._add_item(child, said)
            line = self._blocks[child].end
        self._add(line, self._blocks[index].end, said, by_line=False)

    def _children(self, index: int) -> list[int]:
        end, level = self._blocks[index].end, self._blocks[index].level + 1
        found = []
        while index + 1 < len(self._blocks) and self._blocks[index + 1].first < end:
            index += 1
            if self._blocks[index].level == level:
                found.append(index)
        return found

    def _add(self, first: int, end: int, said: _Said, *, by_line: bool) -> None:
        self._cut("\n".join(self._lines[first:end]), first, said, by_line=by_line)

    def _cut(self, text: str, line: int, said: _Said, *, by_line: bool) -> None:
        who, day_of, topic = said
        line += 1
        if len(text) <= CAP and text and not (text[0].isspace() or text[-1].isspace()):
            if len(text) > 16 or not MARKER.fullmatch(text):
                last = line + text.count("\n")
                self._chunks.append(Chunk(text, self._heading, who, line, last, day_of, topic))
            return
        for piece, first, last in cut(text, by_line=by_line):
            if not MARKER.fullmatch(piece):
                self._chunks.append(Chunk(piece, self._heading, who, line + first, line + last, day_of, topic))


def embed_text(heading: tuple[str, ...], who: str, text: str) -> str:
    """What is embedded, and what makes two chunks the same: heading path and speaker, then the text without marks."""
    if who and (speaker := _SPEAKER.match(text)) and speaker[1].strip() == who:
        text = text[speaker.end() :]
    if text.startswith(("#", " ")) or text.endswith(("-", "=", "#", " ")):
        text = _HEADING_MARKS.sub("", text)
    if "\n" in text:
        text = _MARKERS.sub("", text)
    elif marker := MARKER.match(text):
        text = text[marker.end() :]
    if "^" in text:
        text = BLOCK_ID.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    text = f"{who}: {text.strip()}" if who else text.strip()
    return f"{' › '.join(heading)}\n{text}" if heading else text


def identity(embed_text: str) -> bytes:
    """The identity of a chunk, and the key of its vector: SHA-256 of its exact embed text."""
    return sha256(embed_text.encode("utf-8", "surrogatepass")).digest()


def _said(own: str, above: _Said) -> _Said:
    """What an item's own text tells; where it says nothing, what the item around it told."""
    who, day_of, topic = above
    if "**" in own and (speaker := _SPEAKER.match(own)):
        who = speaker[1].strip()
    if ")" in own and (metadata := _METADATA.search(own)):
        known, _ = read_metadata(metadata[1])
        day_of = day(known.get("date", "")) or day_of
        topic = known.get("topic", topic)
    return _Said(who, day_of, topic)


def _front_topic(front: list[str]) -> str:
    for line in front:
        match = _FRONT_TOPIC.match(line)
        if match:
            return match[1].strip()
    return ""
