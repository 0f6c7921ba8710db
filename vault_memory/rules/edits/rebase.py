"""Rebases ops that were planned for one text of a note onto a newer text that a person saved."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.merging.similarity import alike
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.markdown.note_items import (
    NoteItem,
    items_of,
    section_items,
    section_named,
    texts_in,
)
from vault_memory.rules.edits.audit_record import Proposal, propose
from vault_memory.rules.edits.op_target import is_named, matching_items
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Archive,
    ItemOp,
    Op,
    Remove,
    Replace,
    op_of,
)

SAME_SECTION = 0.5
"""The share of a section's items by which it is recognised under a new name"""
REWRITTEN = "a person changed the item while this was written"


@dataclass(frozen=True, slots=True)
class Rebased:
    """Ops for the newer text, and proposals for a person."""

    ops: tuple[object, ...]
    proposed: tuple[Proposal, ...] = ()


def rebase_ops(
    ops: Iterable[object],
    base: SectionedDoc,
    newer: SectionedDoc,
    note: str,
    *,
    by_bot: bool = False,
    of_bot: Collection[NoteItem] = (),
) -> Rebased:
    """Returns the ops for `newer`: they follow renamed sections and moved items.

    `of_bot` are those items of `newer` that the bot wrote, so that no person rewrote them.

    A deleted section comes back with just the new item, and INBOX asks whether that is right. An
    item that a person changed stays as it is, and INBOX shows what it would have become.
    """
    rebase = _Rebase(base, newer, note, by_bot, of_bot)
    for value in ops:
        op = op_of(value)
        # The editor rejects an unknown op itself. A new section fits any text.
        if op is None or isinstance(op, AddHeading) or section_named(base, op.heading) is None:
            rebase.ops.append(value)
        else:
            rebase.add(op)
    return Rebased(tuple(rebase.ops), tuple(rebase.proposed))


class _Rebase:
    """The ops that were rebased so far."""

    def __init__(
        self,
        base: SectionedDoc,
        newer: SectionedDoc,
        note: str,
        by_bot: bool,
        of_bot: Collection[NoteItem],
    ) -> None:
        self._base = base
        self._newer = newer
        self._note = note
        self._by_bot = by_bot
        self._of_bot = of_bot
        self.ops: list[object] = []
        self.proposed: list[Proposal] = []

    def add(self, op: Append | ItemOp) -> None:
        """Rebases an op whose section the base has."""
        heading: str | None = op.heading
        if section_named(self._newer, op.heading) is None:
            heading = renamed(op.heading, self._base, self._newer)
        match op:
            case Append():
                self._add_append(op, heading)
            case Remove() | Archive():
                self.ops.append(self._follow_item(op, heading))
            case Replace():
                self._add_replace(op, heading)
            case _:
                assert_never(op)

    def _add_append(self, op: Append, heading: str | None) -> None:
        if heading is not None:
            self.ops.append(replace(op, heading=heading))
            return
        self.ops.append(_with_section(op, self.ops))
        why = f"its section {op.heading} was deleted while this was written"
        self.proposed.append(propose(self._note, Remove(op.heading, op.line), why))

    def _add_replace(self, op: Replace, heading: str | None) -> None:
        rewritten = _find_rewritten(op, heading, self._base, self._newer, self._of_bot)
        if rewritten is None or (not self._by_bot and is_named(op, rewritten)):
            self.ops.append(self._follow_item(op, heading))
            return
        # Fault (A13): the person's wording is newer than what the bot read.
        new_op = Replace(rewritten.heading, rewritten.text, op.line)
        self.proposed.append(propose(self._note, new_op, REWRITTEN))

    def _follow_item(self, op: ItemOp, heading: str | None) -> Op:
        return replace(op, heading=_section_of_item(op, heading, self._newer))


def proposals_for_conflicts(
    conflicts: Iterable[Conflict], note: str, why: str
) -> tuple[Proposal, ...]:
    """Returns a proposal for each item that both sides changed: it may become the other text."""
    proposals: list[Proposal] = []
    for conflict in conflicts:
        if conflict.kind != "item":
            continue
        current_texts = texts_in(conflict.kept)
        rival_texts = texts_in(conflict.other)
        if not current_texts or not rival_texts:
            continue
        op = op_of(Replace(conflict.section, current_texts[0], rival_texts[0]))
        if op:
            proposals.append(propose(note, op, why))
    return tuple(proposals)


def renamed(heading: str, base: SectionedDoc, newer: SectionedDoc) -> str | None:
    """Returns the new name of a section: that of a new section with the same text or most items."""
    index = section_named(base, heading)
    if index is None:
        return None
    old_names = {section.name for section in base.sections}
    texts = {item.text for item in section_items(base, index)}
    body = base.sections[index].body.strip()
    for new_index, section in enumerate(newer.sections):
        if section.name in old_names:
            continue
        has_same_body = bool(body) and section.body.strip() == body
        if has_same_body or _has_most_items(newer, new_index, texts):
            return section.name
    return None


def _has_most_items(doc: SectionedDoc, index: int, texts: set[str]) -> bool:
    """Returns whether a section has most of these items."""
    shared = texts & {item.text for item in section_items(doc, index)}
    return bool(texts) and len(shared) > SAME_SECTION * len(texts)


def _find_rewritten(
    op: Replace,
    heading: str | None,
    base: SectionedDoc,
    newer: SectionedDoc,
    of_bot: Collection[NoteItem],
) -> NoteItem | None:
    """Returns the item that a person made of the op's item; None when it is as before, or gone."""
    old_items = items_of(base)
    items = items_of(newer)
    target = _only_match(op, old_items)
    if target is None or target.text in {item.text for item in items}:
        return None
    old_texts = {item.text for item in old_items}
    new_items = [item for item in items if item.text not in old_texts and item not in of_bot]
    candidates = _items_below(heading, new_items) or new_items
    target_text = folded_line(target.text)
    versions = [item for item in candidates if alike(target_text, folded_line(item.text))]
    if not versions:
        section = _items_below(heading, items)
        versions = _in_same_position(target, old_items, section)
    # Fault (A13): with several candidates it is unclear which one the person made of
    # the item.
    if len(versions) != 1 or versions[0] not in candidates:
        return None
    return versions[0]


def _items_below(heading: str | None, items: Sequence[NoteItem]) -> list[NoteItem]:
    return [item for item in items if item.heading == heading]


def _only_match(op: Replace, items: Sequence[NoteItem]) -> NoteItem | None:
    matches = matching_items(op, _items_below(op.heading, items))
    return matches[0] if len(matches) == 1 else None


def _in_same_position(
    target: NoteItem, old_items: Sequence[NoteItem], section: Sequence[NoteItem]
) -> list[NoteItem]:
    """Returns the item at the target's position, when the section has as many items as before."""
    old_section = [item for item in old_items if item.section == target.section]
    if len(old_section) != len(section):
        return []
    return [section[old_section.index(target)]]


def _section_of_item(op: ItemOp, heading: str | None, newer: SectionedDoc) -> str:
    """Returns the section to which an item moved; `heading` when it is still there, or gone."""
    headings = [
        section.name
        for index, section in enumerate(newer.sections)
        if any(is_named(op, item) for item in section_items(newer, index))
    ]
    if len(headings) == 1 and heading not in headings:
        return headings[0]
    return heading or op.heading


def _with_section(op: Append, earlier_ops: list[object]) -> Op:
    """Returns an op that adds the section, too, unless an earlier op does that."""
    for earlier in earlier_ops:
        if isinstance(earlier, AddHeading) and earlier.heading == op.heading:
            return op
    return AddHeading(op.heading, (op.line,))
