"""Undoes an audit record, from the record alone.

A note that is as the record left it becomes what it was before, byte for byte. In a note that
changed since, each op is undone by itself: the item that it wrote goes, and the bytes that it
removed return to their place, or to the end of the section. An op that cannot be undone becomes a
proposal. An undo can be undone in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.document import SectionedDoc, is_text, parse, render
from vault_memory.markdown.note_items import (
    NoteItem,
    dedented,
    items_named,
    section_items,
    section_named,
    texts_in,
)
from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp, propose, revision
from vault_memory.rules.edits.op_effects import Effect, effects_of, undo_op
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, as_json, op_of
from vault_memory.rules.edits.reinsert import (
    ReinsertStep,
    drop_item,
    drop_section,
    exact_item,
    put_item,
    put_section,
    swap_item,
)
from vault_memory.rules.edits.unified_diff import taken_back


class NotUndoable(VaultMemoryError):
    """The record cannot be undone."""

    http_status = 409


class Folded(NotUndoable):
    """The record is older than `audit_days`, and no longer says what it changed."""

    exit_code = 2

    def __init__(self, record_id: str, note: str) -> None:
        super().__init__(
            f"record {record_id} is folded: it is older than `audit_days`,"
            f" and no longer says what it changed in `{note}`",
            hint="`vault-memory history NOTE` lists the versions that are kept",
        )


@dataclass(frozen=True, slots=True)
class Undone:
    """A note after the undo of a record."""

    raw: bytes
    exact: bool
    """the note is again as it was before the record, byte for byte"""
    applied: tuple[RecordedOp, ...] = ()
    """for the record of the undo; ``noop_no_match`` says that there was nothing to undo"""
    proposed: tuple[Proposal, ...] = ()


def undo(record: Record, now: bytes) -> Undone:
    """Returns the note without the record's changes. Raises NotUndoable when it says too little."""
    refuse_folded(record, record.id)
    # Fault: the undo would bring back what the user forgot.
    if record.redacted:
        raise NotUndoable(
            f"what record {record.id} changed was forgotten", hint="nothing brings it back"
        )
    undoable = _undoable_ops(record)
    if not undoable and not record.diff:
        raise NotUndoable(
            f"record {record.id} changed nothing",
            hint="`vault-memory log` shows what each record did",
        )
    by_item = _undo_items(record, undoable, now)
    if record.after == revision(now):
        older = taken_back(now, record.diff)
        # Fault (G116): a person may have edited the audit file, so the hash must prove
        # the result.
        if older is not None and revision(older) == (record.before or revision(b"")):
            return Undone(older, True, by_item.applied)
    if not undoable:
        raise NotUndoable(
            f"`{record.note}` changed since record {record.id}",
            hint="`vault-memory history` has its versions",
        )
    return by_item


def refuse_folded(record: Record, record_id: str) -> None:
    """Raises Folded for a record that is folded; `record_id` is the id that the user named."""
    # Fault: the undo of the half that is left would not give back what was there.
    if record.folded:
        raise Folded(record_id, record.note)


def _undoable_ops(record: Record) -> list[tuple[RecordedOp, tuple[Effect, ...]]]:
    """Returns the ops with their effects, the last first; those without an effect are left out."""
    undoable: list[tuple[RecordedOp, tuple[Effect, ...]]] = []
    for applied in reversed(record.applied):
        effects = effects_of(applied)
        if effects:
            undoable.append((applied, effects[::-1]))
    return undoable


def _undo_items(
    record: Record, undoable: Sequence[tuple[RecordedOp, tuple[Effect, ...]]], now: bytes
) -> Undone:
    """Undoes each op by itself."""
    doc = parse(now)
    applied: list[RecordedOp] = []
    proposed: list[Proposal] = []
    for recorded, effects in undoable:
        steps = _undo_effects(doc, effects, record.diff) if is_text(now) else []
        if steps:
            doc = steps[-1].doc
        for effect, step in zip_longest(effects, steps):
            op = undo_op(recorded, effect)
            if step is not None:
                applied.append(RecordedOp(op, "applied", step.removed, step.added))
                continue
            applied.append(RecordedOp(op, "noop_no_match"))
            for remaining_op in _ops_for_person(doc, effect):
                why = f"undo of {record.id}"
                proposed.append(propose(record.note, remaining_op, why))
    return Undone(render(doc), False, tuple(applied), tuple(proposed))


def _undo_effects(doc: SectionedDoc, effects: Sequence[Effect], diff: bytes) -> list[ReinsertStep]:
    """Undoes all effects of an op, or none: half an undo could double an item, or lose it."""
    steps: list[ReinsertStep] = []
    for effect in effects:
        step = _undo_effect(doc, effect, diff)
        if step is None:
            return []
        steps.append(step)
        doc = step.doc
    return steps


def _undo_effect(doc: SectionedDoc, effect: Effect, diff: bytes) -> ReinsertStep | None:
    """Undoes one effect; None when there is nothing to undo, or it does not fit the note."""
    if effect.whole_section:
        if effect.added:
            return drop_section(doc, effect.heading, effect.added)
        return put_section(doc, effect.heading, effect.removed)
    if not effect.added:
        index = section_named(doc, effect.heading)
        if index is None:
            return None
        return put_item(doc, index, effect.removed, diff)
    item = exact_item(doc, effect.heading, effect.added) or _with_nested(doc, effect)
    if item is None:
        return None
    if effect.removed:
        return swap_item(doc, item, effect.removed)
    return drop_item(doc, item)


def _with_nested(doc: SectionedDoc, effect: Effect) -> NoteItem | None:
    """Returns the only item with the text that a replacement wrote.

    What else belongs to it does not matter, because a replacement never touches that.
    """
    if not effect.removed:
        return None
    box, paragraph = _box_and_paragraph(effect.added)
    matches = [
        item
        for item in items_named(doc, effect.heading)
        if item.paragraph == paragraph and box in ("", item.box)
    ]
    return matches[0] if len(matches) == 1 else None


def _box_and_paragraph(added: bytes) -> tuple[str, str]:
    """Returns the box and the first paragraph of the item that a replacement wrote."""
    item = section_items(parse(b"## \n" + dedented(added)), 1)[:1]
    return (item[0].box, item[0].paragraph) if item else ("", "")


def _ops_for_person(doc: SectionedDoc, effect: Effect) -> list[Op]:
    """Returns ops that a person can approve in place of an undo that was not possible."""
    index = section_named(doc, effect.heading)
    items = items_named(doc, effect.heading)
    existing = [item.text for item in items]
    if not effect.removed:
        left = [text for text in texts_in(effect.added) if text in existing]
        return _valid([Remove(effect.heading, text) for text in left])
    missing = [text for text in texts_in(effect.removed) if text not in existing]
    if index is not None:
        return _valid([Append(effect.heading, text) for text in missing])
    if not missing:
        return []
    return _valid([AddHeading(effect.heading, tuple(missing))])


def _valid(ops: Sequence[Op]) -> list[Op]:
    return [op for op in ops if op_of(as_json(op)) is not None]
