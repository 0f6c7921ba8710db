"""Limits the number of chunks of one note: in a note with too many, small neighbours are joined.

A note of 1 MiB can have 260,000 items of one letter. Each chunk costs a row, words in the full text
and a vector, so such a note would delay the indexing of all others. The result follows from the
chunks alone, so a note that was edited step by step has the same chunks as one that is read again.
"""

from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.markdown.chunking.splitter import CAP

T = TypeVar("T")

MOST_CHUNKS = 4000
"""The chunks of one note, where no chunk needs more than `CAP` characters for that"""
_SIZES = (CAP // 4, CAP // 2, CAP)
"""Characters up to which neighbours are joined; the next size is tried if too many chunks remain"""
_fields_of = itemgetter(1, 2, 5, 6)
"""Heading, speaker, date and topic of a chunk"""


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
