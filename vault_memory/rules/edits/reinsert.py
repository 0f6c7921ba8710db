"""Putting items and sections back into a note that changed, and taking them out: whole, or not at all.

After each step the note is parsed again: what was to come or go did, and every other item stands as it stood.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vault_memory.markdown.document import Section, SectionedDoc, parse, render
from vault_memory.markdown.editable_region import top_region
from vault_memory.markdown.note_items import (
    NoteItem,
    dedented,
    line_end,
    section_items,
    section_named,
    text_of,
    texts_in,
)
from vault_memory.rules.edits.unified_diff import hunks_of, lines_of


@dataclass(frozen=True, slots=True)
class Step:
    """A note after one change, and the bytes that went and came."""

    doc: SectionedDoc
    removed: bytes = b""
    added: bytes = b""


def exact_item(doc: SectionedDoc, heading: str, piece: bytes) -> NoteItem | None:
    """The item that is just these bytes, or says just this and has nothing nested; the last of several.

    Where the section is gone, it may have another name now: then the only such item of the note is meant.
    """
    at = section_named(doc, heading)
    if at is not None:
        return next(reversed(_exact(doc, at, piece)), None)
    found = [
        item for other in range(len(doc.sections)) for item in _exact(doc, other, piece)
    ]
    return found[0] if len(found) == 1 else None


def _exact(doc: SectionedDoc, at: int, piece: bytes) -> list[NoteItem]:
    body, items, texts = doc.sections[at].body, section_items(doc, at), texts_in(piece)
    same = [
        item for item in items if body[item.start : item.end].strip() == piece.strip()
    ]
    alone = [
        item for item in items if item.end == item.own_end and (item.text,) == texts
    ]
    return same or alone


def drop_item(doc: SectionedDoc, item: NoteItem) -> Step | None:
    """The note without an item and what is nested in it."""
    section = doc.sections[item.section]
    fresh = _with(
        doc, item.section, section.body[: item.start] + section.body[item.end :]
    )
    if fresh is None or not _rest_is_kept(
        doc, fresh, item.section, item.start, item.end
    ):
        return None
    return Step(fresh, removed=section.body[item.start : item.end])


def swap_item(doc: SectionedDoc, item: NoteItem, own: bytes) -> Step | None:
    """The note with an item's own lines replaced by others; what is nested in it stays."""
    body = doc.sections[item.section].body
    old = body[item.start : item.own_end]
    new = own.rstrip() + old[len(old.rstrip()) :]
    fresh = _with(doc, item.section, body[: item.start] + new + body[item.own_end :])
    if fresh is None:
        return None
    before, after = section_items(doc, item.section), section_items(fresh, item.section)
    expected = [
        (text_of(new) if one == item else one.text, one.depth) for one in before
    ]
    if [(one.text, one.depth) for one in after] != expected:
        return None
    return Step(fresh, removed=old, added=new)


def put_item(
    doc: SectionedDoc, at: int, piece: bytes, diff: bytes = b""
) -> Step | None:
    """The note with an item back where the diff says it stood; else at the end of the top region."""
    if any((item.text,) == texts_in(piece)[:1] for item in section_items(doc, at)):
        return None
    for place in _places(doc, at, piece, diff):
        step = _put(doc, at, place, piece)
        if step is not None:
            return step
    region = top_region(doc.sections[at].body)
    return _put(
        doc,
        at,
        region.text_end,
        dedented(piece),
        gap=region.text_end > 0 and not region.ends_in_item,
    )


def drop_section(doc: SectionedDoc, heading: str, piece: bytes) -> Step | None:
    """The note without a section that is as these bytes, or else without those of its items that still are."""
    named = [at for at, section in enumerate(doc.sections) if section.name == heading]
    if not named:
        return None
    for was in parse(piece).sections[:1]:
        for at in named:
            if _words(was.body) == _words(doc.sections[at].body):
                return without_section(doc, at)
    at = named[0]
    dropped, step = b"", Step(doc)
    for text in texts_in(piece):
        item = exact_item(step.doc, heading, b"- " + text.encode())
        next_step = item and drop_item(step.doc, item)
        if next_step:
            step, dropped = next_step, dropped + dedented(next_step.removed)
    if not dropped:
        return None
    removed = doc.sections[at].heading + dropped
    return Step(step.doc, removed=removed)


def put_section(doc: SectionedDoc, heading: str, piece: bytes) -> Step | None:
    """The note with a section back at its end; where there is one of that name, with its items in that."""
    at = section_named(doc, heading)
    if at is not None:
        return _items_back(doc, at, piece)
    raw = render(doc)
    eol = line_end(raw or piece)
    gap = (
        b""
        if not raw.strip() or raw.endswith(eol * 2)
        else eol
        if raw.endswith((b"\n", b"\r"))
        else eol * 2
    )
    fresh = parse(raw + gap + piece)
    if render(fresh)[: len(raw)] != raw or [s.name for s in fresh.sections] != [
        *(s.name for s in doc.sections),
        heading,
    ]:
        return None
    if [item.text for item in section_items(fresh, len(doc.sections))] != list(
        texts_in(piece)
    ):
        return None
    return Step(fresh, added=piece)


def _items_back(doc: SectionedDoc, at: int, piece: bytes) -> Step | None:
    was = parse(piece)
    step, added = Step(doc), b""
    for item in section_items(was, 0) if was.sections else ():
        if item.depth > 1:
            continue
        next_step = put_item(step.doc, at, was.sections[0].body[item.start : item.end])
        if next_step:
            step, added = next_step, added + next_step.added
    return Step(step.doc, added=was.sections[0].heading + added) if added else None


def without_section(doc: SectionedDoc, at: int) -> Step | None:
    """The note without one whole section; None when the others would not be what they are."""
    section = doc.sections[at]
    raw, removed = render(doc), section.heading + section.body
    start = len(render(SectionedDoc(doc.preamble, doc.sections[:at])))
    before, after = raw[:start], raw[start + len(removed) :]
    eol = line_end(raw)
    if not after and before.endswith(eol * 2):
        before = before[: -len(eol)]
    fresh = parse(before + after)
    names = [other.name for here, other in enumerate(doc.sections) if here != at]
    return (
        Step(fresh, removed=removed)
        if [other.name for other in fresh.sections] == names
        else None
    )


def _words(body: bytes) -> list[bytes]:
    return [line.strip() for line in body.splitlines() if line.strip()]


def _with(
    doc: SectionedDoc, at: int, body: bytes, heading: bytes | None = None
) -> SectionedDoc | None:
    """The note with another body in one section; None when it would then say something else elsewhere."""
    section = Section(doc.sections[at].name, heading or doc.sections[at].heading, body)
    fresh = SectionedDoc(
        doc.preamble, (*doc.sections[:at], section, *doc.sections[at + 1 :])
    )
    return fresh if parse(render(fresh)) == fresh else None


def _rest_is_kept(
    full: SectionedDoc, less: SectionedDoc, at: int, start: int, end: int
) -> bool:
    """Whether the items of a section but those from `start` to `end` are, in order, the items of another note's."""
    full_body, less_body = full.sections[at].body, less.sections[at].body
    rest = [item for item in section_items(full, at) if not start <= item.start < end]
    others = section_items(less, at)
    if [(item.text, item.depth) for item in rest] != [
        (item.text, item.depth) for item in others
    ]:
        return False
    return all(
        (item.start < start and item.end >= end)
        or full_body[item.start : item.end].strip()
        == less_body[other.start : other.end].strip()
        for item, other in zip(rest, others, strict=True)
    )


def _put(
    doc: SectionedDoc, at: int, place: int, piece: bytes, *, gap: bool = False
) -> Step | None:
    section, eol = doc.sections[at], line_end(render(doc))
    before, after, heading = section.body[:place], section.body[place:], section.heading
    ended = (
        before.endswith((b"\n", b"\r")) if before else heading.endswith((b"\n", b"\r"))
    )
    if not before and not ended:
        heading += eol
    lead = (eol if before and not ended else b"") + (eol if gap else b"")
    end = eol if after or ended else b""
    core = piece.rstrip(b"\r\n")
    fresh = _with(doc, at, before + lead + core + end + after, heading)
    start = len(before + lead)
    if fresh is None or not _rest_is_kept(fresh, doc, at, start, start + len(core)):
        return None
    here = [
        item.text
        for item in section_items(fresh, at)
        if start <= item.start < start + len(core)
    ]
    return (
        Step(fresh, added=core + eol)
        if here == list(texts_in(piece)) and here
        else None
    )


def _places(doc: SectionedDoc, at: int, piece: bytes, diff: bytes) -> Iterator[int]:
    """Where the item may have stood: after the nearest line above it that is still there, or before one below it."""
    section, region = doc.sections[at], top_region(doc.sections[at].body)
    above, below = _around(diff, piece)
    ends = _line_ends(section.body[: region.text_end])
    blanks = 0
    for line in above:
        if not line:
            blanks += 1
        elif line == section.heading.strip():
            yield _after_blanks(section.body, 0, blanks)
            break
        else:
            found = [(start, end) for start, end, text in ends if text == line]
            if len(found) == 1:
                start, end = found[0]
                yield _after_blanks(section.body, end, blanks)
                yield from (
                    item.end
                    for item in reversed(region.items)
                    if item.start <= start < item.end
                )
            blanks = 0
    for line in below:
        starts = [start for start, _, text in ends if line and text == line]
        if len(starts) == 1:
            yield starts[0]


def _around(diff: bytes, piece: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines that stood above the piece, nearest first, and those below it."""
    lines = [line.strip() for line in lines_of(piece)]
    for hunk in hunks_of(diff):
        old = [(sign, line.strip()) for sign, line in hunk.rows if sign != b"+"]
        texts = [line for _, line in old]
        for at in range(len(old) - len(lines) + 1):
            if texts[at : at + len(lines)] == lines and any(
                sign == b"-" for sign, _ in old[at : at + len(lines)]
            ):
                return texts[:at][::-1], texts[at + len(lines) :]
    return [], []


def _line_ends(raw: bytes) -> Sequence[tuple[int, int, bytes]]:
    """Start, end with line end, and text of each line that says something."""
    found, start = [], 0
    for line in raw.splitlines(keepends=True):
        if line.strip():
            found.append((start, start + len(line), line.strip()))
        start += len(line)
    return found


def _after_blanks(body: bytes, place: int, most: int) -> int:
    """The place after at most so many blank lines."""
    for line in body[place:].splitlines(keepends=True):
        if most <= 0 or line.strip():
            break
        place, most = place + len(line), most - 1
    return place
