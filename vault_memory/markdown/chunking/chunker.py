"""Chunks: the units of a note that are found. One says one thing, stands under one heading, and fits a prompt.

An item with its continuation and children, a paragraph, a fence, a table is one chunk while it fits `CAP` characters.
An item that does not fit gives up its children; what is still too long is cut at lines (fences, tables), at sentence
ends, at blanks, or anywhere. Headings stand in the heading path of what is below them; one with nothing below is a
chunk of its own.
"""

import datetime
import re
from bisect import bisect_left
from operator import itemgetter
from typing import NamedTuple

from vault_memory.markdown.blocks.incremental import seam
from vault_memory.markdown.blocks.model import Block
from vault_memory.markdown.blocks.outline import LONG, MOST, Outline, outline
from vault_memory.markdown.chunking.chunk_limit import capped
from vault_memory.markdown.chunking.chunk_text import MARKER, SPEAKER, Chunk
from vault_memory.markdown.chunking.splitter import CAP, cut
from vault_memory.markdown.items import day, read_metadata

_TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
_METADATA = re.compile(r"\(([^()\n]*)\)(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$", re.MULTILINE)
_FRONT_TOPIC = re.compile(r"topic:[ \t]*[\"'\[]?[ \t]*([^\"'\[\],#]*)")
_FRONT_VALUE = re.compile(r"[ \t]*(?:-[ \t]+|[^:#]+:[ \t]*)[\"'\[{>|]*[ \t]*\w")


class _Said(NamedTuple):
    """What an item tells about all chunks that are made of it."""

    who: str
    date: datetime.date | None
    topic: str


class _Chunked(NamedTuple):
    """A long note that was cut into chunks, before they were joined."""

    note: Outline
    chunks: list[Chunk]


_recent: tuple[_Chunked, ...] = ()
_first_line = itemgetter(3)


def chunk(raw: bytes) -> list[Chunk]:
    """The chunks of a note, in order; nobody changes the list. Any bytes are a note.

    Of a long note that differs little from one that was cut lately, only the difference is cut.
    """
    return capped(_cut_note(raw))


def _cut_note(raw: bytes) -> list[Chunk]:
    """The chunks of a note, however many they are."""
    global _recent
    note = outline(raw)
    if len(note.lines) < LONG:
        return _Chunker(note).run()
    recent = _recent
    for at, known in enumerate(recent):
        chunks = (
            known.chunks
            if known.note == note
            else chunk_again(known.note, known.chunks, note)
        )
        if chunks is not None:
            _recent = (_Chunked(note, chunks), *recent[:at], *recent[at + 1 :])
            return chunks
    chunks = _Chunker(note).run()
    _recent = (_Chunked(note, chunks), *recent[: MOST - 1])
    return chunks


def chunk_again(old: Outline, chunks: list[Chunk], note: Outline) -> list[Chunk] | None:
    """The chunks of `note`, where most of them are known from `old`; None when the whole has to be cut."""
    found = (
        seam(old.lines, old.blocks, note.lines, note.body)
        if old.body == note.body
        else None
    )
    if found is None:
        return None
    until = len(note.blocks) - (len(old.blocks) - found.below)
    if found.below < len(old.blocks):
        if until < found.above or note.blocks[until].first != found.end:
            return None
        if _path_above(old.blocks, found.below) != _path_above(note.blocks, until):
            return None
    first = bisect_left(chunks, found.line + 1, key=_first_line) if found.above else 0
    last = bisect_left(chunks, found.end - found.shift + 1, key=_first_line)
    below = chunks[last:] if found.below < len(old.blocks) else []
    return (
        chunks[:first]
        + _Chunker(note).run(found.above, until)
        + _moved(below, found.shift)
    )


def _moved(chunks: list[Chunk], shift: int) -> list[Chunk]:
    """The chunks as they stand when so many lines come above them."""
    if not shift:
        return chunks
    new = tuple.__new__  # a third of what `Chunk(…)` costs
    return [
        new(Chunk, (text, heading, who, first + shift, last + shift, date, topic))
        for text, heading, who, first, last, date, topic in chunks
    ]


def _path_above(blocks: list[Block], index: int) -> list[tuple[int, str]]:
    """The headings under which a block stands, with their levels."""
    path: list[tuple[int, str]] = []
    level = 7
    for block in reversed(blocks[: index + 1]):
        if block.kind == "heading" and block.level < level:
            level = block.level
            if block.name and block is not blocks[index]:
                path.insert(0, (level, block.name))
        if level == 1:
            break
    return path


class _Chunker:
    """Walks the blocks of one note."""

    __slots__ = (
        "_blocks",
        "_body",
        "_chunks",
        "_heading",
        "_lines",
        "_nothing",
        "_path",
    )

    def __init__(self, note: Outline) -> None:
        self._lines, self._body, self._blocks = note
        self._nothing = _Said("", None, _front_topic(self._lines[: self._body]))
        self._path: list[tuple[int, str]] = []
        self._heading: tuple[str, ...] = ()
        self._chunks: list[Chunk] = []

    def run(self, start: int = 0, end: int | None = None) -> list[Chunk]:
        """The chunks of the blocks from `start` to `end`; from the first one on also those of the front matter."""
        if start:
            self._path = _path_above(self._blocks, start)
            self._heading = tuple([name for _, name in self._path])
        elif self._body and any(
            map(_FRONT_VALUE.match, self._lines[1 : self._body - 1])
        ):
            self._add(1, self._body - 1, self._nothing, by_line=True)
        for index, block in enumerate(self._blocks[start:end], start):
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
        by_line = kind in ("fence", "code") or (
            "|" in text and bool(_TABLE.search(text))
        )
        said = self._nothing
        if text.startswith("**") and (speaker := SPEAKER.match(text)):
            said = said._replace(who=speaker[1].strip())
        self._cut(text, first, said, by_line=by_line)

    def _add_item(self, index: int, above: _Said) -> None:
        block, blocks = self._blocks[index], self._blocks
        first, end = block.first, block.end
        text = own = (
            "\n".join(self._lines[first:end]) if end - first > 1 else self._lines[first]
        )
        has_children = index + 1 < len(blocks) and blocks[index + 1].first < end
        if has_children:
            own = "\n".join(
                self._lines[first : max(blocks[index + 1].first, first + 1)]
            )
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
                self._chunks.append(
                    Chunk(text, self._heading, who, line, last, day_of, topic)
                )
            return
        for piece, first, last in cut(text, by_line=by_line):
            if not MARKER.fullmatch(piece):
                self._chunks.append(
                    Chunk(
                        piece,
                        self._heading,
                        who,
                        line + first,
                        line + last,
                        day_of,
                        topic,
                    )
                )


def _said(own: str, above: _Said) -> _Said:
    """What an item's own text tells; where it says nothing, what the item around it told."""
    who, day_of, topic = above
    if "**" in own and (speaker := SPEAKER.match(own)):
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
