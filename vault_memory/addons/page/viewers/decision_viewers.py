"""The proposals, conflict copies and deleted notes of a session, and its decisions about them."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.addons.page.viewers.record_viewer import turns_in
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.items import parse_text
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Proposal, proposals_of
from vault_memory.rules.edits.inbox_page import proposal_words
from vault_memory.rules.edits.op_words import reason_words
from vault_memory.rules.edits.stale_proposal import why_stale

if TYPE_CHECKING:
    from vault_memory.search.note_reports import NoteText


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


MOST_OPEN = 50
MOST_CLOSED = 50


class ProposalViewer:
    """The inbox of a vault, as one session may see it."""

    def __init__(
        self, memory: VaultMemory, scopes: Sequence[str], sees: Callable[[str], str]
    ) -> None:
        """`sees` returns the scope of a note; empty for one that the session does not see."""
        self._memory = memory
        self._scopes = scopes
        self._sees = sees

    def open_proposals(self) -> "list[Proposal]":
        """Return the proposals that wait for a person, the oldest first."""
        return list(self._memory.inbox(self._scopes))

    def open_rows(self, proposals: "Sequence[Proposal]") -> list[ProposalRow]:
        """Return the first proposals, each with the reason if it does not fit its note."""
        return [
            row_of_closed(proposal)._replace(reason=self._why_unfit(proposal))
            for proposal in proposals[:MOST_OPEN]
        ]

    def closed_rows(self) -> list[ProposalRow]:
        """Return the proposals that are not open, the newest first."""
        proposals = proposals_of(self._memory.log(scopes=self._scopes)).values()
        rows = [
            row_of_closed(proposal)
            for proposal in proposals
            if proposal.state != "open" and self._sees(proposal.note)
        ]
        rows.sort(key=lambda row: row.ts, reverse=True)
        return rows[:MOST_CLOSED]

    def change_of(self, proposal: Proposal) -> dict[str, str]:
        """Return the note of a proposal that fits it, and the same after the change."""
        note = self._read(proposal.note)
        before = note.text if note else ""
        outcome = apply_ops(parse(before.encode()), [dict(proposal.op)])
        after = render(outcome.doc).decode("utf-8", "replace")
        return {"revision": note.revision if note else "", "before": before, "after": after}

    def _why_unfit(self, proposal: Proposal) -> str:
        try:
            note = self._read(proposal.note)
        except VaultMemoryError as error:
            return without_paths(error.message, folders_of(self._memory))
        return why_stale(proposal, parse(note.text.encode() if note else b""))

    def _read(self, note: str) -> "NoteText | None":
        """Return a note; None where a proposal would be its first text."""
        with suppress(NoteNotFound):
            return self._memory.read(note)
        return None
