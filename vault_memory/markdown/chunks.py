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
from vault_memory.markdown.items import BLOCK_ID, MARKER, day, split_metadata
from vault_memory.markdown.outline import Outline, outline

CHUNKING = "1"
"""The version of these rules; another one means that all notes are chunked again."""


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
_METADATA = re.compile(r"(\([^()\n]*\))(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$", re.MULTILINE)
_MARKERS = re.compile(r"^" + MARKER.pattern, re.MULTILINE)
_HEADING_MARKS = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+|$)|[ \t]+#+[ \t]*$|^ {0,3}(?:-+|=+)[ \t]*$", re.MULTILINE)
_FRONT_TOPIC = re.compile(r"topic:[ \t]*[\"'\[]?[ \t]*([^\"'\[\],#]*)")
_FRONT_VALUE = re.compile(r"[ \t]*(?:-[ \t]+|[^:#]+:[ \t]*)[\"'\[{>|]*[ \t]*\w")


class Said(NamedTuple):
    """What an item tells about all chunks that are made of it."""

    who: str
    date: datetime.date | None
    topic: str


def chunk(raw: bytes) -> list[Chunk]:
    """The chunks of a note, in order. Any bytes are a note."""
    return _Chunker(outline(raw)).run()


class _Chunker:
    """Walks the blocks of one note."""

    def __init__(self, note: Outline) -> None:
        self._lines = note.lines
        self._blocks = note.blocks
        self._body = note.body
        self._topic = _front_topic(note.lines[: note.body])
        self._heading: tuple[str, ...] = ()
        self._chunks: list[Chunk] = []

    def run(self) -> list[Chunk]:
        if any(_FRONT_VALUE.match(line) for line in self._lines[1 : self._body - 1]):
            self._add(1, self._body - 1, Said("", None, self._topic), by_line=True)
        path: list[tuple[int, str]] = []
        for index, block in enumerate(self._blocks):
            if block.kind == "item":
                if block.level == 1:
                    self._add_item(index, Said("", None, self._topic))
            elif block.kind == "heading":
                self._add_heading(index, path)
            elif block.kind != "rule":
                self._add_text(block)
        return self._chunks

    def _add_heading(self, index: int, path: list[tuple[int, str]]) -> None:
        block = self._blocks[index]
        while path and path[-1][0] >= block.level:
            path.pop()
        self._heading = tuple(name for _, name in path if name)
        if block.name and self._is_bare(index):
            self._add(block.first, block.end, Said("", None, self._topic), by_line=False)
        path.append((block.level, block.name))
        if block.name:
            self._heading += (block.name,)

    def _is_bare(self, index: int) -> bool:
        """Whether nothing stands below a heading, not even a deeper heading."""
        for below in self._blocks[index + 1 :]:
            if below.kind != "rule":
                return below.kind == "heading" and below.level <= self._blocks[index].level
        return True

    def _add_text(self, block: Block) -> None:
        first, end = block.first, block.end
        by_line = block.kind in ("fence", "code") or any(map(_TABLE.match, self._lines[first:end]))
        speaker = _SPEAKER.match(self._lines[first]) if block.kind == "paragraph" else None
        self._add(first, end, Said(_name(speaker), None, self._topic), by_line=by_line)

    def _add_item(self, index: int, above: Said) -> None:
        block = self._blocks[index]
        children = self._children(index)
        own_end = self._blocks[children[0]].first if children else block.end
        said = self._said("\n".join(self._lines[block.first : max(own_end, block.first + 1)]), above)
        if sum(map(len, self._lines[block.first : block.end])) + block.end - block.first - 1 <= CAP:
            self._add(block.first, block.end, said, by_line=False)
            return
        line = block.first
        for child in children:
            self._add(line, self._blocks[child].first, said, by_line=False)
            self._add_item(child, said)
            line = self._blocks[child].end
        self._add(line, block.end, said, by_line=False)

    def _children(self, index: int) -> list[int]:
        block, blocks = self._blocks[index], self._blocks
        found = []
        for below in range(index + 1, len(blocks)):
            if blocks[below].first >= block.end:
                break
            if blocks[below].level == block.level + 1:
                found.append(below)
        return found

    def _said(self, own: str, above: Said) -> Said:
        who, day_of, topic = above
        speaker = _SPEAKER.match(own)
        if speaker:
            who = _name(speaker)
        metadata = _METADATA.search(own) if "(" in own else None
        if metadata:
            _, known = split_metadata(metadata[1])
            day_of = day(known.get("date", "")) or day_of
            topic = known.get("topic", topic)
        return Said(who, day_of, topic)

    def _add(self, first: int, end: int, said: Said, *, by_line: bool) -> None:
        if first >= end:
            return
        text = "\n".join(self._lines[first:end])
        for piece in cut(text, by_line=by_line):
            if MARKER.fullmatch(piece.text) or not piece.text.strip():
                continue
            self._chunks.append(
                Chunk(
                    piece.text,
                    self._heading,
                    said.who,
                    first + piece.first + 1,
                    first + piece.last + 1,
                    said.date,
                    said.topic,
                )
            )


def embed_text(heading: tuple[str, ...], who: str, text: str) -> str:
    """What is embedded, and what makes two chunks the same: heading path and speaker, then the text without marks."""
    speaker = _SPEAKER.match(text) if who else None
    body = text[speaker.end() :] if speaker and _name(speaker) == who else text
    body = BLOCK_ID.sub("", _MARKERS.sub("", _HEADING_MARKS.sub("", body))).strip()
    above = " › ".join(heading)
    return "\n".join(filter(None, (above, f"{who}: {body}" if who else body)))


def identity(embed_text: str) -> bytes:
    """The identity of a chunk, and the key of its vector: SHA-256 of its exact embed text."""
    return sha256(embed_text.encode("utf-8", "surrogatepass")).digest()


def _name(speaker: re.Match[str] | None) -> str:
    return speaker[1].strip() if speaker else ""


def _front_topic(front: list[str]) -> str:
    for line in front:
        match = _FRONT_TOPIC.match(line)
        if match:
            return match[1].strip()
    return ""
