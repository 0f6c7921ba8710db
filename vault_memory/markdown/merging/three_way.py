"""Merging two versions of a note that came from one: by structure, else by lines, else not at all.

Bytes are moved, never written anew: what a person wrote stays as it is. What cannot stand is handed back as a conflict,
and what has no safe answer is None: then the caller keeps both in a copy. Any bytes are a note.
"""

from dataclasses import dataclass

from vault_memory.markdown.merging import invariants
from vault_memory.markdown.merging.block_merge import Kind
from vault_memory.markdown.merging.front_matter import merge_front
from vault_memory.markdown.merging.line_merge import merge_lines
from vault_memory.markdown.merging.merged_text import write
from vault_memory.markdown.merging.parsed_note import Page, majority_newline, read_page
from vault_memory.markdown.merging.structural import StructuralMerge


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that both changed, or that came back though one had deleted it."""

    kind: Kind
    section: str
    """the name of the section it is in; empty above the first one"""
    kept: bytes
    """what stands in the note, line ends as ``\\n``"""
    other: bytes
    """what does not, or stands beside it with a mark; empty for a section that came back"""
    reason: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of two versions."""

    result: bytes | None
    """None: a conflict copy is needed"""
    conflicts: tuple[Conflict, ...] = ()


def merge(
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    *,
    between_people: bool = False,
    date: str = "",
) -> Merged:
    """Three-way merge; without a base a union in which nothing is deleted.

    `theirs` is the person or the other device, `ours` the bot or this one. Where both changed one item theirs stays in
    the note and ours is a conflict; `between_people` both stay, ours with a mark that has the `date`.
    """
    if ours in (theirs, base):
        return Merged(theirs)
    if theirs == base:
        return Merged(ours)
    pages = read_page(base or b""), read_page(ours), read_page(theirs)
    mark = (
        b" \xe2\x9a\xa0 (other device, %s)" % date.encode("utf-8", "replace")
        if between_people
        else None
    )
    if pages[0] and pages[1] and pages[2]:
        return _by_structure(
            base or b"", ours, theirs, (pages[0], pages[1], pages[2]), mark
        )
    return _by_lines(base, ours, theirs)


def _by_structure(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    pages: tuple[Page, Page, Page],
    mark: bytes | None,
) -> Merged:
    structure = StructuralMerge(*pages, mark)
    front = merge_front(pages[0].front, pages[1].front, pages[2].front, mark)
    pieces = structure.run()
    result = write(structure, pieces, front.text) if pieces is not None else None
    conflicts = [
        Conflict("front matter", "", kept, other, "both changed it")
        for kept, other in front.clashes
    ]
    conflicts += [
        Conflict(kind, name.decode("utf-8", "replace"), *clash)
        for kind, name, clash in structure.found
    ]
    if pieces is None or result is None:
        return Merged(None)
    items = [
        [unit.text for unit in page.units if unit.kind == "item"] for page in pages[1:]
    ]
    kept = [
        piece.text for piece in pieces if piece.kind == "item" and piece.thread >= 0
    ]
    whole = (
        invariants.nothing_is_lost(
            base, ours, theirs, result, (conflict.other for conflict in conflicts)
        )
        and invariants.nothing_is_twice(items[0], items[1], kept)
        and invariants.is_no_larger(ours, theirs, result, _allowance(conflicts, mark))
    )
    return Merged(result, tuple(conflicts)) if whole else Merged(None)


def _allowance(conflicts: list[Conflict], mark: bytes | None) -> int:
    return (
        sum(
            (len(mark) + 2) * (conflict.other.count(b"\n") + 1)
            for conflict in conflicts
        )
        if mark
        else 0
    )


def _by_lines(base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    if base is None:
        return Merged(None)
    texts = [raw.splitlines() for raw in (base, ours, theirs)]
    taken = merge_lines(*texts)
    if taken is None:
        return Merged(None)
    yours = theirs.splitlines(keepends=True)
    newline = (
        majority_newline(yours)
        or majority_newline(ours.splitlines(keepends=True))
        or b"\n"
    )
    lines: list[bytes] = []
    for mine, first, end in taken:
        lines += (
            [line + newline for line in texts[1][first:end]]
            if mine
            else yours[first:end]
        )
    lines = [
        line if line.endswith((b"\n", b"\r")) else line + newline for line in lines[:-1]
    ] + lines[-1:]
    if lines and not theirs.endswith((b"\n", b"\r")):
        lines[-1] = lines[-1].rstrip(b"\r\n")
    result = b"".join(lines)
    whole = invariants.nothing_is_lost(base, ours, theirs, result, ())
    return Merged(result) if whole else Merged(None)
