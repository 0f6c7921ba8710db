"""Proposals as the page shows them: what they change, why, and whether they still fit the note."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.op_words import as_question
from vault_memory.rules.edits.ops import as_json, op_of
from vault_memory.rules.edits.stale_proposal import why_stale

MOST_TURNS = 20
_CITED = re.compile(r"\bref:([^\s,;)]+)")


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
    turns: tuple[str, ...]
    """the ids of the turns behind it"""
    before: str = ""
    """text of the note"""
    after: str = ""
    """the same with the proposed change"""


class NoteBefore(NamedTuple):
    """A note to which proposals are compared."""

    text: str
    doc: SectionedDoc
    trouble: str = ""
    """why it cannot be read"""


def note_before(text: str) -> NoteBefore:
    """Return a note that was read."""
    return NoteBefore(text, parse(text.encode()))


def unread_note(trouble: str) -> NoteBefore:
    """Return a note that cannot be read."""
    return NoteBefore("", parse(b""), trouble)


def row_of_open(proposal: Proposal, note: NoteBefore) -> ProposalRow:
    """Return an open proposal with what it would change."""
    reason = note.trouble or why_stale(proposal, note.doc)
    row = row_of_closed(proposal)._replace(reason=reason)
    if reason:
        return row
    outcome = apply_ops(note.doc, [dict(proposal.op)])
    after = render(outcome.doc).decode("utf-8", "replace")
    return row._replace(before=note.text, after=after)


def row_of_closed(proposal: Proposal) -> ProposalRow:
    """Return a proposal without what it would change."""
    return ProposalRow(
        id=proposal.id,
        note=proposal.note,
        words=words_of(proposal),
        why=proposal.why,
        ts=proposal.ts,
        state=proposal.state,
        reason=proposal.reason,
        suspicious=proposal.suspicious,
        turns=tuple(dict.fromkeys(_turns(proposal)))[:MOST_TURNS],
    )


def words_of(proposal: Proposal) -> str:
    """Return what a person is asked, on one line."""
    note_name = proposal.note.rpartition("/")[2]
    op = op_of(dict(proposal.op))
    if op is None:
        return f"look at {note_name}"
    return " ".join(as_question(as_json(op), note_name).split())


def _turns(proposal: Proposal) -> Iterator[str]:
    yield from _CITED.findall(proposal.why)
    for text in _texts(proposal.op):
        yield from _CITED.findall(text)


def _texts(op: Mapping[str, object]) -> Iterator[str]:
    for value in op.values():
        lines = value if isinstance(value, list) else [value]
        yield from (line for line in lines if isinstance(line, str))
