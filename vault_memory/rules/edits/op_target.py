"""The items that an op names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.item_text import is_open, split_box, unescaped
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import NoteItem
from vault_memory.markdown.visible_text import visible
from vault_memory.rules.edits.ops import Append, ItemOp, Op, Replace, as_json, op_of
from vault_memory.rules.edits.ownership import text_of_line

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


def matching_items(
    op: ItemOp,
    items: Sequence[NoteItem],
) -> list[NoteItem]:
    """Returns the items that an op names by their text, or by box and text: `[x] water plants`.

    Of a task that the section has done and open, a replacement means the open one.
    """
    # Fault: `[[Anna]] likes tea` names its line, also beside a line that only looks like it.
    matches = [item for item in items if _is_named(op, item, folded_line)]
    matches = matches or [item for item in items if _is_named(op, item, visible)]
    is_same_task = len({visible(item.text) for item in matches}) == 1
    if isinstance(op, Replace) and is_same_task:
        return [item for item in matches if is_open(item.box)] or matches
    return matches


def is_named(
    op: ItemOp,
    item: NoteItem,
) -> bool:
    """Returns whether an op names an item, as it is written or as a reader sees it."""
    return any(_is_named(op, item, form) for form in _FORMS)


def _is_named(
    op: ItemOp,
    item: NoteItem,
    form: _Form,
) -> bool:
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


def is_complete(
    op: ItemOp,
    item: NoteItem,
) -> bool:
    """Returns whether an op names all that an item says, or all that the op would rewrite."""
    return any(_is_complete(op, item, form) for form in _FORMS)


def _is_complete(
    op: ItemOp,
    item: NoteItem,
    form: _Form,
) -> bool:
    rewrites = isinstance(op, Replace)
    texts = {form(item.text), form(item.paragraph) if rewrites else ""}
    # Fault: two pictures have no words, and are not the same.
    return not (texts - {""}).isdisjoint(_words_named(op, item, form))


def _words_named(
    op: ItemOp,
    item: NoteItem,
    form: _Form,
) -> list[str]:
    """Returns the words by which an op may name an item; with a box only an item with that box."""
    pattern = unescaped(op.match.strip())
    box, words = split_box(pattern)
    if box and words and box.casefold() == item.box.casefold():
        return [form(pattern), form(words)]
    return [form(pattern)]


def touched_items(
    op: ItemOp,
    items: list[NoteItem],
) -> list[NoteItem]:
    """Returns the item that an op names, and what is nested in it."""
    named = matching_items(op, items)[0]
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
    if matching_items(exact, items) != touched[:1] or op_of(as_json(exact)) is None:
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
