"""Plans what brings earlier text back: the undo of an audit record, and the repair after a stale save.

An undo is exact where the text allows it, else a three-way merge. After a stale save, lines of the
bot come back that the user's editor had never loaded: the plan merges the save with the version that
it overwrote, as if its author had seen both. Lines that are missing from the result are proposed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from vault_memory.edits.commands import EditCommand, RestoreLines
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging import three_way
from vault_memory.markdown.merging.three_way import merge
from vault_memory.markdown.note_items import NoteItem, items_of
from vault_memory.rules.edits import rebase
from vault_memory.rules.edits.audit_record import Record, RecordedOp
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.rules.edits.skipped_duplicates import undone_silent_ops
from vault_memory.rules.edits.stale_save import propose_missing
from vault_memory.rules.edits.undo import NotUndoable, Undone, refuse_folded, undo
from vault_memory.vault.snapshots import revision_of

EMPTY_NOTE = revision_of(b"")


def plan_undo(
    command: EditCommand, record_id: str, before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan. Raises NotUndoable."""
    record = _find_record(command.note, record_id, inputs)
    refuse_folded(record, record_id)
    silent_ops = undone_silent_ops(record)
    if silent_ops and not record.diff:
        return EditPlan(before, before, silent_ops)
    # Fault: the note was deleted or renamed. An undo would answer that all is done, or
    # make the note again with nothing but the line that it gives back.
    if before is None and record.after:
        raise NotUndoable(
            f"`{command.note}` is gone, so nothing of record {record_id} can be undone in it",
            hint=f"if it was renamed, rename its audit file after it: `{command.note}.audit.jsonl`",
        )
    plan = _plan_change(record, before, inputs)
    if not plan.changes and not plan.proposed:
        raise NotUndoable(
            f"nothing of record {record_id} can be undone: "
            f"nothing of it is left in the note `{command.note}`",
            hint=f"`vault-memory log {command.note}` shows what changed it since",
        )
    return plan


def _plan_change(record: Record, before: bytes | None, inputs: PlanInputs) -> EditPlan:
    # A note that the record took away and a note that is missing now are both empty.
    if before is None and not record.after:
        record = replace(record, after=EMPTY_NOTE)
    versions = _stored_versions(record, inputs)
    undone = _undo_or_none(record, before or b"", can_merge=versions is not None)
    if undone is not None and undone.exact:
        after = undone.raw if record.before else None
        return EditPlan(before, after, undone.applied or _undone_ops(record, True))
    merge = _merge(versions, before or b"")
    if undone is None:
        assert merge is not None, "without stored versions the undo by ops had raised"
        return _plan_of_merge(record, before, merge)
    return _plan_by_item(undone, before, merge)


def _merge(versions: tuple[bytes, bytes] | None, text: bytes) -> "three_way.Merged | None":
    """Merges the text with what the note was before the record, based on what it was after it."""
    if versions is None:
        return None
    older, newer = versions
    return three_way.merge(newer, older, text)


def _plan_of_merge(record: Record, before: bytes | None, merge: "three_way.Merged") -> EditPlan:
    """Returns the plan where only a merge is left; what conflicts is proposed."""
    text = before or b""
    after = text if merge.result is None else merge.result
    conflicts = rebase.proposals_for_conflicts(merge.conflicts, record.note, f"undo of {record.id}")
    return EditPlan(before, after, _undone_ops(record, after != text), (), conflicts)


def _plan_by_item(
    undone: Undone, before: bytes | None, merge: "three_way.Merged | None"
) -> EditPlan:
    """Returns the plan of an undo by ops, with the text of the merge where that changes anything."""
    after: bytes | None = merge.result if merge is not None else None
    if after is None or after == (before or b""):
        after = undone.raw
    # A note that is absent, and that the undo leaves empty, is not made.
    if before is None and not after:
        after = None
    return EditPlan(before, after, undone.applied, (), undone.proposed)


def _find_record(note: str, record_id: str, inputs: PlanInputs) -> Record:
    for record in inputs.records(note):
        if record.id == record_id or record_id in record.folded:
            return record
    raise NotUndoable(
        f"there is no record {record_id} any more", hint="`vault-memory log` lists those there are"
    )


def _undo_or_none(record: Record, text: bytes, *, can_merge: bool) -> Undone | None:
    """Returns the undo by ops, or None where only a merge is left. Raises NotUndoable where nothing is left."""
    try:
        return undo(record, text)
    except NotUndoable:
        # Fault: the undo of a redacted record would bring back what the user forgot.
        if record.redacted or not can_merge or not record.diff:
            raise
        return None


def _stored_versions(record: Record, inputs: PlanInputs) -> tuple[bytes, bytes] | None:
    """Returns the note before and after a record, or None when one of them is not stored."""
    older = inputs.bytes_of(record.before) if record.before else b""
    newer = inputs.bytes_of(record.after) if record.after else b""
    if older is None or newer is None:
        return None
    return older, newer


def _undone_ops(record: Record, changed: bool) -> tuple[RecordedOp, ...]:
    """Returns the ops of a record that was taken back as one."""
    outcome = "applied" if changed else "noop_no_match"
    return tuple(
        RecordedOp({"op": "undo", "of": dict(op.op)}, outcome)
        for op in record.applied
        if op.outcome == "applied"
    )


def plan_lost_lines(
    command: EditCommand, action: RestoreLines, before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan; it changes nothing when one of the versions is not stored any more."""
    loaded = inputs.bytes_of(action.loaded)
    overwritten = inputs.bytes_of(action.overwritten)
    saved = inputs.bytes_of(action.saved)
    # Fault (B45): a damaged journal may have lost one of the versions. A merge without
    # it would be a guess.
    if before is None or overwritten is None or saved is None:
        return EditPlan(before, before)
    owners = replay(inputs.records(command.note))
    after = _merge_save(loaded, overwritten, saved, before, owners)
    bot_items = owners.bots_among(items_of(parse(overwritten)))
    op: dict[str, object] = {"op": "merge", "loaded": action.loaded, "saved": action.saved}
    renamed = _renamed_sections(bot_items, items_of(parse(after)))
    if renamed:
        op["renamed"] = renamed
    outcome = "noop_dup" if after == before else "applied"
    records = inputs.records(command.note)
    proposed = propose_missing(command.note, bot_items, after, records)
    return EditPlan(before, after, (RecordedOp(op, outcome),), proposed=proposed)


def _merge_save(
    loaded: bytes | None, overwritten: bytes, saved: bytes, before: bytes, owners: Ownership
) -> bytes:
    """Returns the save with the lost lines, or `before` where every merge would take a line of a person away."""
    bases = (loaded, _common_lines(loaded or b"", overwritten))
    for base in bases:
        after = merge(base, overwritten, saved).result
        # Fault (A8): the user may have saved again since the save that is repaired.
        if after is not None and before != saved:
            after = merge(saved, after, before).result
        # Fault (A10): a merge on a wrong base can drop a person's line. Then the lost
        # lines of the bot are only proposed.
        if after is not None and not _removes_items_of_people(before, after, owners):
            return after
    return before


def _renamed_sections(bot_items: Sequence[NoteItem], items: Sequence[NoteItem]) -> dict[str, str]:
    """Maps old to new names of sections in which items of the bot are now."""
    keys = {item.key for item in items}
    section_of_text = {item.key[1]: item.heading for item in items}
    return {
        item.heading: section_of_text[item.key[1]]
        for item in bot_items
        if item.key not in keys and item.key[1] in section_of_text
    }


def _common_lines(text: bytes, other_text: bytes) -> bytes:
    """Returns the lines of `text` that the other has too, so that a missing line does not count as deleted."""
    other_lines = {line.rstrip() for line in other_text.splitlines()}
    return b"".join(line for line in text.splitlines(keepends=True) if line.rstrip() in other_lines)


def _removes_items_of_people(before: bytes, after: bytes, owners: Ownership) -> bool:
    # Fault (A3): `before` may be a half-finished save. An item that is missing there
    # was not deleted.
    items = items_of(parse(before))
    bot_items = set(owners.bots_among(items))
    remaining = Counter(item.key[1] for item in items_of(parse(after)))
    of_people = Counter(item.key[1] for item in items if item not in bot_items)
    return bool(of_people - remaining)
