"""Limits the number of chunks of one note: in a note with too many, small neighbours are joined.

A note of 1 MiB can hold 260,000 items of one letter. Each chunk costs a row, words in the full text and a vector, so
such a note would hold up everybody else's. What is joined follows from the chunks alone, so a note edited step by step
has the same chunks as one read afresh.
"""

from itertools import takewhile

from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.markdown.chunking.splitter import CAP

MOST_CHUNKS = 4000
"""Of one note, while that can be had without a chunk of more than `CAP` characters."""
_SIZES = (CAP // 4, CAP // 2, CAP)
"""Characters up to which neighbours are joined; a larger size is tried when the one before leaves too many."""


def capped(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks of a note, joined where they are too many. First only those that say the same about themselves."""
    if len(chunks) <= MOST_CHUNKS:
        return chunks
    for size in _SIZES:
        joined = _joined(chunks, size)
        if len(joined) <= MOST_CHUNKS:
            return joined
    return _joined(list(map(_with_heading, chunks)), CAP, mixed=True)


def _joined(chunks: list[Chunk], size: int, *, mixed: bool = False) -> list[Chunk]:
    """Neighbours joined up to `size` characters; only with the same heading, speaker, date and topic unless `mixed`."""
    joined: list[Chunk] = []
    group: list[Chunk] = []
    length = 0
    for chunk in chunks:
        longer = length + 1 + len(chunk.text)
        if (
            group
            and longer <= size
            and (mixed or _is_alike(group[-1], chunk))
            and _may_join(group[-1], chunk)
        ):
            length = longer
        else:
            if group:
                joined.append(_one_of(group))
            group, length = [], len(chunk.text)
        group.append(chunk)
    joined.append(_one_of(group))
    return joined


def _is_alike(left: Chunk, right: Chunk) -> bool:
    return left[1:3] == right[1:3] and left[5:] == right[5:]


def _may_join(left: Chunk, right: Chunk) -> bool:
    """Two parts of one word stay apart: a blank between them would make two words of it."""
    return right.first_line > left.last_line or " " in left.text


def _with_heading(chunk: Chunk) -> Chunk:
    """The chunk with the deepest heading above it as part of its text, and without its own path, as far as it fits."""
    name = chunk.heading[-1] if chunk.heading else ""
    if not name or len(name) + 1 + len(chunk.text) > CAP:
        return chunk
    return chunk._replace(text=f"{name}\n{chunk.text}")


def _one_of(group: list[Chunk]) -> Chunk:
    if len(group) == 1:
        return group[0]
    first, last = group[0], group[-1]
    texts: list[str] = []
    for place, chunk in enumerate(group):
        same_line = place and chunk.first_line <= group[place - 1].last_line
        texts += [" " if same_line else "\n", chunk.text] if place else [chunk.text]
    headings = {chunk.heading for chunk in group}
    heading = first.heading if len(headings) == 1 else _common(headings)
    whos = {chunk.who for chunk in group}
    dates = {chunk.date for chunk in group}
    topics = {chunk.topic for chunk in group}
    return Chunk(
        "".join(texts),
        heading,
        first.who if len(whos) == 1 else "",
        first.first_line,
        max(first.last_line, last.last_line),
        first.date if len(dates) == 1 else None,
        first.topic if len(topics) == 1 else "",
    )


def _common(paths: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The beginning that all paths share."""
    levels = zip(*paths, strict=False)
    return tuple(
        names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels)
    )
