"""Merges front matter key by key. A value is its bytes; YAML is not parsed."""

import re
from typing import NamedTuple

from vault_memory.markdown.merging.block_order import interleave

_edge = re.compile(rb"---[ \t]*").fullmatch
_end_edge = re.compile(rb"(?:---|\.\.\.)[ \t]*").fullmatch
_key = re.compile(
    rb"(\"[^\"]*\"|'[^']*'|[^\s:#\-\[\]{},&*!|>%@`\"'][^:]*?)[ \t]*:(?:[ \t]|$)"
).match
_CONTINUATION = (b"#", b" ", b"\t", b"-")
"""First bytes of a line that belongs to the key above it"""
_LEADING = (b"#", b" ", b"\t")
"""First bytes of a line above the first key"""


class Front(NamedTuple):
    """The front matter of a note."""

    end: int
    """The line after it"""
    edges: tuple[bytes, bytes]
    """Its first and its last line"""
    values: dict[bytes, bytes]
    """The lines of each key; lines above the first key have the empty key"""


class FrontConflict(NamedTuple):
    """Two values for one key."""

    kept: bytes
    dropped: bytes


class FrontMerged(NamedTuple):
    """The merged front matter without its last line end; None for no front matter."""

    text: bytes | None
    conflicts: list[FrontConflict]


def read_front(lines: list[bytes]) -> Front | None:
    """Return the front matter at the top; None where there is none, or it is not keys and values."""
    if not lines or not _edge(lines[0]):
        return None
    values: dict[bytes, list[bytes]] = {}
    key = b""
    for number in range(1, len(lines)):
        line = lines[number]
        if _end_edge(line):
            joined = {name: b"\n".join(rows) for name, rows in values.items()}
            return Front(number + 1, (lines[0], line), joined)
        match = _key(line)
        if match:
            key = match[1]
            # Merging by key would lose one of two lines with the same key.
            if key in values:
                return None
        elif line.strip() and not line.startswith(_CONTINUATION if key else _LEADING):
            return None
        values.setdefault(key, []).append(line)
    return None


def merge_front(
    base: Front | None, ours: Front | None, theirs: Front | None, mark: bytes | None
) -> FrontMerged:
    """Merge key by key. A key that both changed keeps their value, and ours is a conflict.

    With a `mark` our value also stays in the note, as a comment with that mark.
    """
    base_values = base.values if base else {}
    our_values = ours.values if ours else {}
    their_values = theirs.values if theirs else {}
    merged: dict[bytes, bytes] = {}
    conflicts: list[FrontConflict] = []
    for key in {**their_values, **our_values}:
        old, mine, yours = (
            base_values.get(key),
            our_values.get(key),
            their_values.get(key),
        )
        value = _merge_value(old, mine, yours)
        if value is None:
            continue
        if mine is not None and yours is not None and _is_conflict(old, mine, yours):
            conflicts.append(FrontConflict(yours, mine))
            if mark is not None:
                value += _commented(mine, mark)
        merged[key] = value
    edges = _edges(base, ours, theirs, is_empty=not merged)
    if edges is None:
        return FrontMerged(None, conflicts)
    order = interleave(
        [key for key in their_values if key in merged],
        [key for key in our_values if key in merged],
        lambda mine, waiting: True,
    )
    rows = [edges[0], *(merged[key] for key in order), edges[1]]
    return FrontMerged(b"\n".join(rows), conflicts)


def _merge_value(
    base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> bytes | None:
    """Return the value of a key: the one that changed; theirs where both did."""
    if ours in (base, theirs):
        return theirs
    if theirs in (base, None):
        return ours
    return theirs


def _is_conflict(base: bytes | None, ours: bytes, theirs: bytes) -> bool:
    return ours not in (base, theirs) and theirs != base


def _commented(value: bytes, mark: bytes) -> bytes:
    return b"".join(b"\n# %s%s" % (line, mark) for line in value.split(b"\n"))


def _edges(
    base: Front | None, ours: Front | None, theirs: Front | None, *, is_empty: bool
) -> tuple[bytes, bytes] | None:
    """Return the edge lines; None where the result has no front matter."""
    # One side deleted the front matter, and no key is left.
    if is_empty and base and not (ours and theirs):
        return None
    front = theirs or ours
    return front.edges if front else None
