"""Cuts a note into chunks, the units of the index. A chunk is under one heading and fits a prompt.

An item with its continuation and children, a paragraph, a fence or a table is one chunk if it fits
`CAP` characters. The children of an item that does not fit become chunks of their own; a text that is
still too long is cut at lines (fences, tables), at sentence ends, at blanks, or anywhere. A heading
is in the heading path of the chunks below it; a heading with nothing below is a chunk of its own.
"""

import datetime
import re
from bisect import bisect_left
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar

from vault_memory.markdown.blocks.incremental import Seam, seam
from vault_memory.markdown.blocks.model import Block
from vault_memory.markdown.blocks.outline import LONG, MOST, Outline, outline
from vault_memory.markdown.chunking.chunk_text import SPEAKER, Chunk
from vault_memory.markdown.chunking.hidden_blocks import (
    front_stretches,
    hidden_blocks,
    is_navigation,
    is_query,
    may_hide,
)
from vault_memory.markdown.chunking.splitter import CAP, LONGEST_RUN, cut, without_long_runs
from vault_memory.markdown.item_text import MARKER
from vault_memory.markdown.items import day, read_metadata

_TABLE = re.compile(r"^[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+\|[-:| \t]*+$", re.MULTILINE)
_METADATA = re.compile(r"\(([^()\n]*)\)(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$", re.MULTILINE)
_FRONT_TOPIC = re.compile(r"topic:[ \t]*[\"'\[]?[ \t]*([^\"'\[\],#]*)")
_FRONT_VALUE = re.compile(r"(?:[ \t]*+-[ \t]++|[^:#]++:[ \t]*+)[\"'\[{>|]*+[ \t]*+\w")
_LONGEST_MARKER = 16
"""A longer text is not a marker alone, so the pattern need not read it"""

Heading = tuple[int, str]
"""The level and the name of a heading"""
T = TypeVar("T")

MOST_CHUNKS = 4000
"""The chunks of one note, where no chunk needs more than `CAP` characters for that"""
_SIZES = (CAP // 4, CAP // 2, CAP)
"""Characters up to which neighbours are joined; the next size is tried if too many chunks remain"""
_fields_of = itemgetter(1, 2, 5, 6)
"""Heading, speaker, date and topic of a chunk"""


class _Fields(NamedTuple):
    """What an item says about all chunks that it becomes."""

    who: str
    date: datetime.date | None
    topic: str


class _ChunkedNote(NamedTuple):
    """A long note and its chunks, before they were joined."""

    note: Outline
    chunks: list[Chunk]


_recent: tuple[_ChunkedNote, ...] = ()
_first_line = itemgetter(3)


def chunk(raw: bytes) -> list[Chunk]:
    """Return the chunks of a note, in order. The caller must not change the list.

    Any bytes are a note. Of a long note that differs little from a recent one, only the difference
    is cut.
    """
    # Most notes have short lines, and are not searched for runs.
    if len(raw) > LONGEST_RUN and max(map(len, raw.split(b"\n"))) > LONGEST_RUN:
        raw = without_long_runs(raw)
    return capped(_cut_note(raw))


def _cut_note(raw: bytes) -> list[Chunk]:
    """Return the chunks of a note without a limit of their number."""
    global _recent
    note = outline(raw)
    if may_hide(raw):
        # The end of a comment may be anywhere below, so all of the note is cut again.
        return _Chunker(note, hidden_blocks(*note)).run()
    if len(note.lines) < LONG:
        return _Chunker(note).run()
    recent = _recent
    for index, cached in enumerate(recent):
        chunks: list[Chunk] | None = cached.chunks
        if cached.note != note:
            chunks = chunk_again(cached.note, cached.chunks, note)
        if chunks is not None:
            remaining = recent[:index] + recent[index + 1 :]
            _recent = (_ChunkedNote(note, chunks), *remaining)
            return chunks
    chunks = _Chunker(note).run()
    _recent = (_ChunkedNote(note, chunks), *recent[: MOST - 1])
    return chunks


def chunk_again(old: Outline, chunks: list[Chunk], note: Outline) -> list[Chunk] | None:
    """Return the chunks of `note` from those of `old`; None when all of it has to be cut."""
    if old.body != note.body:
        return None
    edges = seam(old.lines, old.blocks, note.lines, note.body)
    if edges is None:
        return None
    until = len(note.blocks) - (len(old.blocks) - edges.below)
    if edges.below < len(old.blocks) and not _continues(old, note, edges, until):
        return None
    first = bisect_left(chunks, edges.line + 1, key=_first_line) if edges.above else 0
    changed = _Chunker(note).run(edges.above, until)
    if edges.below == len(old.blocks):
        return chunks[:first] + changed
    last = bisect_left(chunks, edges.end - edges.shift + 1, key=_first_line)
    return chunks[:first] + changed + _moved(chunks[last:], edges.shift)


def _continues(old: Outline, note: Outline, edges: Seam, until: int) -> bool:
    """Return whether block `until` of the note is the first of the unchanged blocks at the end."""
    if until < edges.above or note.blocks[until].first != edges.end:
        return False
    # A heading that was added or removed above changes the heading path of everything below.
    return _path_above(old.blocks, edges.below) == _path_above(note.blocks, until)


def _moved(chunks: list[Chunk], shift: int) -> list[Chunk]:
    """Return the chunks with their lines moved down by `shift`."""
    if not shift:
        return chunks
    new = tuple.__new__  # a third of the cost of `Chunk(…)`
    return [
        new(Chunk, (text, heading, who, first + shift, last + shift, date, topic))
        for text, heading, who, first, last, date, topic in chunks
    ]


def _path_above(blocks: list[Block], index: int) -> list[Heading]:
    """Return the headings above a block, from level 1 down."""
    path: list[Heading] = []
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

    __slots__ = ("_blocks", "_body", "_chunks", "_fields", "_heading", "_hidden", "_lines", "_path")

    def __init__(self, note: Outline, hidden: frozenset[int] = frozenset()) -> None:
        self._lines, self._body, self._blocks = note
        self._hidden = hidden
        """The indexes of blocks that search leaves out"""
        self._fields = _Fields("", None, _front_topic(self._lines[: self._body]))
        """The fields of chunks outside items"""
        self._path: list[Heading] = []
        self._heading: tuple[str, ...] = ()
        self._chunks: list[Chunk] = []

    def run(self, start: int = 0, end: int | None = None) -> list[Chunk]:
        """Return the chunks of the blocks from `start` to `end`, and at the top of front matter."""
        if start:
            self._path = _path_above(self._blocks, start)
            self._heading = tuple([name for _, name in self._path])
        else:
            self._add_front_matter()
        for index, block in enumerate(self._blocks[start:end], start):
            if index in self._hidden:
                continue
            if block.kind == "item":
                if block.level == 1:
                    self._add_item(index, self._fields)
            elif block.kind == "heading":
                self._add_heading(index)
            elif block.kind != "rule":
                self._add_text(block)
        return self._chunks

    def _add_front_matter(self) -> None:
        """Add front matter that has values; a template with empty keys says nothing."""
        if not self._body:
            return
        for first, end in front_stretches(self._lines, self._body - 1):
            if any(map(_has_value, self._lines[first:end])):
                self._add(first, end, self._fields, by_line=True)

    def _add_heading(self, index: int) -> None:
        block, path = self._blocks[index], self._path
        while path and path[-1][0] >= block.level:
            path.pop()
        self._heading = tuple([name for _, name in path])
        if not block.name:
            return
        if self._is_bare(index):
            self._add(block.first, block.end, self._fields, by_line=False)
        path.append((block.level, block.name))
        self._heading += (block.name,)

    def _is_bare(self, index: int) -> bool:
        """Return whether nothing is below a heading, not even a deeper heading."""
        level = self._blocks[index].level
        for number in range(index + 1, len(self._blocks)):
            below = self._blocks[number]
            if below.kind != "rule":
                return below.kind == "heading" and below.level <= level
        return True

    def _add_text(self, block: Block) -> None:
        kind, first, end, _, _ = block
        # Fault: a query has the words of many searches, and shows nothing by itself.
        if kind == "fence" and is_query(self._lines[first]):
            return
        text = "\n".join(self._lines[first:end])
        by_line = kind in ("fence", "code")
        if not by_line and "|" in text:
            by_line = _TABLE.search(text) is not None
        fields = self._fields
        if text.startswith("**") and (speaker := SPEAKER.match(text)):
            fields = fields._replace(who=speaker[1].strip())
        if not is_navigation(text):
            self._cut(text, first, fields, by_line=by_line)

    def _add_item(self, index: int, outer: _Fields) -> None:
        """Add an item with its children. `outer` are the fields of the item around it."""
        block, blocks = self._blocks[index], self._blocks
        first, end = block.first, block.end
        text = self._lines[first]
        if end - first > 1:
            text = "\n".join(self._lines[first:end])
        if is_navigation(text):
            return
        own = text
        has_children = index + 1 < len(blocks) and blocks[index + 1].first < end
        if has_children:
            own_end = max(blocks[index + 1].first, first + 1)
            own = "\n".join(self._lines[first:own_end])
        fields = _item_fields(own, outer) if "**" in own or "(" in own else outer
        if len(text) <= CAP or not has_children:
            self._cut(text, first, fields, by_line=False)
        else:
            self._add_children(index, fields)

    def _add_children(self, index: int, fields: _Fields) -> None:
        """Add an item and its children as chunks of their own."""
        line = self._blocks[index].first
        for child in self._children(index):
            self._add(line, self._blocks[child].first, fields, by_line=False)
            self._add_item(child, fields)
            line = self._blocks[child].end
        self._add(line, self._blocks[index].end, fields, by_line=False)

    def _children(self, index: int) -> list[int]:
        """Return the numbers of the items directly below an item."""
        end, level = self._blocks[index].end, self._blocks[index].level + 1
        children: list[int] = []
        for number in range(index + 1, len(self._blocks)):
            block = self._blocks[number]
            if block.first >= end:
                break
            if block.level == level:
                children.append(number)
        return children

    def _add(self, first: int, end: int, fields: _Fields, *, by_line: bool) -> None:
        text = "\n".join(self._lines[first:end])
        self._cut(text, first, fields, by_line=by_line)

    def _cut(self, text: str, line: int, fields: _Fields, *, by_line: bool) -> None:
        """Add a text as one chunk if it fits, otherwise as several. `line` is 0-based."""
        who, date, topic = fields
        line += 1
        if len(text) > CAP or not text or text != text.strip():
            for stretch, first, last in cut(text, by_line=by_line):
                if not MARKER.fullmatch(stretch):
                    self._chunks.append(
                        Chunk(stretch, self._heading, who, line + first, line + last, date, topic)
                    )
            return
        if len(text) > _LONGEST_MARKER or not MARKER.fullmatch(text):
            last = line + text.count("\n")
            self._chunks.append(Chunk(text, self._heading, who, line, last, date, topic))


def _item_fields(own: str, outer: _Fields) -> _Fields:
    """Return the fields in an item's own text; missing ones are those of the item around it."""
    who, date, topic = outer
    if "**" in own and (speaker := SPEAKER.match(own)):
        who = speaker[1].strip()
    if ")" in own and (metadata := _METADATA.search(own)):
        values, _ = read_metadata(metadata[1])
        date = day(values.get("date", "")) or date
        topic = values.get("topic", topic)
    return _Fields(who, date, topic)


def _has_value(line: str) -> bool:
    """Return whether a line of front matter says something about the note."""
    return _FRONT_VALUE.match(line) is not None


def _front_topic(front: list[str]) -> str:
    for line in front:
        match = _FRONT_TOPIC.match(line)
        if match:
            return match[1].strip()
    return ""


# --- Chunk limit ---

# Limits the number of chunks of one note: in a note with too many, small neighbours are joined.
#
# A note of 1 MiB can have 260,000 items of one letter. Each chunk costs a row, words in the
# full text and a vector, so such a note would delay the indexing of all others. The result
# follows from the chunks alone, so a note that was edited step by step has the same chunks as
# one that is read again.


def capped(chunks: list[Chunk]) -> list[Chunk]:
    """Return the chunks of a note, joined if there are too many.

    Neighbours with different headings, speakers, dates or topics are joined last.
    """
    if len(chunks) <= MOST_CHUNKS:
        return chunks
    for size in _SIZES:
        starts = _group_starts(chunks, size)
        if len(starts) <= MOST_CHUNKS:
            return _joined(chunks, starts)
    with_headings = [_with_heading(chunk) for chunk in chunks]
    return _joined(with_headings, _group_starts(with_headings, CAP, mixed=True))


def _group_starts(chunks: list[Chunk], size: int, *, mixed: bool = False) -> list[int]:
    """Return where groups of up to `size` characters start; of equal fields unless `mixed`."""
    starts = [0]
    length = len(chunks[0].text)
    for start, (left, right) in enumerate(pairwise(chunks), 1):
        length += 1 + len(right.text)
        if length > size or not _may_join(left, right, mixed=mixed):
            starts.append(start)
            length = len(right.text)
    return starts


def _joined(chunks: list[Chunk], starts: list[int]) -> list[Chunk]:
    """Return one chunk for each group."""
    edges = pairwise([*starts, len(chunks)])
    return [_join(chunks[start:end]) for start, end in edges]


def _may_join(left: Chunk, right: Chunk, *, mixed: bool) -> bool:
    # A blank between two parts of one word would make two words of it.
    if right.first_line <= left.last_line and " " not in left.text:
        return False
    return mixed or _fields_of(left) == _fields_of(right)


def _with_heading(chunk: Chunk) -> Chunk:
    """Return the chunk with the name of its deepest heading in its text, if that fits."""
    if not chunk.heading or not chunk.heading[-1]:
        return chunk
    text = f"{chunk.heading[-1]}\n{chunk.text}"
    return chunk if len(text) > CAP else chunk._replace(text=text)


def _join(group: list[Chunk]) -> Chunk:
    """Return one chunk for a group. It has the fields that are equal in all of them."""
    first = group[0]
    if len(group) == 1:
        return first
    speakers = {chunk.who for chunk in group}
    dates = {chunk.date for chunk in group}
    topics = {chunk.topic for chunk in group}
    return Chunk(
        text=_joined_text(group),
        heading=_common_path({chunk.heading for chunk in group}),
        who=_only(speakers, ""),
        first_line=first.first_line,
        last_line=max(first.last_line, group[-1].last_line),
        date=_only(dates, None),
        topic=_only(topics, ""),
    )


def _only(values: set[T], default: T) -> T:
    """Return the only value of a set, or the default where there are several."""
    return next(iter(values)) if len(values) == 1 else default


def _joined_text(group: list[Chunk]) -> str:
    texts = [group[0].text]
    last_line = group[0].last_line
    for chunk in group[1:]:
        is_same_line = chunk.first_line <= last_line
        texts.append(" " if is_same_line else "\n")
        texts.append(chunk.text)
        last_line = chunk.last_line
    return "".join(texts)


def _common_path(paths: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all paths begin with."""
    if len(paths) == 1:
        return next(iter(paths))
    common: list[str] = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return tuple(common)
