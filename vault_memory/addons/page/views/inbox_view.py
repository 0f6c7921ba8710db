"""Inbox: what the bot proposes, with both texts; approve and reject."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import Answer, PageView, Redirect
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.conflicts_view import row_of
from vault_memory.addons.page.views.outcome import own_path
from vault_memory.addons.page.views.record_views import record_named, turns_in
from vault_memory.errors import NoteNotFound, UsageError, VaultMemoryError
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.items import parse_text
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Proposal, proposals_of
from vault_memory.rules.edits.inbox_page import proposal_words
from vault_memory.rules.edits.op_words import reason_words
from vault_memory.rules.edits.stale_proposal import why_stale

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.search.note_reports import NoteText

INBOX = "/inbox"
MOST_OPEN = 50
MOST_CLOSED = 50
WAITS = 202
REFUSED = 409
NO_LONGER_FITS = "it no longer fits the note"
NOT_CHECKED = "no proposal is checked"

Decide = Callable[[str], "Edit"]
_REF = re.compile(r"\s*\(ref:[^()]*\)")
BY_PERSON = "a person wrote the item"
_QUESTIONS = {
    "append": "Add a line?",
    "add_heading": "Add a section?",
    "remove": "Remove a line?",
    "replace": "Change a line?",
    "archive": "Archive a line?",
}


class ProposalQuestion(NamedTuple):
    """What a proposal asks, as texts without marks."""

    words: str
    now: str
    """the line as it is; empty where one is added"""
    new: str
    """the line as it would be; empty where one is removed"""


class ProposalRow(NamedTuple):
    """One proposal."""

    id: str
    note: str
    words: str
    why: str
    ts: str
    state: str
    reason: str
    """why it is no longer open, or does not fit the note now; empty if it fits"""
    suspicious: bool
    turns: Sequence[str]
    """the ids of the turns behind it"""
    question: ProposalQuestion
    heading: str
    match: str
    line: str
    """the op, where one line is added or replaced"""


def row_of_closed(proposal: Proposal) -> ProposalRow:
    """Return a proposal as the audit has it."""
    op = proposal.op
    return ProposalRow(
        id=proposal.id,
        note=proposal.note,
        words=words_of(proposal),
        why=reason_words(_REF.sub("", proposal.why)),
        ts=proposal.ts,
        state=proposal.state,
        reason=proposal.reason,
        suspicious=proposal.suspicious,
        turns=turns_in([proposal.why, *map(str, op.values())]),
        question=question_of(proposal),
        heading=str(op.get("heading", "")),
        match=str(op.get("match", "")),
        line=str(op.get("line", "")),
    )


def words_of(proposal: Proposal) -> str:
    """Return what a person is asked, on one line."""
    return " ".join(proposal_words(proposal).split())


def question_of(proposal: Proposal) -> ProposalQuestion:
    """Return what a person decides."""
    op: Mapping[str, Any] = proposal.op
    words = _QUESTIONS.get(op.get("op", ""), "Change this?")
    if proposal.why == BY_PERSON:
        words = words.replace("?", " that you wrote?")
    if proposal.suspicious:
        words = "This reads like an order to the bot. Who said it?"
    lines = [op.get("line") or op.get("heading"), *(op.get("lines") or ())]
    new = "" if op.get("op") in ("remove", "archive") else " · ".join(map(_plain, lines))
    return ProposalQuestion(words, _plain(op.get("match")), new)


def _plain(line: object) -> str:
    text = str(line or "")
    return parse_text(text).text or text


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
    rows = [
        row_of_closed(proposal)._replace(reason=_why_unfit(viewer, proposal))
        for proposal in proposals[:MOST_OPEN]
    ]
    closed = _closed_rows(viewer)
    orders = [row for row in rows if row.suspicious]
    asks = [row for row in rows if not row.suspicious]
    chosen = next((row for row in rows if row.id == query.id), next(iter(orders + asks), None))
    data = {
        "orders": orders,
        "asks": asks,
        "copies": [row_of(viewer, copy) for copy in viewer.conflict_copies()],
        "held": viewer.held(),
        "chosen": chosen,
        "change": _change(viewer, proposals, chosen),
        "left_out": len(proposals) - len(rows),
        "waiting": viewer.waiting(),
        "decided": [row for row in closed if row.state != "stale"],
        "unfit": [row for row in closed if row.state == "stale"],
    }
    return PageView("inbox.html", "Review", data)


def _change(
    viewer: Viewer, proposals: Sequence[Proposal], chosen: ProposalRow | None
) -> dict[str, str] | None:
    """Returns what the chosen proposal would change; None where it does not fit its note."""
    if chosen is None or chosen.reason:
        return None
    [proposal] = [each for each in proposals if each.id == chosen.id]
    note = _read(viewer, proposal.note)
    before = note.text if note else ""
    outcome = apply_ops(parse(before.encode()), [dict(proposal.op)])
    after = render(outcome.doc).decode("utf-8", "replace")
    return {"revision": note.revision if note else "", "before": before, "after": after}


def _closed_rows(viewer: Viewer) -> list[ProposalRow]:
    """Returns the proposals that are not open, the newest first."""
    proposals = proposals_of(viewer.calls.log()).values()
    rows = [row_of_closed(proposal) for proposal in proposals if proposal.state != "open"]
    rows.sort(key=lambda row: row.ts, reverse=True)
    return rows[:MOST_CLOSED]


def _why_unfit(viewer: Viewer, proposal: Proposal) -> str:
    """Returns why a proposal does not fit its note; empty if it does."""
    try:
        note = _read(viewer, proposal.note)
    except VaultMemoryError as error:
        return viewer.vault.clean(error.message)
    return why_stale(proposal, parse(note.text.encode() if note else b""))


def _read(viewer: Viewer, note: str) -> "NoteText | None":
    """Returns a note; None where a proposal would be its first text."""
    with suppress(NoteNotFound):
        text: NoteText = viewer.note(note).read()
        return text
    return None


def approve(viewer: Viewer, form: DecisionFields) -> Answer:
    return _decide(viewer, form, "Approved", viewer.calls.approve)


def reject(viewer: Viewer, form: DecisionFields) -> Answer:
    return _decide(viewer, form, "Rejected", viewer.calls.reject)


def _decide(viewer: Viewer, form: DecisionFields, title: str, decide: Decide) -> Answer:
    ids = list(dict.fromkeys(form.id))
    if not ids:
        raise UsageError(NOT_CHECKED, hint="check some, or press the button below a proposal")
    by_id = {proposal.id: proposal for proposal in viewer.calls.inbox()}
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
    decided = record_named(viewer, edit.audit_id).record.proposed
    reasons = [proposal.reason for proposal in decided if proposal.reason]
    return ": ".join([NO_LONGER_FITS, *reasons[:1]])


def _outcome(title: str, steps: Sequence[DecisionStep]) -> PageView:
    decided = [step for step in steps if not step.reason]
    waiting = [step for step in steps if step.waits]
    refused = [step for step in steps if step.reason and not step.waits]
    status = 200 if decided else REFUSED
    if waiting and not decided and not refused:
        status = WAITS
    data = {"done": decided, "waiting": waiting, "refused": refused}
    return PageView("decided.html", title if decided else "Not done", data, status)
