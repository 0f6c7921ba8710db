"""Plans a command on the present text of its note.

The editor plans a command up to three times: before the write, on a text that a person saved
meanwhile, and after a crash for the record that was not yet written. The same function plans each
time, so the record always shows what was done.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from vault_memory.edits.commands import (
    FORGET,
    ApplyOps,
    ChangeFacts,
    DecideProposals,
    EditCommand,
    EditText,
    MergeCopy,
    MoveSections,
    OpForPerson,
    ProposalDecision,
    RecordDuplicates,
    RedactText,
    RestoreLines,
    RestoreVersion,
    RetireNote,
    SaveText,
    UndoRecord,
)
from vault_memory.edits.plans import (
    edit_text,
    fact_edits,
    merge_copy,
    move_sections,
    save_text,
    undo_record,
)
from vault_memory.edits.plans.plan import (
    EditPlan,
    PlanInputs,
    RedactionPlan,
    any_applied,
    apply_by_policy,
)
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.conflicts import open_questions
from vault_memory.rules.edits import rebase, stale_proposal
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    RecordedOp,
    known_proposals,
    proposals_of,
    propose,
)
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Applied,
    Rejected,
    as_json,
    new_text,
    op_of,
)
from vault_memory.rules.edits.ownership import DELETED, replay
from vault_memory.rules.edits.skipped_duplicates import skipped_op


def plan_command(
    command: EditCommand, before: bytes | None, inputs: PlanInputs, *, base: bytes | None = None
) -> EditPlan:
    """Returns what the command does to a note of these bytes.

    `base` is the text that the ops were made for, if it is another. Raises NotUndoable, SaveConflict, NoteGone.
    """
    plan = _plan(command, before, inputs, base)
    # What a decision closes is no question.
    if not plan.proposed or isinstance(command.action, DecideProposals):
        return plan
    previous = known_proposals(inputs.records(command.note), command.note)
    if not previous and len(plan.proposed) == 1:
        return plan
    doc = parse(plan.after or b"")
    return replace(
        plan, proposed=open_questions.one_for_each_line(plan.proposed, previous.values(), doc)
    )


def _plan(
    command: EditCommand, before: bytes | None, inputs: PlanInputs, base: bytes | None
) -> EditPlan:
    match command.action:
        case ApplyOps() as action:
            return _plan_ops(command, action, before, inputs, base)
        case EditText(edit):
            return edit_text.plan_text_edit(command, edit, before, inputs)
        case SaveText() as action:
            return save_text.plan_save(command, action, before)
        case RestoreVersion(revision):
            return _plan_restore(revision, before, inputs)
        case RestoreLines() as action:
            return undo_record.plan_lost_lines(command, action, before, inputs)
        case MergeCopy() as action:
            return merge_copy.plan_merge(action, before, inputs)
        case MoveSections(moves):
            return move_sections.plan_moves(command, moves, before)
        case ChangeFacts(wishes):
            return fact_edits.plan_facts(command, wishes, before, inputs)
        case _ as action:
            return _plan_of_records(command, action, before, inputs)


def _plan_of_records(
    command: EditCommand,
    action: UndoRecord | DecideProposals | RedactText | RecordDuplicates | RetireNote,
    before: bytes | None,
    inputs: PlanInputs,
) -> EditPlan:
    """Returns what an action does that comes from the audit log, or only goes into it."""
    match action:
        case UndoRecord(record_id):
            return undo_record.plan_undo(command, record_id, before, inputs)
        case DecideProposals(decisions):
            return plan_decisions(command, decisions, before, inputs)
        case RedactText(count):
            op = RecordedOp({"op": FORGET}, "applied")
            return RedactionPlan(before, before, (op,) * count)
        case RecordDuplicates(skips):
            return EditPlan(before, before, tuple(map(skipped_op, skips)))
        case RetireNote():
            ops = () if before is None else (RecordedOp({"op": "retire"}, "applied"),)
            return EditPlan(before, None, ops)
        case _ as unknown:
            assert_never(unknown)


def _plan_ops(
    command: EditCommand,
    action: ApplyOps,
    before: bytes | None,
    inputs: PlanInputs,
    base: bytes | None,
) -> EditPlan:
    ops = action.ops
    conflicts: tuple[Proposal, ...] = ()
    if base is not None and base != before:
        newer = parse(before or b"")
        owners = replay(inputs.records(command.note))
        rebased = rebase.rebase_ops(
            ops,
            parse(base),
            newer,
            command.note,
            by_bot=command.source in BOT_SOURCES,
            of_bot=owners.bots_among(items_of(newer)),
        )
        ops, conflicts = rebased.ops, rebased.proposed
    deleted: tuple[Rejected, ...] = ()
    if command.spoken is not None:
        ops, deleted = refuse_deleted(command, before, ops, inputs)
    outcome, proposed = apply_by_policy(command, before, ops, inputs)
    after = render(outcome.doc) if outcome.has_applied else before
    proposals = (*conflicts, *proposed)
    rejected = (*deleted, *outcome.rejected)
    plan = EditPlan(before, after, outcome.applied, rejected, proposals)
    if not action.asks:
        return plan
    return _with_questions(plan, command, action.asks, inputs)


def _with_questions(
    plan: EditPlan, command: EditCommand, asks: tuple[OpForPerson, ...], inputs: PlanInputs
) -> EditPlan:
    """Adds the proposals that were never made before."""
    previous = known_proposals(inputs.records(command.note), command.note)
    proposals = [propose(command.note, ask.op, ask.why) for ask in asks]
    new = (proposal for proposal in proposals if proposal.id not in previous)
    return replace(plan, proposed=(*plan.proposed, *new))


def _plan_restore(revision: str, before: bytes | None, inputs: PlanInputs) -> EditPlan:
    after = inputs.bytes_of(revision)
    outcome = "noop_dup" if after == before else "applied"
    op = RecordedOp({"op": "restore", "revision": revision}, outcome)
    return EditPlan(before, after, (op,))


# --- Refusals ---


def refuse_deleted(
    command: EditCommand, before: bytes | None, ops: Iterable[object], inputs: PlanInputs
) -> tuple[tuple[object, ...], tuple[Rejected, ...]]:
    """Returns the ops of a command that may be applied, and those that say again what a person deleted."""
    is_deleted = inputs.is_deleted(command, before)
    allowed: list[object] = []
    refused: list[Rejected] = []
    missing: set[str] = set()
    for value in ops:
        op = op_of(value)
        text = None if op is None else new_text(op)
        if text and any(is_deleted(text.heading, line) for line in text.lines):
            refused.append(Rejected(value, DELETED))
            if isinstance(op, AddHeading):
                missing.add(op.heading)
            continue
        # Fault: the other lines of a new section would be lost with its first one.
        if isinstance(op, Append) and op.heading in missing:
            missing.remove(op.heading)
            value = as_json(AddHeading(op.heading, (op.line,)))
        allowed.append(value)
    return tuple(allowed), tuple(refused)


# --- Decisions on proposals ---

# Plans decisions on proposals: approved ops are applied if they still fit, and every decision
# is recorded.


def plan_decisions(
    command: EditCommand,
    decisions: tuple[ProposalDecision, ...],
    before: bytes | None,
    inputs: PlanInputs,
) -> EditPlan:
    """Returns the plan. A decision on a proposal that is not open has no effect."""
    proposals = proposals_of(inputs.records(command.note)).values()
    open_proposals = {proposal.id: proposal for proposal in proposals if proposal.state == "open"}
    doc = parse(before or b"")
    applied: tuple[Applied, ...] = ()
    decided: list[Proposal] = []
    for decision in decisions:
        proposal = open_proposals.pop(decision.proposal_id, None)
        # Fault (B48): a decision that is carried out again after a crash must not apply
        # its op twice.
        if proposal is None:
            continue
        state, reason = decision.state, decision.reason
        if state == "approved":
            stale, doc, new_ops = _approve(proposal, doc)
            applied += new_ops
            if stale:
                state, reason = "stale", stale
        decided.append(replace(proposal, state=state, reason=reason))
    after = render(doc) if any_applied(applied) else before
    return EditPlan(before, after, applied, (), tuple(decided))


def _approve(
    proposal: Proposal, doc: SectionedDoc
) -> tuple[str, SectionedDoc, tuple[Applied, ...]]:
    """Applies the proposed op. Returns why it is stale, or an empty string; then the text and the applied ops."""
    outcome = stale_proposal.apply_proposed(proposal, doc)
    stale = stale_proposal.why_stale(proposal, doc)
    # The user may have made the proposed change by hand before approving it.
    is_duplicate = any(op.outcome == "noop_dup" for op in outcome.applied)
    if stale and not is_duplicate:
        return stale, doc, ()
    return "", outcome.doc, outcome.applied
