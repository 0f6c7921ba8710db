"""The items that an op names, as policy judges it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.note_items import NoteItem, folded
from vault_memory.rules.edits.ops import Append, ItemOp, Op, as_json, op_of
from vault_memory.rules.edits.ownership import text_of_line


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


def touched_items(
    op: ItemOp,
    items: list[NoteItem],
) -> list[NoteItem]:
    """Returns the item that an op names, and what is nested in it."""
    pattern = folded(op.match)
    if op.exact:
        matches = (item for item in items if pattern == folded(item.text))
    else:
        matches = (item for item in items if pattern in folded(item.text))
    named = next(matches)
    return [named, *(item for item in items if named.start < item.start < named.end)]


def exact_op(
    op: ItemOp,
    touched: list[NoteItem],
    items: list[NoteItem],
) -> Op:
    """Returns the op with the complete text of its item as match, where that is unique."""
    if op.exact:
        return op
    # Fault: the same part of a text may match another item tomorrow, when the proposal
    # is approved.
    exact = replace(op, match=touched[0].text)
    pattern = folded(exact.match)
    matches = sum(pattern in folded(item.text) for item in items)
    if matches != 1 or op_of(as_json(exact)) is None:
        return op
    return exact


def has_loose_text(
    doc: SectionedDoc,
    touched: list[NoteItem],
) -> bool:
    """Returns whether text below a nested item belongs to the outer item, but to no item's lines."""
    outer = touched[0]
    body = doc.sections[outer.section].body
    next_starts = [*(item.start for item in touched[1:]), outer.end]
    return any(
        body[item.own_end : next_start].strip()
        for item, next_start in zip(touched, next_starts, strict=True)
    )


def end_of_appends(
    ops: Sequence[object],
    start: int,
) -> int:
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
