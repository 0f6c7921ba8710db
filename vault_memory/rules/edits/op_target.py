"""The section that an op means, the items that it names there, and where a new item goes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vault_memory.markdown.document import SectionedDoc, render
from vault_memory.markdown.editable_region import marker_after, needs_gap_before, top_region
from vault_memory.markdown.item_text import (
    MARKER,
    OwnParts,
    is_open,
    parts_of,
    split_box,
    unescaped,
    without_dash,
    without_marker,
    written_item,
)
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import (
    Named,
    NoteItem,
    block_headings,
    item_heading,
    items_named,
    named,
    section_items,
)
from vault_memory.markdown.visible_text import is_plain, visible
from vault_memory.rules.edits.ops import Append, ItemOp, Op, OpRefused, Replace, as_json, op_of
from vault_memory.rules.edits.ownership import text_of_line

_NEWLINES = (b"\n", b"\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPEN_BOX = b"[ ] "
_BOARD = b"kanban-plugin"
"""The key in the front matter of a board, on which each item is a task"""
_Form = Callable[[str], str]
_FORMS: tuple[_Form, ...] = (folded_line, visible)
"""How texts are compared: as they are written, and as a reader sees them"""
_STRUCK = "~~"
"""Around text that is struck, which words without it may name"""


@dataclass(frozen=True, slots=True)
class Target:
    """An op with the items that it touches."""

    op: Op
    exact: Op
    """the op with the complete text of its item"""
    items: list[NoteItem]
    """all items of the op's section"""
    touched: list[NoteItem]
    """the item that the op names, and what is nested in it"""


def matching_items(op: ItemOp, items: Sequence[NoteItem]) -> list[NoteItem]:
    """Returns the items that an op names by their text, or by box and text: `[x] water plants`.

    Of a task that the section has done and open, a replacement means the open one.
    """
    items = _candidates(op, items)
    # Fault: `[[Anna]] likes tea` names its line, also beside a line that only looks like it.
    ways = (partial(_is_named, op, form=form) for form in _FORMS)
    found = (list(filter(way, items)) for way in (*ways, partial(is_named, op)))
    matches = next(filter(None, found), [])
    is_same_task = len({visible(item.text) for item in matches}) == 1
    if isinstance(op, Replace) and is_same_task:
        return [item for item in matches if is_open(item.box)] or matches
    return matches


def _candidates(op: ItemOp, items: Sequence[NoteItem]) -> Sequence[NoteItem]:
    """Returns the items that an op may name: a plain text only if it has the words of the op.

    To compare each item of a long list in all forms would make each op slow.
    """
    _, named = split_box(without_dash(op.match.strip()))
    if not is_plain(named):
        return items
    # The words may begin with the marker of the item, which is no part of its text.
    marker = MARKER.match(named)
    words = folded_line(named[marker.end() :] if marker else named)
    return [item for item in items if words in item.text.lower() or not is_plain(item.text)]


def is_named(op: ItemOp, item: NoteItem) -> bool:
    """Returns whether an op names an item, as it is written, as a reader sees it, or by its line."""
    ways = (op, _without_marker(op, item))
    return any(_is_named(way, item, form) for way in ways for form in _FORMS)


def _is_named(op: ItemOp, item: NoteItem, form: _Form) -> bool:
    if _is_complete(op, item, form):
        return True
    if op.exact:
        return False
    # Fault: words of a further paragraph would rewrite the first one, which they do not name.
    text = item.paragraph if isinstance(op, Replace) else item.text
    page = form(text).replace(_STRUCK, "")
    named = (words.replace(_STRUCK, "") for words in _words_named(op, item, form))
    # Fault: words without a visible letter would be in every text.
    return any(words in page for words in named if words)


def is_complete(op: ItemOp, item: NoteItem) -> bool:
    """Returns whether an op names all that an item says, or all that the op would rewrite."""
    ways = (op, _without_marker(op, item))
    return any(_is_complete(way, item, form) for way in ways for form in _FORMS)


def _without_marker(op: ItemOp, item: NoteItem) -> ItemOp:
    """Returns an op that names an item by its line in the note, `- buy milk`, with its text."""
    words = op.match.strip()
    marker = parts_of(item.own).marker
    return replace(op, match=without_marker(without_dash(words), marker))


def _is_complete(op: ItemOp, item: NoteItem, form: _Form) -> bool:
    rewrites = isinstance(op, Replace)
    texts = {form(item.text), form(item.paragraph) if rewrites else ""}
    # Fault: two pictures have no words, and are not the same.
    return not (texts - {""}).isdisjoint(_words_named(op, item, form))


def _words_named(op: ItemOp, item: NoteItem, form: _Form) -> list[str]:
    """Returns the words by which an op may name an item; with a box only an item with that box."""
    pattern = unescaped(op.match.strip())
    box, words = split_box(pattern)
    if box and words and box.casefold() == item.box.casefold():
        return [form(pattern), form(words)]
    return [form(pattern)]


def touched_items(op: ItemOp, items: list[NoteItem]) -> list[NoteItem]:
    """Returns the item that an op names, and what is nested in it."""
    named = matching_items(op, items)[0]
    nested = (
        item
        for item in items
        if item.section == named.section and named.start < item.start < named.end
    )
    return [named, *nested]


def exact_op(op: ItemOp, touched: list[NoteItem], items: list[NoteItem]) -> Op:
    """Returns the op with the complete text of its item as match, where that is unique."""
    if op.exact:
        return op
    # Fault: the same part of a text may match another item tomorrow, when the proposal
    # is approved.
    complete = with_all_words(op, touched[0]) if isinstance(op, Replace) else op
    exact = replace(complete, match=touched[0].text)
    if matching_items(exact, items) != touched[:1] or op_of(as_json(exact)) is None:
        return op
    return exact


def with_all_words(op: Replace, item: NoteItem) -> Replace:
    """Returns the op; one that ticks an item by some of its words gets all of them.

    `water plants` with `[x] water plants` means the task with its date and its tags.
    """
    box, words = split_box(op.line)
    _, named = split_box(_without_marker(op, item).match)
    if not box or words != named:
        return op
    return replace(op, line=f"[{box}] {item.paragraph}")


def has_loose_text(doc: SectionedDoc, touched: list[NoteItem]) -> bool:
    """Returns whether text below a nested item belongs to the outer item, but to no item's lines."""
    outer = touched[0]
    body = doc.sections[outer.section].body
    next_starts = [*(item.start for item in touched[1:]), outer.end]
    return any(
        body[item.own_end : next_start].strip()
        for item, next_start in zip(touched, next_starts, strict=True)
    )


def end_of_appends(ops: Sequence[object], start: int) -> int:
    """Returns the end of the appends of different texts to one section that begin at `start`."""
    first = op_of(ops[start])
    if not isinstance(first, Append):
        return start + 1
    texts: set[str] = set()
    for end, op in enumerate(map(op_of, ops[start:]), start=start):
        if not isinstance(op, Append) or op.heading != first.heading:
            return end
        text = text_of_line(op.line)
        # Fault: whose item a line is depends on an earlier line of the same text.
        if text in texts:
            return end
        texts.add(text)
    return len(ops)


# --- Sections and places ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpPlace:
    """The section of an op. Positions are bytes from the start of its body."""

    number: int
    """of the section"""
    heading: str
    """its name as the note has it"""
    items: list[NoteItem]
    """those that the op may name"""
    all_items: list[NoteItem]
    """those of the whole section"""
    at: int
    """where a new item goes"""
    marker: bytes
    """of a new item"""
    box: bytes
    """of a new item in a list of tasks"""
    after_item: bool
    """whether the place is directly after an item"""
    is_loose: bool
    """whether blank lines separate the items of the list"""
    counts: bool = True
    """whether the next number follows, and not all items have the same"""

    def marker_after(self, item: bytes) -> bytes:
        """Returns the marker of the item below a new one."""
        return marker_after(item) if self.counts else self.marker

    def new_item(self, marker: bytes, line: str) -> bytes:
        """Returns the bytes of a new item; a line may bring a box of its own."""
        box = b"" if split_box(line)[0] else self.box
        return written_item(marker + box, line)


def find_place(doc: SectionedDoc, op: Append | ItemOp) -> OpPlace:
    """Returns the place of an op. Raises OpRefused when it is missing, or not clear."""
    means = named(doc, op.heading)
    if means.blocks:
        return _place_in_block(doc, op, means)
    if not means.sections:
        blocks = (item_heading(block.own) for block in block_headings(doc))
        raise OpRefused("heading_missing", tuple(dict.fromkeys((*doc.headings, *blocks))))
    all_items = {number: section_items(doc, number) for number in means.sections}
    items = [
        item
        for number, listed in all_items.items()
        for item in listed
        if item.heading == doc.sections[number].name
    ]
    number = _section_of(doc, op, means.sections, items)
    own_items = [item for item in items if item.section == number]
    return _place_in_section(doc, number, own_items, all_items[number])


def _section_of(
    doc: SectionedDoc, op: Append | ItemOp, numbers: list[int], items: list[NoteItem]
) -> int:
    """Returns the section of several with one name that an op means. Raises OpRefused."""
    if len(numbers) == 1:
        return numbers[0]
    lines = tuple(f"{op.heading} (line {_line_of(doc, number)})" for number in sorted(numbers))
    if isinstance(op, Append):
        main = [number for number in numbers if doc.sections[number].level == 2]
        if len(main) != 1:
            raise OpRefused("several_headings", lines)
        return numbers[0]
    matched = list(dict.fromkeys(item.section for item in matching_items(op, items)))
    # Fault: which of the items is meant is unclear, and a copy elsewhere may be the right one.
    if len(matched) > 1 and not op.exact:
        raise OpRefused("multiple_matches", lines)
    return (matched or numbers)[0]


def _line_of(doc: SectionedDoc, number: int, start: int | None = None) -> int:
    """Returns the line of a section's heading, or of a position in its body, from 1."""
    above = render(SectionedDoc(doc.preamble, doc.sections[:number]))
    if start is not None:
        section = doc.sections[number]
        above += section.heading + section.body[:start]
    return 1 + above.count(b"\n") + above.count(b"\r") - above.count(b"\r\n")


def _place_in_section(
    doc: SectionedDoc, number: int, items: list[NoteItem], all_items: list[NoteItem]
) -> OpPlace:
    section = doc.sections[number]
    region = top_region(section.body)
    top_items = [item for item in region.items if item.depth == 1 and item.end <= region.place]
    # The last two items say how the next one begins.
    above = [section.body[item.start : item.end] for item in top_items[-2:]]
    last = list(map(parts_of, above))
    is_board = not above and _BOARD in doc.preamble
    return OpPlace(
        number=number,
        heading=section.name,
        items=items,
        all_items=all_items,
        at=region.place,
        marker=_next_marker(above, last),
        box=_OPEN_BOX if is_board else _box_after(last),
        after_item=region.after_item,
        is_loose=region.is_loose,
        counts=not _is_constant(last),
    )


def _place_in_block(doc: SectionedDoc, op: Append | ItemOp, means: Named) -> OpPlace:
    """Returns the place below an item that is a heading, as in Logseq: its nested items."""
    items = items_named(doc, op.heading)
    blocks = means.blocks
    if len(blocks) > 1:
        matches = [] if isinstance(op, Append) else matching_items(op, items)
        blocks = [block for block in blocks if any(map(partial(_is_below, block), matches))]
    if len(blocks) != 1:
        lines = (_line_of(doc, block.section, block.start) for block in means.blocks)
        headings = tuple(f"{means.heading} (line {line})" for line in lines)
        raise OpRefused("several_headings", headings)
    block = blocks[0]
    children = [item for item in items if _is_below(block, item)]
    direct = [item.own for item in children if item.depth == block.depth + 1]
    last = list(map(parts_of, direct[-2:]))
    return OpPlace(
        number=block.section,
        heading=means.heading,
        items=children,
        all_items=section_items(doc, block.section),
        at=block.end,
        marker=_next_marker(direct, last) if direct else _child_marker(doc, block),
        box=_box_after(last),
        after_item=True,
        is_loose=False,
    )


def _is_below(block: NoteItem, item: NoteItem) -> bool:
    return item.section == block.section and block.start < item.start < block.end


def _child_marker(doc: SectionedDoc, block: NoteItem) -> bytes:
    """Returns the marker of the first item below a block, with the indent of the note."""
    indent = block.own[: len(block.own) - len(block.own.lstrip(b" \t"))]
    step = b"  " if b"\n  " in doc.sections[block.section].body else b"\t"
    return indent + step + b"- "


def _next_marker(items: list[bytes], last: list[OwnParts]) -> bytes:
    """Returns the marker of an item below these."""
    if not items:
        return b"- "
    # Some people number all items with 1.
    return last[-1].marker if _is_constant(last) else marker_after(items[-1])


def _is_constant(last: list[OwnParts]) -> bool:
    """Returns whether the last two items of a list have the same number."""
    return len(last) == 2 and last[0].marker == last[1].marker


def _box_after(last: list[OwnParts]) -> bytes:
    """Returns the box of an item in a list of tasks: the last two items are tasks."""
    is_task = bool(last) and bool(last[0].box and last[-1].box)
    return _OPEN_BOX if is_task else b""


def with_block(doc: SectionedDoc, place: OpPlace, block: bytes, eol: bytes) -> tuple[bytes, bytes]:
    """Returns the heading line and the body with new items at their place."""
    section = doc.sections[place.number]
    heading = section.heading
    before = section.body[: place.at]
    after = section.body[place.at :]
    is_ended = _is_ended(before or heading or doc.preamble)
    gap = b"" if is_ended else eol
    # Without a blank line the items would become a part of the paragraph above.
    if before.strip() and (place.is_loose or not place.after_item):
        gap += eol
    if heading and not before:
        heading += gap
        gap = b""
    # A note without a line end at its end keeps it so.
    end = eol if after or is_ended else b""
    end += eol if needs_gap_before(after) or _is_blank_opening(doc, place) else b""
    return heading, before + gap + block + end + after


def _is_ended(above: bytes) -> bool:
    """Returns whether a new line may begin below a text."""
    return above in (b"", _BYTE_ORDER_MARK) or above.endswith(_NEWLINES)


def _is_blank_opening(doc: SectionedDoc, place: OpPlace) -> bool:
    """Returns whether a heading follows the place directly, at the beginning of a note."""
    is_alone = len(doc.sections) == 1
    return not (place.number or is_alone or doc.sections[0].body.strip())
