"""Plans decisions on proposals: approved ops are applied if they still fit, and every decision is recorded."""

from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.edits.commands import EditCommand, ProposalDecision
from vault_memory.edits.plans.plan import EditPlan, PlanInputs, any_applied
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.rules.edits.audit_record import Proposal, proposals_of
from vault_memory.rules.edits.ops import Applied

if TYPE_CHECKING:
    from vault_memory.rules.edits import stale_proposal
else:
    stale_proposal = lazy_module("vault_memory.rules.edits.stale_proposal")


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
