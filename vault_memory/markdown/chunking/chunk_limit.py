"""Limits the number of chunks of one note: in a note with too many, small neighbours are joined.

A note of 1 MiB can have 260,000 items of one letter. Each chunk costs a row, words in the full text
and a vector, so such a note would delay the indexing of all others. The result follows from the
chunks alone, so a note that was edited step by step has the same chunks as one that is read again.
"""

from itertools import takewhile

from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.markdown.chunking.splitter import CAP

MOST_CHUNKS = 4000
"""The chunks of one note, where no chunk needs more than `CAP` characters for that"""
_SIZES = (CAP // 4, CAP // 2, CAP)
"""Characters up to which neighbours are joined; the next size is tried if too many chunks remain"""


def capped(chunks: list[Chunk]) -> list[Chunk]:
    """Return the chunks of a note, joined if there are too many.

    Neighbours with different headings, speakers, dates or topics are joined last.
    """
    if len(chunks) <= MOST_CHUNKS:
        return chunks
    for size in _SIZES:
        joined = _join_neighbours(chunks, size)
        if len(joined) <= MOST_CHUNKS:
            return joined
    return _join_neighbours(list(map(_with_heading, chunks)), CAP, mixed=True)


def _join_neighbours(
    chunks: list[Chunk], size: int, *, mixed: bool = False
) -> list[Chunk]:
    """Join neighbours up to `size` characters; only those with equal fields unless `mixed`."""
    joined: list[Chunk] = []
    group: list[Chunk] = []
    length = 0
    for chunk in chunks:
        new_length = length + 1 + len(chunk.text)
        if group and new_length <= size and _may_join(group[-1], chunk, mixed=mixed):
            group.append(chunk)
            length = new_length
            continue
        if group:
            joined.append(_join(group))
        group = [chunk]
        length = len(chunk.text)
    joined.append(_join(group))
    return joined


def _may_join(left: Chunk, right: Chunk, *, mixed: bool) -> bool:
    # A blank between two parts of one word would make two words of it.
    if right.first_line <= left.last_line and " " not in left.text:
        return False
    return mixed or (left[1:3] == right[1:3] and left[5:] == right[5:])


def _with_heading(chunk: Chunk) -> Chunk:
    """Return the chunk with the name of its deepest heading in its text, if that fits."""
    name = chunk.heading[-1] if chunk.heading else ""
    if not name or len(name) + 1 + len(chunk.text) > CAP:
        return chunk
    return chunk._replace(text=f"{name}\n{chunk.text}")


def _join(group: list[Chunk]) -> Chunk:
    """Return one chunk for a group. It has the fields that are equal in all of them."""
    if len(group) == 1:
        return group[0]
    first, last = group[0], group[-1]
    headings = {chunk.heading for chunk in group}
    speakers = {chunk.who for chunk in group}
    dates = {chunk.date for chunk in group}
    topics = {chunk.topic for chunk in group}
    return Chunk(
        text=_joined_text(group),
        heading=_common_path(headings) if len(headings) > 1 else first.heading,
        who="" if len(speakers) > 1 else first.who,
        first_line=first.first_line,
        last_line=max(first.last_line, last.last_line),
        date=None if len(dates) > 1 else first.date,
        topic="" if len(topics) > 1 else first.topic,
    )


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
    levels = zip(*paths, strict=False)
    common = takewhile(lambda names: len(set(names)) == 1, levels)
    return tuple(names[0] for names in common)
