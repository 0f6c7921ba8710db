"""Results of commands, for callers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import EditPlan
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.op_words import explained
from vault_memory.rules.edits.record_sentences import outcome_of


@dataclass(frozen=True, slots=True)
class AppliedOp:
    """An op that was applied, or had nothing to do."""

    IF_ANY = ("remark",)

    op: Mapping[str, object]
    outcome: str
    """applied, noop_dup or noop_no_match"""
    remark: str = ""
    """e.g. why it had nothing to do, with the next step"""


@dataclass(frozen=True, slots=True)
class RejectedOp:
    """An op that was refused."""

    IF_ANY = ("headings",)

    op: object
    reason: str
    headings: tuple[str, ...] = ()
    """with `heading_missing`: the headings of the note"""


@dataclass(frozen=True, slots=True)
class ProposedOp:
    """An op that waits for a person's decision."""

    op: Mapping[str, object]
    id: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PendingOp:
    """An op that waits until the note can be written."""

    op: Mapping[str, object]
    reason: str
    """one word"""
    id: str
    """of the future record"""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a command did to a note."""

    IF_ANY = ("from_disk",)

    note: str
    before: str | None
    """revision; None when the note did not exist"""
    after: str | None
    applied: tuple[AppliedOp, ...] = ()
    rejected: tuple[RejectedOp, ...] = ()
    proposed: tuple[ProposedOp, ...] = ()
    pending: tuple[PendingOp, ...] = ()
    audit_id: str | None = None
    """None when nothing was recorded"""
    diff: str = ""
    summary: str = ""
    """what it came to, e.g. ``Added “Likes tea”``"""
    from_disk: str = ""
    """of a save: diff of what others wrote since the text was opened, which the note keeps"""

    @property
    def changed(self) -> bool:
        """Whether the note was changed, or would be without `dry_run`."""
        return self.before != self.after


def edit_of(record: Record, *, recorded: bool) -> Edit:
    """Returns the result that a record tells; `recorded` when the audit log has the record."""
    # JSON holds the ops that it lacks a form for in another one.
    rejected: Any = record.as_json()["rejected"] if record.rejected else ()
    return Edit(
        record.note,
        record.before or None,
        record.after or None,
        tuple(
            AppliedOp(op.op, op.outcome, op.remark or explained(op.outcome, op.op))
            for op in record.applied
        ),
        tuple(
            RejectedOp(json_op["op"], refusal.reason, refusal.headings)
            for refusal, json_op in zip(record.rejected, rejected, strict=True)
        ),
        tuple(
            ProposedOp(proposal.op, proposal.id, proposal.why)
            for proposal in record.proposed
            if proposal.state == "open"
        ),
        audit_id=record.id if recorded else None,
        diff=record.diff.decode("utf-8", "replace"),
        summary=outcome_of(record),
    )


def pending_of(plan: EditPlan, command: EditCommand, reason: str, explanation: str) -> Edit:
    """Returns the result of a command whose write waits, with the reason."""
    edit = edit_of(plan.record(command, plan.after), recorded=False)
    pending = tuple(
        PendingOp(op.op, reason, command.id, explanation)
        for op in edit.applied
        if op.outcome == "applied"
    )
    idle = tuple(op for op in edit.applied if op.outcome != "applied")
    return replace(
        edit, after=edit.before, applied=idle, pending=pending, summary=f"Waits: {explanation}"
    )
