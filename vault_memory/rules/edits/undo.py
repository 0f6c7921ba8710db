"""Taking one record of the audit back, from the record alone.

A note that is as the record left it becomes what it was, byte for byte. In a note that changed since, each op is taken
back by itself: the exact item it wrote goes, and the bytes it removed go back to where they stood, or to the end of the
section. What cannot be done becomes a proposal. What was done can be taken back the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.document import SectionedDoc, is_text, parse, render
from vault_memory.markdown.note_items import (
    NoteItem,
    section_items,
    section_named,
    texts_in,
)
from vault_memory.rules.edits.audit_record import (
    Proposal,
    Record,
    RecordedOp,
    propose,
    revision,
)
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, as_json
from vault_memory.rules.edits.ownership import Effect, effect_of, op_of
from vault_memory.rules.edits.reinsert import (
    Step,
    drop_item,
    drop_section,
    exact_item,
    put_item,
    put_section,
    swap_item,
)
from vault_memory.rules.edits.unified_diff import taken_back


class NotUndoable(VaultMemoryError):
    """The record cannot be taken back."""

    http_status = 409


@dataclass(frozen=True, slots=True)
class Undone:
    """A note with a record taken back."""

    raw: bytes
    exact: bool
    """the note is again what it was, byte for byte"""
    applied: tuple[RecordedOp, ...] = ()
    """for the record of the undo; an outcome of ``noop_no_match`` says that there was nothing left to do"""
    proposed: tuple[Proposal, ...] = ()


def undo(record: Record, now: bytes) -> Undone:
    """What the note becomes. Raises NotUndoable for a record that says too little."""
    if record.redacted:
        raise NotUndoable(
            f"what record {record.id} changed was forgotten",
            hint="nothing brings it back",
        )
    inverses = [
        (done, effect)
        for done in reversed(record.applied)
        if (effect := effect_of(done)) is not None
    ]
    if not inverses and not record.diff:
        raise NotUndoable(
            f"record {record.id} changed nothing",
            hint="`vault-memory log` shows what each record did",
        )
    by_item = _item_by_item(record, inverses, now)
    if record.after == revision(now):
        older = taken_back(now, record.diff)
        if older is not None and revision(older) == (record.before or revision(b"")):
            return Undone(older, True, by_item.applied)
    if not inverses:
        raise NotUndoable(
            f"`{record.note}` changed since record {record.id}",
            hint="`vault-memory history` has its versions",
        )
    return by_item


def _item_by_item(
    record: Record, inverses: list[tuple[RecordedOp, Effect]], now: bytes
) -> Undone:
    doc = parse(now)
    applied: list[RecordedOp] = []
    proposed: list[Proposal] = []
    for done, effect in inverses:
        said = {
            "op": "undo",
            "of": done.op["of"] if done.op.get("op") == "undo" else done.op,
        }
        step = _step(doc, effect, record.diff) if is_text(now) else None
        if step is None:
            proposed += [
                propose(record.note, wish, f"undo of {record.id}")
                for wish in _wishes(doc, effect)
            ]
            applied.append(RecordedOp(said, "noop_no_match"))
        else:
            doc = step.doc
            applied.append(RecordedOp(said, "applied", step.removed, step.added))
    return Undone(render(doc), False, tuple(applied), tuple(proposed))


def _step(doc: SectionedDoc, effect: Effect, diff: bytes) -> Step | None:
    """One op taken back; None when there is nothing to take back, or it cannot be done."""
    if effect.whole_section:
        if effect.added:
            return drop_section(doc, effect.heading, effect.added)
        return put_section(doc, effect.heading, effect.removed)
    if not effect.added:
        at = section_named(doc, effect.heading)
        return None if at is None else put_item(doc, at, effect.removed, diff)
    item = exact_item(doc, effect.heading, effect.added) or _with_nested(doc, effect)
    if item is None:
        return None
    return (
        swap_item(doc, item, effect.removed) if effect.removed else drop_item(doc, item)
    )


def _with_nested(doc: SectionedDoc, effect: Effect) -> NoteItem | None:
    """The one item that says what was put in the place of another text; what is nested in it was never the op's."""
    at = section_named(doc, effect.heading)
    if at is None or not effect.removed:
        return None
    found = [
        item
        for item in section_items(doc, at)
        if (item.text,) == texts_in(effect.added)
    ]
    return found[0] if len(found) == 1 else None


def _wishes(doc: SectionedDoc, effect: Effect) -> list[Op]:
    """What a person may decide where an op could not be taken back."""
    at = section_named(doc, effect.heading)
    there = [item.text for item in section_items(doc, at)] if at is not None else []
    if not effect.removed:
        left = [text for text in texts_in(effect.added) if text in there]
        return _valid([Remove(effect.heading, text) for text in left])
    missing = [text for text in texts_in(effect.removed) if text not in there]
    if at is None:
        return _valid([AddHeading(effect.heading, tuple(missing))]) if missing else []
    return _valid([Append(effect.heading, text) for text in missing])


def _valid(ops: Sequence[Op]) -> list[Op]:
    return [op for op in ops if op_of(as_json(op)) is not None]
