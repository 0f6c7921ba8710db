"""Detects proposals that no longer fit the note, so that nobody approves an outdated op."""

import re
from collections.abc import Collection
from datetime import date

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import items_named, items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.op_target import is_complete
from vault_memory.rules.edits.ops import AddHeading, Append, ItemOp, Outcome, Remove, Replace, op_of
from vault_memory.rules.edits.ownership import texts_of
from vault_memory.rules.edits.stale_save import WHY as NO_LONGER_THERE
from vault_memory.rules.facts.fact import Fact, folded_facts, unclear_mark
from vault_memory.rules.facts.fact_page import ANOTHER_VALUE

_STALE = {
    "noop_dup": "it is there already",
    "noop_no_match": "the item was changed or is gone",
    "multiple_matches": "several items say this now",
    "heading_missing": "the section is gone",
    "several_headings": "several sections have this name now",
}

_RIVAL = re.compile(re.escape(ANOTHER_VALUE).replace(r"\{\}", r"(\w+)"))
_LATER_LINE = "a later line of yours holds"
_RIVAL_GONE = "the other value is gone or has ended"


def why_settled(proposal: Proposal, facts: Collection[Fact]) -> str:
    """Returns why a question about two facts is settled; ``""`` while both hold.

    `facts` are those of the page; empty for another note. The question names the other fact in
    its reason or in a mark.
    """
    reason = _RIVAL.fullmatch(proposal.why)
    marked = unclear_mark(str(proposal.op.get("match", "")))
    rival = marked or (reason[1] if reason else "")
    if not rival or not facts:
        return ""
    open_ids = {fact.id for fact in facts if not fact.struck}
    return "" if rival in open_ids else _RIVAL_GONE


def why_settled_by_hand(
    proposal: Proposal, facts: Collection[Fact], by_hand: Collection[Fact], day: date
) -> str:
    """Returns why no fact needs to end: `facts` shows a line in its place that a person wrote.

    `by_hand` are the facts that a person wrote.
    """
    op = op_of(proposal.op)
    if not isinstance(op, Remove | Replace):
        return ""
    ended = {fact.id for fact in folded_facts(facts, day) if fact.struck}
    replaced = {
        fact.key
        for fact in facts
        if fact.id in ended and not fact.struck and fact.subject == op.heading
        if folded_line(fact.text) == folded_line(op.match)
    }
    holding = {fact.key for fact in by_hand if fact.id not in ended}
    return _LATER_LINE if replaced & holding else ""


def why_stale(proposal: Proposal, doc: SectionedDoc) -> str:
    """Returns why a proposal no longer fits the note, or ``""`` when it fits."""
    outcome = apply_proposed(proposal, doc)
    if outcome.rejected:
        reason = outcome.rejected[0].reason
        return _STALE.get(reason, f"it does not fit any more ({reason})")
    # Of a section that has appeared meanwhile, one line may be new and another not.
    changes = [applied for applied in outcome.applied if applied.outcome == "applied"]
    applied = (*changes, *outcome.applied)[0]
    # A person has added to the item since: the match still finds it, but it says more now.
    if (
        applied.outcome == "applied"
        and isinstance(applied.op, ItemOp)
        and not any(is_complete(applied.op, item) for item in items_named(doc, applied.op.heading))
    ):
        return _STALE["noop_no_match"]
    if proposal.why == NO_LONGER_THERE:
        texts = {item.key[1] for item in items_of(doc)}
        if texts_of(proposal.op) <= texts:
            return _STALE["noop_dup"]
    return _STALE.get(applied.outcome, "")


def apply_proposed(proposal: Proposal, doc: SectionedDoc) -> Outcome:
    """Applies the proposed op; lines for a section that has appeared since are appended to it."""
    outcome = apply_ops(doc, [dict(proposal.op)])
    op = op_of(proposal.op)
    reasons = [refusal.reason for refusal in outcome.rejected]
    # Fault: a person who makes the section would lose the lines that were asked for.
    if isinstance(op, AddHeading) and reasons == ["heading_exists"]:
        return apply_ops(doc, [Append(op.heading, line) for line in op.lines])
    return outcome
