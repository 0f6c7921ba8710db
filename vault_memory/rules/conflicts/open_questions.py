"""Questions about a line: one about its end for all who ask, and one for a contradiction. Pure.

Of two lines that contradict each other, an answer to one settles the other. One question about the
end of a line serves the bot, a night and a contradiction.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import read_metadata
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.ops import Archive, Remove, Replace, op_of
from vault_memory.rules.edits.stale_proposal import why_stale
from vault_memory.rules.facts.fact import read_fact, unclear_mark
from vault_memory.rules.paths.layout import Layout

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
        line = _line_ended(proposal)
        if line is not None:
            waiting.setdefault(line, proposal)
    for proposal in proposed:
        line = _line_ended(proposal)
        if proposal.state == "open" and line is not None:
            first = waiting.setdefault(line, proposal)
            proposal = first if _ends(proposal) else proposal
        by_id.setdefault(proposal.id, proposal)
    return tuple(by_id.values())


def _line_ended(proposal: Proposal) -> Line | None:
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


_WORDS = re.compile(r"(?s)(.*?)((?:\s+\^[A-Za-z0-9-]+)?)")
"""The words of an item, and its block id"""
_TRAILING = re.compile(r"(?:^|[ \t])\(([^()]*)\)$")


def with_marks(text: str, **marks: str | None) -> str:
    """Returns an item's text with these marks; None removes one.

    The other marks keep their order. Brackets that are a person's words stay words.
    """
    match = _WORDS.fullmatch(text)
    assert match is not None, "a block id may be absent"
    words, suffix = match.groups()
    trailing = _TRAILING.search(words)
    parts: list[str] = []
    if trailing and read_metadata(trailing[1])[0]:
        parts = list(map(str.strip, trailing[1].split(",")))
        words = words[: trailing.start()].rstrip()
    kept = [part for part in parts if part.partition(":")[0] not in marks]
    new = [f"{key}:{value}" for key, value in marks.items() if value is not None]
    metadata = ", ".join((*kept, *new))
    return f"{words} ({metadata}){suffix}" if metadata else words + suffix
