"""Front matter as keys with their lines, merged key by key. No YAML is read: a value is its bytes."""

import re
from typing import NamedTuple

from vault_memory.markdown.merging.block_order import interleave

_edge = re.compile(rb"---[ \t]*").fullmatch
_end_edge = re.compile(rb"(?:---|\.\.\.)[ \t]*").fullmatch
_key = re.compile(
    rb"(\"[^\"]*\"|'[^']*'|[^\s:#\-\[\]{},&*!|>%@`\"'][^:]*?)[ \t]*:(?:[ \t]|$)"
).match


class Front(NamedTuple):
    """The front matter of a note."""

    end: int
    """the line after it"""
    edges: tuple[bytes, bytes]
    """its first and its last line"""
    values: dict[bytes, bytes]
    """each key's lines with those that belong to it; those before the first key under the empty key"""


class FrontClash(NamedTuple):
    """Two values for one key."""

    kept: bytes
    other: bytes


class FrontMerged(NamedTuple):
    """What became of the front matter: its text without a last line end, None for no front matter."""

    text: bytes | None
    clashes: list[FrontClash]


def read_front(texts: list[bytes]) -> Front | None:
    """The front matter at the top; None where there is none, or something else between its edges."""
    if not texts or not _edge(texts[0]):
        return None
    values: dict[bytes, list[bytes]] = {}
    key = b""
    for number in range(1, len(texts)):
        text = texts[number]
        if _end_edge(text):
            joined = {name: b"\n".join(lines) for name, lines in values.items()}
            return Front(number + 1, (texts[0], text), joined)
        found = _key(text)
        if found and found[1] not in values:
            key = found[1]
        elif found or (
            text.strip()
            and not text.startswith((b"#", b" ", b"\t", b"-" if key else b"#"))
        ):
            return None
        values.setdefault(key, []).append(text)
    return None


def merge_front(
    base: Front | None, ours: Front | None, theirs: Front | None, mark: bytes | None
) -> FrontMerged:
    """Key by key: who changed a key alone has it; a key that both changed stays theirs, and ours is told of.

    With a `mark` ours also stays in the note, as a comment with that mark.
    """
    b, o, t = (front.values if front else {} for front in (base, ours, theirs))
    kept: dict[bytes, bytes] = {}
    clashes = []
    for key in {**t, **o}:
        value, other = _value(b.get(key), o.get(key), t.get(key))
        if other is not None and value is not None:
            clashes.append(FrontClash(value, other))
            if mark is not None:
                value += b"".join(
                    b"\n# %s%s" % (line, mark) for line in other.split(b"\n")
                )
        if value is not None:
            kept[key] = value
    order = interleave(
        [key for key in t if key in kept],
        [key for key in o if key in kept],
        lambda mine, waiting: True,
    )
    there = theirs or ours if (ours and theirs) or kept or not base else None
    if there is None:
        return FrontMerged(None, clashes)
    return FrontMerged(
        b"\n".join([there.edges[0], *(kept[key] for key in order), there.edges[1]]),
        clashes,
    )


def _value(
    base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> tuple[bytes | None, bytes | None]:
    """What a key has afterwards, and what it could not have as well."""
    if ours in (base, theirs):
        return theirs, None
    if theirs == base:
        return ours, None
    if theirs is None or ours is None:
        return theirs or ours, None
    return theirs, ours
