"""One question about the end of a line, for all who ask: the bot, a night, a contradiction. Pure."""

from collections.abc import Iterable

from vault_memory.markdown.document import SectionedDoc
from vault_memory.rules.claims.content_key import content_key
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.ops import Archive, Remove, Replace, op_of
from vault_memory.rules.edits.stale_proposal import why_stale
from vault_memory.rules.facts.fact import read_fact

Line = tuple[str, str]
"""The section of a line, and what the line says without its marks"""


def one_for_each_line(
    proposed: Iterable[Proposal], previous: Iterable[Proposal], doc: SectionedDoc
) -> tuple[Proposal, ...]:
    """Returns the proposals, where an open question about a line replaces a new one about its end.

    `previous` are the proposals that were made before, `doc` is the note as it is now.
    """
    waiting: dict[Line, Proposal] = {}
    # A question about another form of the line is about to be struck through.
    fitting = (one for one in previous if one.state == "open" and not why_stale(one, doc))
    by_id: dict[str, Proposal] = {}
    for proposal in fitting:
        line = _line(proposal)
        if line is not None:
            waiting.setdefault(line, proposal)
    for proposal in proposed:
        line = _line(proposal)
        if proposal.state == "open" and line is not None:
            first = waiting.setdefault(line, proposal)
            proposal = first if _ends(proposal) else proposal
        by_id.setdefault(proposal.id, proposal)
    return tuple(by_id.values())


def _line(proposal: Proposal) -> Line | None:
    """Returns the line that a proposal changes; None for one that adds text."""
    op = op_of(proposal.op)
    if not isinstance(op, Remove | Archive | Replace):
        return None
    return op.heading, _key(op.heading, op.match)


def _ends(proposal: Proposal) -> bool:
    """Whether the line would go, or stay only as one that no longer holds."""
    op = op_of(proposal.op)
    if not isinstance(op, Replace):
        return True
    return _key(op.heading, op.line) == _key(op.heading, op.match)


def _key(heading: str, text: str) -> str:
    fact = read_fact(text, heading)
    return fact.id if fact else content_key("", text)
