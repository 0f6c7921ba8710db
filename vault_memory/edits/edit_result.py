"""What became of a run, for whoever asked for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import Plan
from vault_memory.rules.edits.audit_record import Record, summary


@dataclass(frozen=True, slots=True)
class AppliedOp:
    """An op that was carried out, or had nothing to do."""

    op: Mapping[str, object]
    outcome: str
    """applied, noop_dup or noop_no_match"""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class RejectedOp:
    """An op that was not carried out."""

    op: object
    reason: str
    headings: tuple[str, ...] = ()
    """with `heading_missing`: those that there are"""


@dataclass(frozen=True, slots=True)
class ProposedOp:
    """An op that waits for a person's decision."""

    op: Mapping[str, object]
    id: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PendingOp:
    """An op that is kept and will be carried out when the note can be written."""

    op: Mapping[str, object]
    reason: str
    """one word"""
    id: str
    """that the record will have"""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a run did to a note."""

    note: str
    before: str | None
    """the revision, None when there was no note"""
    after: str | None
    applied: tuple[AppliedOp, ...] = ()
    rejected: tuple[RejectedOp, ...] = ()
    proposed: tuple[ProposedOp, ...] = ()
    pending: tuple[PendingOp, ...] = ()
    audit_id: str | None = None
    """None when nothing was recorded"""
    diff: str = ""
    summary: str = ""
    """one line, e.g. ``USER.md curated: +1 appended``"""

    @property
    def changed(self) -> bool:
        """Whether the note was, or with a dry run would be, changed."""
        return self.before != self.after


def edit_of(record: Record, *, recorded: bool) -> Edit:
    """From a record, which was added to the audit or, with a dry run, not."""
    entry: Any = record.as_json()
    return Edit(
        record.note,
        record.before or None,
        record.after or None,
        tuple(AppliedOp(done.op, done.outcome, done.remark) for done in record.applied),
        tuple(
            RejectedOp(said["op"], refused.reason, refused.headings)
            for refused, said in zip(record.rejected, entry["rejected"], strict=True)
        ),
        tuple(
            ProposedOp(one.op, one.id, one.why)
            for one in record.proposed
            if one.state == "open"
        ),
        audit_id=record.id if recorded else None,
        diff=record.diff.decode("utf-8", "replace"),
        summary=summary(
            record.note,
            record if record.source != "inbox" else replace(record, proposed=()),
        ),
    )


def pending_of(plan: Plan, run: EditCommand, reason: str, explanation: str) -> Edit:
    """Of a run whose write waits: what it is to do, with the reason."""
    edit = edit_of(plan.record(run, plan.after), recorded=False)
    wait = tuple(
        PendingOp(done.op, reason, run.id, explanation)
        for done in edit.applied
        if done.outcome == "applied"
    )
    idle = tuple(done for done in edit.applied if done.outcome != "applied")
    summary = f"{edit.note.rpartition('/')[2]} waits: {explanation}"
    return replace(edit, after=edit.before, applied=idle, pending=wait, summary=summary)
