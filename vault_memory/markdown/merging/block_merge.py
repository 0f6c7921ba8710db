"""One unit that both sides changed, put together from its parts: marker, box, words, and what is indented below it."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from vault_memory.markdown.merging.line_merge import merge_lines
from vault_memory.markdown.merging.matching import all_normal
from vault_memory.markdown.merging.parsed_note import BLANKS, item_width

_opening = re.compile(
    rb"([ \t]*(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]+|$))(\[[ xX-]\](?:[ \t]+|$))?"
).match


Kind = Literal["item", "text", "heading", "front matter", "section"]
"""Of what a conflict is about"""


class FieldConflict(NamedTuple):
    """What both changed in ways that cannot both stand."""

    kept: bytes
    other: bytes
    reason: str


class Inside(NamedTuple):
    """What became of the lines below an item."""

    text: bytes
    clashes: list[FieldConflict]


MergeInside = Callable[[bytes, bytes, bytes], Inside | None]


class Joined(NamedTuple):
    """What became of a unit."""

    text: bytes
    beside: bytes | None
    """ours, where it could not be joined with theirs"""
    clashes: list[FieldConflict]


class Item(NamedTuple):
    """An item in its parts; they joined are its text."""

    marker: bytes
    box: bytes
    words: bytes
    prefix: bytes
    """what is taken off the lines below it"""
    below: bytes


def join_unit(
    kinds: set[str], base: bytes, ours: bytes, theirs: bytes, inside: MergeInside
) -> Joined:
    """A unit that both changed. Theirs stands where they clash."""
    if kinds == {"item"}:
        joined = _join_items(_split(base), _split(ours), _split(theirs), inside)
        if joined:
            return joined
    words = _join_words(base, ours, theirs) if len(kinds) == 1 else None
    if words is not None:
        return Joined(words, None, [])
    return Joined(theirs, ours, [FieldConflict(theirs, ours, "both changed it")])


def _join_items(
    base: Item, ours: Item, theirs: Item, inside: MergeInside
) -> Joined | None:
    if len({item.prefix for item in (base, ours, theirs) if item.below}) > 1:
        return None
    below = _three(base.below, ours.below, theirs.below)
    clashes: list[FieldConflict] = []
    if below is None:
        merged = inside(base.below, ours.below, theirs.below)
        if merged is None:
            return None
        below, clashes = merged
    prefix = theirs.prefix or ours.prefix
    marker = _three(base.marker, ours.marker, theirs.marker) or theirs.marker
    box = _three(base.box, ours.box, theirs.box)
    words = _join_words(base.words, ours.words, theirs.words)
    if box is not None and words is not None:
        return Joined(_text(Item(marker, box, words, prefix, below)), None, clashes)
    kept = _text(Item(theirs.marker, theirs.box, theirs.words, prefix, below))
    other = _text(ours._replace(below=b""))
    return Joined(
        kept, other, [FieldConflict(kept, other, "both changed it"), *clashes]
    )


def _three(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """What stands when one side changed it, or both alike."""
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def _join_words(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    words = _three(base, ours, theirs)
    if words is not None:
        return words
    if (said := all_normal(theirs)) and said == all_normal(ours):
        return theirs
    mine, yours = ours.split(b"\n"), theirs.split(b"\n")
    taken = merge_lines(base.split(b"\n"), mine, yours)
    if taken is None:
        return None
    return b"\n".join(
        line
        for ours_, first, end in taken
        for line in (mine if ours_ else yours)[first:end]
    )


def _split(text: bytes) -> Item:
    opening = _opening(text)
    marker, box = (opening[1], opening[2] or b"") if opening else (b"", b"")
    rest = text[len(marker) + len(box) :]
    if b"\n" not in text:
        return Item(marker, box, rest, b"", b"")
    lines = text.split(b"\n")
    for number in range(1, len(lines)):
        inner = lines[number].lstrip(BLANKS)
        if inner and item_width(inner) and inner != lines[number]:
            prefix = lines[number][: -len(inner)]
            while not lines[number - 1].strip(BLANKS):
                number -= 1
            below = lines[number:]
            if any(
                line.strip(BLANKS) and not line.startswith(prefix) for line in below
            ):
                break
            own = b"\n".join(lines[:number])[len(marker) + len(box) :]
            return Item(
                marker,
                box,
                own,
                prefix,
                b"\n".join(line.removeprefix(prefix) for line in below),
            )
    return Item(marker, box, rest, b"", b"")


def _text(item: Item) -> bytes:
    text = item.marker + item.box + item.words
    if not item.below:
        return text
    below = (
        item.prefix + line if line.strip(BLANKS) else line
        for line in item.below.split(b"\n")
    )
    return text + b"\n" + b"\n".join(below)


def without_below(text: bytes) -> bytes:
    """An item without what is indented below its own words."""
    return _text(_split(text)._replace(below=b""))


def marked(kind: str, text: bytes, mark: bytes) -> list[tuple[str, bytes]]:
    """A unit with a mark that everybody sees, as one or more units."""
    if kind not in ("item", "paragraph", "quote"):
        return [("paragraph", mark.strip()), (kind, text)]
    if kind == "item":
        parts = _split(text)
        return [
            ("item", _text(parts._replace(words=parts.words.rstrip(BLANKS) + mark)))
        ]
    return [(kind, text.rstrip(BLANKS) + mark)]
