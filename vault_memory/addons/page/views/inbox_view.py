"""Inbox: what the bot proposes, with both texts; approve and reject."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import Answer, PageView, Redirect
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.decision_viewers import ProposalRow, words_of
from vault_memory.addons.page.views.conflicts_view import row_of
from vault_memory.addons.page.views.outcome import own_path
from vault_memory.errors import UsageError, VaultMemoryError

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Proposal

INBOX = "/inbox"
WAITS = 202
REFUSED = 409
NO_LONGER_FITS = "it no longer fits the note"
NOT_CHECKED = "no proposal is checked"

Decide = Callable[[str], "Edit"]


class InboxFields(msgspec.Struct):
    """The fields of `/inbox`."""

    id: str = ""
    """the proposal that is shown beside the list"""


class DecisionFields(msgspec.Struct):
    """The form of Approve and Reject."""

    id: tuple[str, ...] = ()
    to: str = INBOX


class DecisionStep(NamedTuple):
    """A decision about one proposal, and what it came to."""

    words: str
    note: str
    record_id: str = ""
    reason: str = ""
    """why it was not done; empty if it was"""
    waits: bool = False
    """whether it is done later"""
    can_undo: bool = False


def show(viewer: Viewer, query: InboxFields) -> PageView:
    proposals = viewer.open_proposals()
    rows = viewer.proposals.open_rows(proposals)
    closed = viewer.proposals.closed_rows()
    orders = [row for row in rows if row.suspicious]
    asks = [row for row in rows if not row.suspicious]
    chosen = next((row for row in rows if row.id == query.id), next(iter(orders + asks), None))
    data = {
        "orders": orders,
        "asks": asks,
        "copies": [row_of(viewer, copy) for copy in viewer.conflict_copies()],
        "held": viewer.facts.held(viewer.scopes),
        "chosen": chosen,
        "change": _change(viewer, proposals, chosen),
        "left_out": len(proposals) - len(rows),
        "waiting": viewer.waiting(),
        "decided": [row for row in closed if row.state != "stale"],
        "unfit": [row for row in closed if row.state == "stale"],
    }
    return PageView("inbox.html", "Review", data)


def _change(
    viewer: Viewer, proposals: "list[Proposal]", chosen: ProposalRow | None
) -> dict[str, str] | None:
    """Returns what the chosen proposal would change; None where it does not fit its note."""
    if chosen is None or chosen.reason:
        return None
    [proposal] = [each for each in proposals if each.id == chosen.id]
    return viewer.proposals.change_of(proposal)


def approve(viewer: Viewer, form: DecisionFields) -> Answer:
    return _decide(viewer, form, "Approved", viewer.calls.approve)


def reject(viewer: Viewer, form: DecisionFields) -> Answer:
    return _decide(viewer, form, "Rejected", viewer.calls.reject)


def _decide(viewer: Viewer, form: DecisionFields, title: str, decide: Decide) -> Answer:
    ids = list(dict.fromkeys(form.id))
    if not ids:
        raise UsageError(NOT_CHECKED, hint="check some, or press the button below a proposal")
    by_id = {proposal.id: proposal for proposal in viewer.proposals.open_proposals()}
    steps = []
    for proposal_id in ids:
        proposal = by_id.get(proposal_id)
        try:
            step = _step(viewer, proposal, decide(proposal_id), title)
        except VaultMemoryError as error:
            # What is no open proposal of the session is answered as any absent id.
            if len(ids) == 1:
                raise
            # One proposal that is gone must not hide what became of the others.
            step = _failed(proposal, proposal_id, viewer.reason(error))
        steps.append(step)
    if len(steps) == 1 and not steps[0].reason:
        return Redirect(own_path(form.to), steps[0].record_id)
    return _outcome(title, steps)


def _failed(proposal: "Proposal | None", proposal_id: str, reason: str) -> DecisionStep:
    if proposal is None:
        return DecisionStep(proposal_id, "", reason=reason)
    return DecisionStep(words_of(proposal), proposal.note, reason=reason)


def _step(viewer: Viewer, proposal: "Proposal | None", edit: "Edit", title: str) -> DecisionStep:
    step = DecisionStep(
        words_of(proposal) if proposal else edit.summary,
        edit.note,
        edit.audit_id or "",
        can_undo=edit.changed,
    )
    if edit.pending:
        pending = edit.pending[0]
        reason = f"it waits: {pending.explanation or pending.reason}"
        return step._replace(reason=reason, waits=True)
    # Fault: the note was changed after the person saw the proposal. Nothing was written.
    if title == "Approved" and not edit.applied:
        return step._replace(reason=_why_stale(viewer, edit))
    return step


def _why_stale(viewer: Viewer, edit: "Edit") -> str:
    if not edit.audit_id:
        return NO_LONGER_FITS
    decided = viewer.records.find(edit.audit_id).proposed
    reasons = [proposal.reason for proposal in decided if proposal.reason]
    return ": ".join([NO_LONGER_FITS, *reasons[:1]])


def _outcome(title: str, steps: Sequence[DecisionStep]) -> PageView:
    done = [step for step in steps if not step.reason]
    waiting = [step for step in steps if step.waits]
    refused = [step for step in steps if step.reason and not step.waits]
    status = 200 if done else REFUSED
    if waiting and not done and not refused:
        status = WAITS
    data = {"done": done, "waiting": waiting, "refused": refused}
    return PageView("decided.html", title if done else "Not done", data, status)
