"""The proposals that a session may see, and its decisions about them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vault_memory.addons.page.decisions.proposal_rows import (
    NoteBefore,
    ProposalRow,
    note_before,
    row_of_closed,
    row_of_open,
    unread_note,
)
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.rules.edits.audit_record import proposals_of

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.versions import Waiting
    from vault_memory.rules.edits.audit_record import Proposal

MOST_OPEN = 50
MOST_CLOSED = 50


class ProposalViewer:
    """The inbox of a vault, as one session may see it."""

    def __init__(
        self, memory: VaultMemory, scopes: Sequence[str], sees: Callable[[str], bool]
    ) -> None:
        """`sees` says whether a note is in a scope of the session."""
        self._memory = memory
        self._scopes = scopes
        self._sees = sees

    def open_proposals(self) -> "list[Proposal]":
        """Return the proposals that wait for a person, the oldest first."""
        return list(self._memory.inbox(self._scopes))

    def open_rows(self, proposals: "Sequence[Proposal]") -> list[ProposalRow]:
        """Return the first proposals with what they would change."""
        notes: dict[str, NoteBefore] = {}
        rows = []
        for proposal in proposals[:MOST_OPEN]:
            note = proposal.note
            if note not in notes:
                notes[note] = self._read(note)
            rows.append(row_of_open(proposal, notes[note]))
        return rows

    def closed_rows(self, state: str) -> list[ProposalRow]:
        """Return the proposals in a state, the newest first."""
        proposals = proposals_of(self._memory.log(scopes=self._scopes)).values()
        rows = [
            row_of_closed(proposal)
            for proposal in proposals
            if proposal.state == state and self._sees(proposal.note)
        ]
        rows.sort(key=lambda row: row.ts, reverse=True)
        return rows[:MOST_CLOSED]

    def waiting(self) -> "list[Waiting]":
        """Return the writes that wait until their notes can be written."""
        writes = self._memory.edits.waiting()
        return [write for write in writes if self._sees(write.note)]

    def approve(self, proposal_id: str) -> "Edit":
        """Carry out a proposal. Raises UnclearId."""
        return self._memory.approve(proposal_id, scopes=self._scopes)

    def reject(self, proposal_id: str) -> "Edit":
        """Drop a proposal. Raises UnclearId."""
        return self._memory.reject(proposal_id, scopes=self._scopes)

    def _read(self, note: str) -> NoteBefore:
        try:
            return note_before(self._memory.read(note).text)
        except NoteNotFound:
            # A proposal may be the first text of its note.
            return note_before("")
        except VaultMemoryError as error:
            return unread_note(without_paths(error.message, folders_of(self._memory)))
