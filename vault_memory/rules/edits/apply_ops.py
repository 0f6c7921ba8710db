"""Applies ops to the bytes of a note. Only named lines change; the result is parsed and compared."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from vault_memory.markdown.document import SectionedDoc, is_text, parse, render
from vault_memory.markdown.editable_region import top_region
from vault_memory.markdown.item_text import (
    parts_of,
    rewritten,
    split_box,
    ticked,
    without_marker,
    written_item,
)
from vault_memory.markdown.note_items import (
    NoteItem,
    archived_bytes,
    line_end,
    own_texts,
    said,
    text_of,
    texts_in,
)
from vault_memory.markdown.visible_text import SeenTexts
from vault_memory.rules.context import rule_archive
from vault_memory.rules.edits.op_target import (
    OpPlace,
    find_place,
    matching_items,
    with_all_words,
    with_block,
)
from vault_memory.rules.edits.ops import (
    LONGEST_LINE,
    AddHeading,
    Append,
    Applied,
    Archive,
    ItemOp,
    Op,
    OpRefused,
    Outcome,
    Rejected,
    Remove,
    Replace,
    read_op,
)

_NEWLINES = (b"\n", b"\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _BodyEdit:
    """A section's body after an op, and the items that it must then have."""

    outcomes: tuple[str, ...]
    """of each op"""
    body: bytes = b""
    expected: tuple[str, ...] = ()
    removed: bytes = b""
    heading: bytes = b""
    """the heading's line, when it got a line end"""
    ops: tuple[Op, ...] = ()
    """the ops with the texts that they wrote, where these lack the marker of the list"""

    def applied(self, ops: list[Op], heading: str) -> list[Applied]:
        """Returns the result of each op, with the heading as the note has it."""
        return [
            Applied(replace(op, heading=heading), outcome, self.removed)
            for op, outcome in zip(self.ops or ops, self.outcomes, strict=True)
        ]


def apply_ops(doc: SectionedDoc, ops: Iterable[object]) -> Outcome:
    """Applies ops in order, and collects those that cannot be applied. The input does not change.

    `ops` are JSON values or ops. Lines appended to one section in a row are checked together, and
    by halves when that check fails.
    """
    results: list[Applied | Rejected] = []
    for group in _group_appends(ops):
        doc, group_results = _apply_group(doc, group)
        results += group_results
    applied = tuple(result for result in results if isinstance(result, Applied))
    rejected = tuple(result for result in results if isinstance(result, Rejected))
    return Outcome(doc, applied, rejected)


def _group_appends(ops: Iterable[object]) -> Iterator[list[tuple[object, Op | OpRefused]]]:
    """Yields the ops in order, as they were passed and as they were read.

    Appends to the same section in a row are a group; others are alone.
    """
    group: list[tuple[object, Op | OpRefused]] = []
    for value in ops:
        op = _read(value)
        if group and not _appends_to_same_section(group[-1][1], op):
            yield group
            group = []
        group.append((value, op))
    if group:
        yield group


def _appends_to_same_section(previous: Op | OpRefused, op: Op | OpRefused) -> bool:
    if not isinstance(previous, Append) or not isinstance(op, Append):
        return False
    return op.heading == previous.heading


def _read(value: object) -> Op | OpRefused:
    try:
        return value if isinstance(value, Op) else read_op(value)
    except OpRefused as refusal:
        return refusal


def _apply_group(
    doc: SectionedDoc, group: list[tuple[object, Op | OpRefused]]
) -> tuple[SectionedDoc, list[Applied | Rejected]]:
    try:
        new_doc, applied = _apply_all(doc, [op for _, op in group])
        return new_doc, list(applied)
    except OpRefused as refusal:
        if len(group) == 1:
            rejected = Rejected(group[0][0], refusal.reason, refusal.headings)
            return doc, [rejected]
    # Fault: one bad line must not take the good lines around it with it.
    half = len(group) // 2
    doc, first_results = _apply_group(doc, group[:half])
    doc, second_results = _apply_group(doc, group[half:])
    return doc, first_results + second_results


def _apply_all(doc: SectionedDoc, ops: list[Op | OpRefused]) -> tuple[SectionedDoc, list[Applied]]:
    """Applies all ops of a group. Raises OpRefused when one of them cannot be applied."""
    op = ops[0]
    if isinstance(op, OpRefused):
        raise op
    if isinstance(op, AddHeading):
        new_doc, result = _add_heading(doc, op)
        return new_doc, [result]
    if isinstance(op, Archive):
        new_doc, result = _archive(doc, op)
        return new_doc, [result]
    valid_ops = [op for op in ops if not isinstance(op, OpRefused)]
    return _edit_section(doc, op, valid_ops)


def _edit_section(
    doc: SectionedDoc, op: Append | Remove | Replace, ops: list[Op]
) -> tuple[SectionedDoc, list[Applied]]:
    raw = _text_of_note(doc)
    place = find_place(doc, op)
    # Fault (A21): appended lines that together would swallow the next block are tried
    # line by line.
    if len(ops) > 1 and not _is_followed_by_heading(doc, place):
        raise OpRefused("would_change_structure")
    match op:
        case Append():
            appends = [op for op in ops if isinstance(op, Append)]
            edit = _append(doc, place, appends, line_end(raw))
        case Remove():
            edit = _remove(doc, place, op)
        case Replace():
            edit = _replace(doc, place, op)
        case _:
            assert_never(op)
    applied = edit.applied(ops, place.heading)
    if "applied" not in edit.outcomes:
        return doc, applied
    return _with_body(doc, place, edit), applied


def _is_followed_by_heading(doc: SectionedDoc, place: OpPlace) -> bool:
    """Returns whether a heading at the left margin, or nothing, follows a place."""
    below = doc.sections[place.number].body[place.at :]
    for section in doc.sections[place.number + 1 : place.number + 2]:
        below += section.heading
    # An indented heading would become a part of the item above it.
    return below.lstrip(b"\r\n")[:1] in (b"", b"#")


def _text_of_note(doc: SectionedDoc) -> bytes:
    """Returns the bytes of a note. Raises OpRefused when they are not UTF-8."""
    raw = render(doc)
    # Fault: a line in UTF-8 among other bytes would make a note that no program reads
    # as one text.
    if not is_text(raw):
        raise OpRefused("not_text")
    return raw


# --- The ops ----------------------------------------------------------------------------------


def _append(doc: SectionedDoc, place: OpPlace, ops: list[Append], eol: bytes) -> _BodyEdit:
    existing: defaultdict[str, SeenTexts] = defaultdict(SeenTexts)
    marker = place.marker
    is_numbered = marker.strip()[:-1].isdigit()
    for item in place.items:
        texts = existing[_kind_of_task(item.box)]
        texts.add(item.text)
        if is_numbered:
            texts.add(_numbered(parts_of(item.own).marker, item.text))
    read_ops: list[Op] = []
    new_items: list[bytes] = []
    new_texts: list[str] = []
    outcomes: list[str] = []
    for op in ops:
        op = replace(op, line=without_marker(op.line, marker))
        read_ops.append(op)
        texts = existing[_kind_of_task(split_box(op.line)[0])]
        text = said(op.line)
        if text in texts:
            outcomes.append("noop_dup")
            continue
        outcomes.append("applied")
        texts.add(text)
        if is_numbered:
            texts.add(_numbered(marker, text))
        new_items.append(place.new_item(marker, op.line))
        new_texts.append(text)
        marker = place.marker_after(new_items[-1])
    if not new_items:
        return _BodyEdit(tuple(outcomes), ops=tuple(read_ops))
    between = eol * 2 if place.is_loose else eol
    heading, body = with_block(doc, place, between.join(new_items), eol)
    expected = _with_texts(place, new_texts)
    return _BodyEdit(tuple(outcomes), body, expected, heading=heading, ops=tuple(read_ops))


def _with_texts(place: OpPlace, texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the texts of all items of a section with new ones at their place."""
    above = [item.text for item in place.all_items if item.start < place.at]
    below = [item.text for item in place.all_items if item.start >= place.at]
    return (*above, *texts, *below)


def _numbered(marker: bytes, text: str) -> str:
    """Returns the text of an item with its number."""
    # Fault: `3. May: Anna` is written as the third item. Once more it would be a fourth.
    return f"{marker.strip().decode()} {text}".rstrip()


def _kind_of_task(box: str) -> str:
    """Returns what two items share that say the same. A task that is done is not to be done again."""
    return "" if box == " " else box.casefold()


def _remove(doc: SectionedDoc, place: OpPlace, op: Remove | Archive) -> _BodyEdit:
    removed = _find_item(place.items, op)
    if removed is None:
        return _BodyEdit(("noop_no_match",))
    old_body = doc.sections[place.number].body
    body = old_body[: removed.start] + old_body[removed.end :]
    remaining = tuple(
        item.text for item in place.all_items if not removed.start <= item.start < removed.end
    )
    removed_bytes = old_body[removed.start : removed.end]
    return _BodyEdit(("applied",), body, remaining, removed_bytes)


def _replace(doc: SectionedDoc, place: OpPlace, op: Replace) -> _BodyEdit:
    """Rewrites the first paragraph of an item, and the box where the line has one."""
    item = _find_item(place.items, op)
    if item is None:
        return _BodyEdit(("noop_no_match",))
    old = parts_of(item.own)
    op = replace(op, line=without_marker(op.line, old.marker))
    op = with_all_words(op, item)
    # Fault: the record of such a line could not be read, and nothing undone.
    if len(op.line) > LONGEST_LINE:
        raise OpRefused("too_long")
    box, _ = split_box(op.line)
    is_same = said(op.line) == item.paragraph
    if is_same and box in ("", item.box):
        return _BodyEdit(("noop_dup",), ops=(op,))
    new_own = ticked(old, box) if is_same else rewritten(old, op.line)
    if new_own is None:
        raise OpRefused("would_change_structure")
    body = doc.sections[place.number].body
    new_body = body[: item.start] + new_own + body[item.own_end :]
    expected = tuple(
        text_of(new_own) if candidate == item else candidate.text for candidate in place.all_items
    )
    removed = item.own.removesuffix(old.below)
    return _BodyEdit(("applied",), new_body, expected, removed, ops=(op,))


def _add_heading(doc: SectionedDoc, op: AddHeading) -> tuple[SectionedDoc, Applied]:
    raw = _text_of_note(doc)
    names = [section.name for section in doc.sections]
    # The title of a note may have the name of a section.
    if any(
        section.name == op.heading and (section.level > 1 or number > 1)
        for number, section in enumerate(doc.sections)
    ):
        raise OpRefused("heading_exists")
    new_doc = parse(raw + _render_section(raw, op))
    if [section.name for section in new_doc.sections] != [*names, op.heading]:
        raise OpRefused("would_change_structure")
    body = new_doc.sections[-1].body
    texts = own_texts(body, top_region(body), {})
    if texts != tuple(map(said, op.lines)):
        raise OpRefused("would_change_structure")
    if not render(new_doc).startswith(raw):
        raise OpRefused("would_change_structure")
    return new_doc, Applied(op, "applied")


def _archive(doc: SectionedDoc, op: Archive) -> tuple[SectionedDoc, Applied]:
    """Moves an item with its nested items to the archive, byte for byte."""
    if rule_archive.is_archive(op.heading):
        return doc, Applied(op, "noop_dup")
    raw = _text_of_note(doc)
    place = find_place(doc, op)
    op = replace(op, heading=place.heading)
    removal = _remove(doc, place, op)
    if "applied" not in removal.outcomes:
        return doc, Applied(op, "noop_no_match")
    remaining = _with_body(doc, place, removal)
    new_doc = _with_archived(remaining, archived_bytes(removal.removed), line_end(raw))
    return new_doc, Applied(op, "applied", removal.removed)


def _with_archived(doc: SectionedDoc, block: bytes, eol: bytes) -> SectionedDoc:
    """Returns the note with an item at the end of its archive."""
    names = [section.name for section in doc.sections]
    if rule_archive.ARCHIVED not in names:
        text = render(doc)
        heading = _render_section(text, AddHeading(rule_archive.ARCHIVED, ()))
        doc = parse(text + heading.rstrip(b"\r\n") + eol + eol)
        names.append(rule_archive.ARCHIVED)
    if [section.name for section in doc.sections] != names:
        raise OpRefused("would_change_structure")
    place = find_place(doc, Append(rule_archive.ARCHIVED, ""))
    new_heading, body = with_block(doc, place, block, eol)
    expected = _with_texts(place, texts_in(block))
    edit = _BodyEdit(("applied",), body, expected, heading=new_heading)
    return _with_body(doc, place, edit)


def _render_section(raw: bytes, op: AddHeading) -> bytes:
    """Returns the bytes to add to a note: a blank line, the heading and its items."""
    eol = line_end(raw)
    ended = not raw or raw.endswith(_NEWLINES)
    unix_raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    is_empty = not raw.removeprefix(_BYTE_ORDER_MARK).strip()
    gap = b""
    if not ended:
        gap += eol
    if not is_empty and not unix_raw.endswith(b"\n\n"):
        gap += eol
    items = [written_item(b"- ", line) for line in op.lines]
    section = eol.join([b"## " + op.heading.encode(), b"", *items])
    return gap + section + (eol if ended else b"")


# --- Sections and items -----------------------------------------------------------------------


def _with_body(doc: SectionedDoc, place: OpPlace, edit: _BodyEdit) -> SectionedDoc:
    """Returns the note with another body in the section of a place.

    Raises OpRefused unless it parses to the same other sections, and the section to the items.
    """
    index = place.number
    old = doc.sections[index]
    section = old._replace(heading=edit.heading or old.heading, body=edit.body)
    sections = (*doc.sections[:index], section, *doc.sections[index + 1 :])
    new_doc = parse(render(SectionedDoc(doc.preamble, sections)))
    # Fault (A21): a line such as a fence or an HTML comment can change the meaning of
    # the text below it. A line end that front matter lacked may become a part of it.
    if new_doc.sections[1:] != sections[1:]:
        raise OpRefused("would_change_structure")
    body = new_doc.sections[index].body
    texts = {item.own: item.text for item in place.all_items}
    if own_texts(body, top_region(body), texts) != edit.expected:
        raise OpRefused("would_change_structure")
    return new_doc


def _find_item(items: list[NoteItem], op: ItemOp) -> NoteItem | None:
    """Returns the item that an op names. Raises OpRefused when several match."""
    matches = matching_items(op, items)
    # Fault: which of the items is meant is unclear. To take the first could change a
    # line that the op does not mean.
    if len(matches) > 1 and not op.exact:
        raise OpRefused("multiple_matches")
    return matches[0] if matches else None
