"""Merges one unit that both sides changed, by its parts: marker, box, words and the lines below."""

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
"""The subject of a conflict"""


class FieldConflict(NamedTuple):
    """Two changes that cannot both stay."""

    kept: bytes
    dropped: bytes
    reason: str


class MergedLines(NamedTuple):
    """The merged lines below an item."""

    text: bytes
    conflicts: list[FieldConflict]


MergeLinesBelow = Callable[[bytes, bytes, bytes], MergedLines | None]


class Joined(NamedTuple):
    """A merged unit."""

    text: bytes
    beside: bytes | None
    """Our text, where it could not be joined with theirs"""
    conflicts: list[FieldConflict]


class ItemParts(NamedTuple):
    """The parts of an item; `_text` joins them."""

    marker: bytes
    box: bytes
    words: bytes
    prefix: bytes
    """The indent that is removed from the lines below it"""
    below: bytes


def join_unit(
    kinds: set[str], base: bytes, ours: bytes, theirs: bytes, merge_below: MergeLinesBelow
) -> Joined:
    """Merge a unit that both changed. `kinds` are its kinds in all versions; theirs wins a conflict."""
    if kinds == {"item"}:
        joined = _join_items(_split(base), _split(ours), _split(theirs), merge_below)
        if joined:
            return joined
    words = _join_words(base, ours, theirs) if len(kinds) == 1 else None
    if words is not None:
        return Joined(words, None, [])
    conflict = FieldConflict(theirs, ours, "both changed it")
    return Joined(text=theirs, beside=ours, conflicts=[conflict])


def _join_items(
    base: ItemParts, ours: ItemParts, theirs: ItemParts, merge_below: MergeLinesBelow
) -> Joined | None:
    # Lines with different indents cannot be compared once the indent is removed.
    if len({item.prefix for item in (base, ours, theirs) if item.below}) > 1:
        return None
    below = _changed_side(base.below, ours.below, theirs.below)
    conflicts: list[FieldConflict] = []
    if below is None:
        merged = merge_below(base.below, ours.below, theirs.below)
        if merged is None:
            return None
        below, conflicts = merged
    prefix = theirs.prefix or ours.prefix
    marker = _changed_side(base.marker, ours.marker, theirs.marker) or theirs.marker
    box = _changed_side(base.box, ours.box, theirs.box)
    words = _join_words(base.words, ours.words, theirs.words)
    if box is not None and words is not None:
        item = ItemParts(marker=marker, box=box, words=words, prefix=prefix, below=below)
        return Joined(text=_text(item), beside=None, conflicts=conflicts)
    kept = _text(theirs._replace(prefix=prefix, below=below))
    dropped = _text(ours._replace(below=b""))
    conflict = FieldConflict(kept, dropped, "both changed it")
    return Joined(text=kept, beside=dropped, conflicts=[conflict, *conflicts])


def _changed_side(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the version that one side changed, or both alike; None for different changes."""
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def _join_words(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    words = _changed_side(base, ours, theirs)
    if words is not None:
        return words
    normal = all_normal(theirs)
    if normal and normal == all_normal(ours):
        return theirs
    our_lines, their_lines = ours.split(b"\n"), theirs.split(b"\n")
    stretches = merge_lines(base.split(b"\n"), our_lines, their_lines)
    if stretches is None:
        return None
    lines: list[bytes] = []
    for is_ours, first, end in stretches:
        lines += (our_lines if is_ours else their_lines)[first:end]
    return b"\n".join(lines)


def _split(text: bytes) -> ItemParts:
    """Return the parts of an item. Its nested items and what follows them are below it."""
    opening = _opening(text)
    marker, box = (opening[1], opening[2] or b"") if opening else (b"", b"")
    start = len(marker) + len(box)
    lines = text.split(b"\n")
    nested = _first_nested(lines)
    if nested:
        line = lines[nested]
        prefix = line[: len(line) - len(line.lstrip(BLANKS))]
        while not lines[nested - 1].strip(BLANKS):
            nested -= 1
        below = lines[nested:]
        if all(line.startswith(prefix) for line in below if line.strip(BLANKS)):
            own = b"\n".join(lines[:nested])[start:]
            inner = b"\n".join(line.removeprefix(prefix) for line in below)
            return ItemParts(marker=marker, box=box, words=own, prefix=prefix, below=inner)
    return ItemParts(marker=marker, box=box, words=text[start:], prefix=b"", below=b"")


def _first_nested(lines: list[bytes]) -> int:
    """Return the number of the first line that begins a nested item; 0 without any."""
    for number in range(1, len(lines)):
        inner = lines[number].lstrip(BLANKS)
        if inner and inner != lines[number] and item_width(inner):
            return number
    return 0


def _text(item: ItemParts) -> bytes:
    text = item.marker + item.box + item.words
    if not item.below:
        return text
    lines = [item.prefix + line if line.strip(BLANKS) else line for line in item.below.split(b"\n")]
    return b"\n".join([text, *lines])


def without_below(text: bytes) -> bytes:
    """Return an item without the lines indented below its own words."""
    return _text(_split(text)._replace(below=b""))


def marked(kind: str, text: bytes, mark: bytes) -> list[tuple[str, bytes]]:
    """Return a unit with a mark that a reader sees, as kinds and texts of one or two units."""
    if kind == "item":
        item = _split(text)
        return [("item", _text(item._replace(words=item.words.rstrip(BLANKS) + mark)))]
    if kind in ("paragraph", "quote"):
        return [(kind, text.rstrip(BLANKS) + mark)]
    # A mark inside a table, a fence or HTML would not be shown as text.
    return [("paragraph", mark.strip()), (kind, text)]
