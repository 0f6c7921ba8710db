"""Plans the undo of an audit record: exactly where the text allows it, else by a three-way merge."""

from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.lazy import lazy_module
from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp
from vault_memory.rules.edits.undo import NotUndoable, Undone, undo
from vault_memory.vault.snapshots import revision_of

if TYPE_CHECKING:
    from vault_memory.markdown.merging import three_way
    from vault_memory.rules.edits import rebase
else:
    three_way = lazy_module("vault_memory.markdown.merging.three_way")
    rebase = lazy_module("vault_memory.rules.edits.rebase")

EMPTY_NOTE = revision_of(b"")


def plan_undo(
    command: EditCommand, record_id: str, before: bytes | None, inputs: PlanInputs
) -> EditPlan:
    """Returns the plan. Raises NotUndoable."""
    record = _find_record(command.note, record_id, inputs)
    # A note that the record took away and a note that is missing now are both empty.
    if before is None and not record.after:
        record = replace(record, after=EMPTY_NOTE)
    text = before or b""
    versions = _stored_versions(record, inputs)
    undone = _undo_or_none(record, text, can_merge=versions is not None)
    if undone is not None and undone.exact:
        after = undone.raw if record.before else None
        return EditPlan(before, after, undone.applied or _undone_ops(record, True))

    merged: bytes | None = None
    conflicts: tuple[Proposal, ...] = ()
    if versions is not None:
        older, newer = versions
        merge = three_way.merge(newer, older, text)
        merged = merge.result
        conflicts = rebase.proposals_for_conflicts(
            merge.conflicts, command.note, f"undo of {record.id}"
        )
    if undone is None:
        after = text if merged is None else merged
        return EditPlan(
            before, after, _undone_ops(record, after != text), (), conflicts
        )
    if merged is None or merged == text:
        merged = undone.raw
    after = merged if before is not None or merged else None
    return EditPlan(before, after, undone.applied, (), undone.proposed)


def _find_record(note: str, record_id: str, inputs: PlanInputs) -> Record:
    for record in inputs.records(note):
        if record.id == record_id:
            return record
    raise NotUndoable(
        f"there is no record {record_id} any more",
        hint="`vault-memory log` lists those there are",
    )


def _undo_or_none(record: Record, text: bytes, *, can_merge: bool) -> Undone | None:
    """Returns the undo by ops, or None where only a merge is left. Raises NotUndoable where nothing is left."""
    try:
        return undo(record, text)
    except NotUndoable:
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
