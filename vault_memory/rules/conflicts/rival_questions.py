"""The questions about two lines that contradict each other: an answer to one settles the other. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from vault_memory.rules.claims.content_key import content_key
from vault_memory.rules.conflicts.item_marks import with_marks
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.ops import Replace
from vault_memory.rules.facts.fact import read_fact, unclear_mark
from vault_memory.rules.paths.layout import Layout

SETTLED = "the line that it contradicts lost"
"""Why such a question is closed"""


def rivals_of(approved: Proposal, proposals: Iterable[Proposal], layout: Layout) -> list[Proposal]:
    """Returns the proposals about the lines that the line of an approved one contradicts."""
    id_ = _line_id(approved, layout)
    rival_id = unclear_mark(_line(approved))
    if not id_:
        return []
    return [
        proposal
        for proposal in proposals
        if proposal.id != approved.id
        if unclear_mark(_line(proposal)) == id_
        or (rival_id and _line_id(proposal, layout) == rival_id)
    ]


def unmarked(proposal: Proposal) -> Replace | None:
    """Returns the op that takes the mark off the line of a proposal; None without a mark."""
    line = _line(proposal)
    if not unclear_mark(line):
        return None
    heading = str(proposal.op.get("heading", ""))
    fact = read_fact(line, heading)
    text = with_marks(line, unclear=None)
    if fact is not None and fact.unclear:
        text = replace(fact, unclear="").line()
    return Replace(heading, line, text, exact=True)


def _line(proposal: Proposal) -> str:
    return str(proposal.op.get("match", ""))


def _line_id(proposal: Proposal, layout: Layout) -> str:
    """Returns the id of the line that a proposal is about, as marks name it."""
    place = layout.place(proposal.note)
    line = _line(proposal)
    if place is None or not line:
        return ""
    if place.kind == "facts":
        fact = read_fact(line, str(proposal.op.get("heading", "")), place.scope)
        return fact.id if fact else ""
    return content_key(place.scope, line)
