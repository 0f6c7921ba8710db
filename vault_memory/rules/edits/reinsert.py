"""Puts items and sections back into a note that changed, and takes them out again.

Each step happens completely or not at all. After it the note is parsed again: the named item or
section came or went, and every other item is as before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vault_memory.markdown.document import Section, SectionedDoc, parse, render
from vault_memory.markdown.editable_region import top_region
from vault_memory.markdown.item_text import parts_of, tail_after
from vault_memory.markdown.note_items import (
    NoteItem,
    dedented,
    line_end,
    numbers_named,
    section_items,
    section_named,
    text_of,
    texts_in,
)
from vault_memory.rules.edits.unified_diff import hunks_of, lines_of

_NEWLINES = (b"\n", b"\r")


@dataclass(frozen=True, slots=True)
class ReinsertStep:
    """A note after one change, with the removed and the added bytes."""

    doc: SectionedDoc
    removed: bytes = b""
    added: bytes = b""


@dataclass(frozen=True, slots=True)
class _ItemLine:
    """A line that is not blank, with its place in a section's body."""

    start: int
    end: int
    """after its line end"""
    text: bytes


# --- Items ------------------------------------------------------------------------------------


def exact_item(doc: SectionedDoc, heading: str, block: bytes) -> NoteItem | None:
    """Returns the item with exactly these bytes, or with this text and nothing nested.

    Of several the last. When the section is gone, it may have a new name: then the only such item
    of the note is returned.
    """
    named = numbers_named(doc, heading)
    numbers = named or range(len(doc.sections))
    matches = [item for number in numbers for item in _exact_items(doc, number, block)]
    if named:
        return matches[-1] if matches else None
    return matches[0] if len(matches) == 1 else None


def _exact_items(doc: SectionedDoc, index: int, block: bytes) -> list[NoteItem]:
    body = doc.sections[index].body
    items = section_items(doc, index)
    texts = texts_in(block)
    stripped = block.strip()
    same_bytes = [item for item in items if body[item.start : item.end].strip() == stripped]
    if same_bytes:
        return same_bytes
    box = parts_of(block).box
    same_text = [item for item in items if item.end == item.own_end and (item.text,) == texts]
    return [item for item in same_text if parts_of(item.own).box == box] or same_text


def drop_item(doc: SectionedDoc, item: NoteItem) -> ReinsertStep | None:
    """Removes an item with its nested items; None when that changes other items."""
    body = doc.sections[item.section].body
    new_doc = _with_body(doc, item.section, body[: item.start] + body[item.end :])
    if new_doc is None:
        return None
    if not _others_are_unchanged(doc, new_doc, item.section, item.start, item.end):
        return None
    return ReinsertStep(new_doc, removed=body[item.start : item.end])


def swap_item(doc: SectionedDoc, item: NoteItem, own: bytes) -> ReinsertStep | None:
    """Replaces an item's first paragraph; the rest of it stays. None when other items change."""
    body = doc.sections[item.section].body
    old = parts_of(item.own)
    old_own = item.own.removesuffix(old.below)
    new_own = own.rstrip() + tail_after(own.decode("utf-8", "replace"), old)
    start = item.start + len(old_own)
    new_body = body[: item.start] + new_own + body[start:]
    new_doc = _with_body(doc, item.section, new_body)
    if new_doc is None:
        return None
    items = section_items(doc, item.section)
    expected = _outline(items)
    expected[items.index(item)] = (text_of(new_own + old.below), item.depth)
    if _outline(section_items(new_doc, item.section)) != expected:
        return None
    return ReinsertStep(new_doc, removed=old_own, added=new_own)


def put_item(doc: SectionedDoc, index: int, block: bytes, diff: bytes = b"") -> ReinsertStep | None:
    """Puts an item back at its place in the diff, else at the end of the top region.

    Returns None when the section has such an item, or when no place fits.
    """
    existing = {(item.text,) for item in section_items(doc, index)}
    if texts_in(block)[:1] in existing:
        return None
    for position in _candidate_positions(doc, index, block, diff):
        step = _insert(doc, index, position, block)
        if step is not None:
            return step
    region = top_region(doc.sections[index].body)
    needs_gap = region.place > 0 and (region.is_loose or not region.after_item)
    return _insert(doc, index, region.place, dedented(block), gap=needs_gap)


# --- Sections ---------------------------------------------------------------------------------


def drop_section(doc: SectionedDoc, heading: str, block: bytes) -> ReinsertStep | None:
    """Removes a section with these bytes; when it changed, removes those items that are left."""
    indexes = [index for index, section in enumerate(doc.sections) if section.name == heading]
    if not indexes:
        return None
    old_doc = parse(block)
    if old_doc.headings:
        words = _stripped_lines(old_doc.sections[1].body)
        for index in indexes:
            if _is_whole(doc, index, words):
                return without_section(doc, index)
    dropped = b""
    new_doc = doc
    for text in texts_in(block):
        item = exact_item(new_doc, heading, b"- " + text.encode())
        step = drop_item(new_doc, item) if item else None
        if step:
            new_doc = step.doc
            dropped += dedented(step.removed)
    if not dropped:
        return None
    return ReinsertStep(new_doc, removed=doc.sections[indexes[0]].heading + dropped)


def put_section(doc: SectionedDoc, heading: str, block: bytes) -> ReinsertStep | None:
    """Puts a section back at the end of the note; into a section of that name, only its items."""
    index = section_named(doc, heading)
    if index is not None:
        return _put_items(doc, index, block)
    raw = render(doc)
    new_doc = parse(raw + _gap_after(raw, line_end(raw or block)) + block)
    names = [section.name for section in doc.sections]
    if not render(new_doc).startswith(raw):
        return None
    if [section.name for section in new_doc.sections] != [*names, heading]:
        return None
    new_items = section_items(new_doc, len(doc.sections))
    if tuple(item.text for item in new_items) != texts_in(block):
        return None
    return ReinsertStep(new_doc, added=block)


def _gap_after(raw: bytes, eol: bytes) -> bytes:
    """Returns what a note lacks before a new heading: a line end, a blank line, or nothing."""
    if not raw.strip() or raw.endswith(eol * 2):
        return b""
    return eol if raw.endswith(_NEWLINES) else eol * 2


def _put_items(doc: SectionedDoc, index: int, block: bytes) -> ReinsertStep | None:
    old_doc = parse(block)
    if not old_doc.headings:
        return None
    old_section = old_doc.sections[1]
    added = b""
    new_doc = doc
    for item in section_items(old_doc, 1):
        # A nested item comes back with its outer item.
        if item.depth > 1:
            continue
        step = put_item(new_doc, index, old_section.body[item.start : item.end])
        if step:
            new_doc = step.doc
            added += step.added
    if not added:
        return None
    return ReinsertStep(new_doc, added=old_section.heading + added)


def without_section(
    doc: SectionedDoc, index: int, read: Callable[[bytes], SectionedDoc] = parse
) -> ReinsertStep | None:
    """Removes a complete section; None when that changes the other sections. `read` made `doc`."""
    section = doc.sections[index]
    removed = section.heading + section.body
    raw = render(doc)
    start = len(render(SectionedDoc(doc.preamble, doc.sections[:index])))
    before = raw[:start]
    after = raw[start + len(removed) :]
    eol = line_end(raw)
    # The blank line before the last section would stay at the end of the note.
    if not after and before.endswith(eol * 2):
        before = before[: -len(eol)]
    new_doc = read(before + after)
    names = [section.name for section in doc.sections]
    del names[index]
    if [section.name for section in new_doc.sections] != names:
        return None
    return ReinsertStep(new_doc, removed=removed)


def _is_whole(doc: SectionedDoc, index: int, words: list[bytes]) -> bool:
    """Returns whether a section has these lines and no section below it."""
    section = doc.sections[index]
    # Fault: what a person wrote below it would belong to the section above.
    has_deeper = any(
        following.level > section.level for following in doc.sections[index + 1 : index + 2]
    )
    return not has_deeper and _stripped_lines(section.body) == words


def _stripped_lines(body: bytes) -> list[bytes]:
    return [line.strip() for line in body.splitlines() if line.strip()]


# --- Changing a body --------------------------------------------------------------------------


def _with_body(
    doc: SectionedDoc, index: int, body: bytes, heading: bytes | None = None
) -> SectionedDoc | None:
    """Returns the note with another body in a section; None when that changes other sections."""
    old = doc.sections[index]
    section = old._replace(heading=heading or old.heading, body=body)
    sections = (*doc.sections[:index], section, *doc.sections[index + 1 :])
    new_doc = SectionedDoc(doc.preamble, sections)
    return new_doc if parse(render(new_doc)) == new_doc else None


def _outline(items: Sequence[NoteItem]) -> list[tuple[str, int]]:
    return [(item.text, item.depth) for item in items]


def _others_are_unchanged(
    longer: SectionedDoc, shorter: SectionedDoc, index: int, start: int, end: int
) -> bool:
    """Returns whether a section without its items in `start:end` has the items of `shorter`."""
    longer_body = longer.sections[index].body
    shorter_body = shorter.sections[index].body
    remaining = [item for item in section_items(longer, index) if not start <= item.start < end]
    items = section_items(shorter, index)
    if _outline(remaining) != _outline(items):
        return False
    for old, new in zip(remaining, items, strict=True):
        # An outer item differs by the nested item that came or went.
        if old.start < start and old.end >= end:
            continue
        old_bytes = longer_body[old.start : old.end].strip()
        if old_bytes != shorter_body[new.start : new.end].strip():
            return False
    return True


def _insert(
    doc: SectionedDoc, index: int, position: int, block: bytes, *, gap: bool = False
) -> ReinsertStep | None:
    """Inserts an item into a body; with `gap` after a blank line. None when it does not fit."""
    section = doc.sections[index]
    eol = line_end(render(doc))
    before = section.body[:position]
    after = section.body[position:]
    heading = section.heading
    ended = (before or heading).endswith(_NEWLINES)
    lead = eol if gap else b""
    if not ended and before:
        lead = eol + lead
    elif not ended:
        heading += eol
    # A note without a line end at its end keeps it so.
    end = eol if after or ended else b""
    core = block.rstrip(b"\r\n")
    new_doc = _with_body(doc, index, before + lead + core + end + after, heading)
    if new_doc is None:
        return None
    start = len(before + lead)
    core_end = start + len(core)
    if not _others_are_unchanged(new_doc, doc, index, start, core_end):
        return None
    inserted = _texts_between(new_doc, index, start, core_end)
    if not inserted or inserted != texts_in(block):
        return None
    return ReinsertStep(new_doc, added=core + eol)


def _texts_between(doc: SectionedDoc, index: int, start: int, end: int) -> tuple[str, ...]:
    """Returns the texts of a section's items that begin in `start:end` of its body."""
    items = section_items(doc, index)
    return tuple(item.text for item in items if start <= item.start < end)


# --- Finding the place ------------------------------------------------------------------------


def _candidate_positions(doc: SectionedDoc, index: int, block: bytes, diff: bytes) -> Iterator[int]:
    """Yields places for an item: after lines that were above it, then before lines below it."""
    above, below = _neighbours(diff, block)
    body = doc.sections[index].body
    region_lines = _text_lines(body[: top_region(body).text_end])
    yield from _positions_below(doc.sections[index], region_lines, above)
    for text in below:
        matches = [line for line in region_lines if text and line.text == text]
        if len(matches) == 1:
            yield matches[0].start


def _positions_below(
    section: Section, region_lines: Sequence[_ItemLine], above: Sequence[bytes]
) -> Iterator[int]:
    """Yields the places after the lines that were above an item, the nearest first."""
    items = top_region(section.body).items
    blank_lines = 0
    for text in above:
        if not text:
            blank_lines += 1
            continue
        if text == section.heading.strip():
            yield _skip_blank_lines(section.body, 0, blank_lines)
            return
        matches = [line for line in region_lines if line.text == text]
        if len(matches) == 1:
            line = matches[0]
            yield _skip_blank_lines(section.body, line.end, blank_lines)
            for item in reversed(items):
                if item.start <= line.start < item.end:
                    yield item.end
        blank_lines = 0


def _neighbours(diff: bytes, block: bytes) -> tuple[list[bytes], list[bytes]]:
    """Returns the lines above a removed block in a diff, nearest first, and those below it."""
    lines = [line.strip() for line in lines_of(block)]
    for hunk in hunks_of(diff):
        old_rows = [(sign, line.strip()) for sign, line in hunk.rows if sign != b"+"]
        texts = [line for _, line in old_rows]
        for start in range(len(old_rows) - len(lines) + 1):
            end = start + len(lines)
            signs = {sign for sign, _ in old_rows[start:end]}
            if texts[start:end] == lines and b"-" in signs:
                return texts[:start][::-1], texts[end:]
    return [], []


def _text_lines(raw: bytes) -> list[_ItemLine]:
    """Returns the lines that are not blank, with their positions."""
    lines: list[_ItemLine] = []
    start = 0
    for line in raw.splitlines(keepends=True):
        end = start + len(line)
        if line.strip():
            lines.append(_ItemLine(start, end, line.strip()))
        start = end
    return lines


def _skip_blank_lines(body: bytes, position: int, most: int) -> int:
    """Returns the position after at most `most` blank lines."""
    for line in body[position:].splitlines(keepends=True):
        if most <= 0 or line.strip():
            break
        position += len(line)
        most -= 1
    return position
