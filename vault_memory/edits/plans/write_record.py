"""The audit record of a write: what its plan did, also when another process finds the write after a crash."""

import logging
from dataclasses import replace

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.edit_plan import plan_command
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.errors import NoteUnreadable, VaultMemoryError
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.write.journal import PendingWrite as WriteOp

logger = logging.getLogger(__name__)

Records = tuple[Record, ...]
"""of one note, the oldest first"""


def plan_again(run: EditCommand, op: WriteOp, known: PlanInputs, earlier: Records) -> EditPlan:
    """The plan of a write that this process did not plan itself; `earlier` are the records before the write.

    A write that waited is carried out just before a later run on the same note. Planned again with the
    record of that later run, it would seem to do something else. Raises NoteUnreadable.
    """
    before = known.bytes_of(op.expected)
    records = earlier
    # Fault (B33): a write that waited is carried out before a later command. Planned
    # from the record of that later one, it would seem to do something else.
    if op.outcome == "written":
        records = _up_to(run.planned_after, earlier)
    lookup = replace(
        known, records=lambda note: records if note == run.note else known.records(note)
    )
    try:
        return plan_command(run, before, lookup, base=known.bytes_of(op.base))
    except NoteUnreadable:
        raise  # the audit: what was done can be told once it is read
    except VaultMemoryError as error:
        logger.warning("what run %s did cannot be told: %s", run.id, error.message)
        return EditPlan(before, before)


def record_of(run: EditCommand, op: WriteOp, plan: EditPlan, known: PlanInputs) -> Record:
    """The record of a write with this plan."""
    after = plan.before if op.after == op.expected else plan.after
    # Fault (B33): the write ended without effect, and the record must not claim its
    # ops.
    if plan.changes and op.after == op.expected:
        plan = replace(plan, applied=())
    if op.outcome == "copied":
        why = f"{run.why} (it lies in a copy beside the note)".strip()
        run = replace(run, why=why)
    record = plan.record(run, after)
    # Fault (A1): another text than the planned one came into the note, by a merge or by
    # a plan on another version.
    if record.after != (op.after or ""):
        record = plan.record(run, known.bytes_of(op.after))
    return record


def _up_to(record_id: str | None, records: Records) -> Records:
    """The records from which a write was planned whose text went into the note as it was planned.

    A person may have decided otherwise while it waited. Planned from all records, it would seem not done.
    """
    if record_id is None:
        return records
    ids = [record.id for record in records]
    if record_id in ids:
        return records[: ids.index(record_id) + 1]
    return records if record_id else ()
