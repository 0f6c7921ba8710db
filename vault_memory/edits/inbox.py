"""INBOX.md: what waits for a person is put on a page beside their notes, and what they decide there is carried out.

The audit is the truth: a proposal is open until a record says otherwise. The page only shows it. A line that is
missing from the page was deleted by a person only if it is known to have stood there.
"""

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from vault_memory.edits.commands import DecideProposals, ProposalDecision
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.edits.edit_result import Edit
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_record import Proposal, Record, proposals_of
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder, Note

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.edits import inbox_page, stale_proposal
else:
    inbox_page = lazy_module("vault_memory.rules.edits.inbox_page")
    stale_proposal = lazy_module("vault_memory.rules.edits.stale_proposal")

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 3.0
"""For which a page must have been left alone before it is believed: half a save looks like deleted lines"""
INBOX = "`vault-memory inbox` lists them with their ids"


class Inbox:
    """The pages of one vault."""

    def __init__(self, curator: "NoteEditor", folder: Folder, layout: Layout) -> None:
        self._curator, self._folder, self._layout = curator, folder, layout

    def proposals(self) -> tuple[Proposal, ...]:
        """All that was ever proposed, with what became of it, the oldest first."""
        return tuple(proposals_of(self._curator.trail.all()).values())

    def _open(self) -> list[Proposal]:
        return [one for one in self.proposals() if one.state == "open"]

    def pages(self) -> list[str]:
        """The pages on which something may be decided."""
        found = {self.page_of(proposal.note) for proposal in self._open()}
        return sorted(page for page in found if page)

    def notes(self) -> set[str]:
        """The notes for which something is open."""
        return {proposal.note for proposal in self._open()}

    def page_of(self, note: str) -> str:
        """The page beside a note, or that of the same person, channel or group; empty when there is none to be had."""
        place = self._layout.place(note)
        scope = place.scope if place else ""
        folder = note.rpartition("/")[0]
        while True:
            if page := self._page_in(folder, scope):
                return page
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        top = "/".join(note.split("/")[:2])
        folders = sorted(self._folder.listing(top).folders) if "/" in note else []
        return next(
            (page for below in folders if (page := self._page_in(below, scope))), ""
        )

    def show(self, record: Record) -> None:
        """Put the open proposals of a record on the page. What cannot be shown now can still be listed."""
        fresh = [one for one in record.proposed if one.state == "open"]
        if fresh:
            self._write(
                self.page_of(record.note),
                record.ts,
                lambda raw: inbox_page.add_to_inbox(raw, fresh),
            )

    def clear(self, record: Record) -> None:
        """Take what a record decided from the page; what nobody decided is struck through, with the reason."""
        self._clear(self.page_of(record.note), record.ts, record.proposed)

    def carry_out(self, page: str, now: datetime) -> bool:
        """Do what a person decided on a page; False when it was changed just now, and must be looked at again."""
        note = self._read(page)
        if (
            note is not None
            and abs(now.timestamp() - note.stat.ctime_ns / 1e9) < SETTLED_SECONDS
        ):
            return False
        waiting = self._curator.deciding()
        mine = [
            one
            for one in self._open()
            if one.id not in waiting and self.page_of(one.note) == page
        ]
        shown = [one for one in mine if self._was_shown(page, one.id, note)]
        said = inbox_page.read_inbox(note.raw if note else None, shown)
        decisions = {
            **dict.fromkeys(said.approved, "approved"),
            **dict.fromkeys(said.rejected, "rejected"),
        }
        for proposal in mine:
            if state := decisions.get(proposal.id):
                self.decide(proposal, state, now, patient=False)
            elif inbox_page.expired(
                proposal, now
            ) and self._curator.writer.clock_is_trustworthy(now):
                self.decide(
                    proposal,
                    "expired",
                    now,
                    "nobody decided within 30 days",
                    patient=False,
                )
        if not any(op.path == page for op in self._curator.writer.pending()):
            self._catch_up(
                page,
                note,
                [
                    one
                    for one in mine
                    if one not in shown and not inbox_page.expired(one, now)
                ],
                now,
            )
        return True

    def review(self, note: str, now: datetime) -> None:
        """A note changed: what can no longer be carried out on it is struck through."""
        waiting = [
            one
            for one in proposals_of(self._curator.trail.of(note)).values()
            if one.state == "open"
        ]
        if not waiting:
            return
        there = self._read(note)
        doc = parse(there.raw if there else b"")
        for proposal in waiting:
            if reason := stale_proposal.why_stale(proposal, doc):
                self.decide(proposal, "stale", now, reason, patient=False)

    def find(self, given: str) -> Proposal:
        """The one open proposal whose id begins so. Raises UnclearId."""
        waiting = {one.id: one for one in self._open()}
        found = resolve(given, waiting)
        if not found.id:
            raise UnclearId("open proposal", given, found.candidates, INBOX)
        return waiting[found.id]

    def decide(
        self,
        proposal: Proposal,
        state: str,
        now: datetime,
        reason: str = "",
        *,
        patient: bool = True,
    ) -> Edit:
        """Record a decision, and carry it out if that is what it says."""
        action = DecideProposals((ProposalDecision(proposal.id, state, reason),))
        run = self._curator.new_command(
            proposal.note, "inbox", now, action, why=proposal.why
        )
        return self._curator.run(run, now, patient=patient)

    def _page_in(self, folder: str, scope: str) -> str:
        for name in ("INBOX.md", "USER.INBOX.md"):
            page = f"{folder}/{name}" if folder else name
            place = self._layout.place(page)
            if place is not None and place.kind == "inbox" and place.scope == scope:
                return page
        return ""

    def _was_shown(self, page: str, proposal_id: str, note: Note | None) -> bool:
        wanted = proposal_id.encode()
        if note is not None and wanted in note.raw:
            return True
        snapshots = self._curator.writer.snapshots
        return any(
            wanted in (snapshots.bytes_of(one.revision) or b"")
            for one in snapshots.chain(page)
        )

    def _read(self, path: str) -> Note | None:
        try:
            return self._folder.read(path)
        except NoteNotFound:
            return None

    def _catch_up(
        self, page: str, note: Note | None, unseen: Sequence[Proposal], now: datetime
    ) -> None:
        """Show what was never shown, and clear what was decided: whoever recorded it may have died before that."""
        if unseen:
            self._write(
                page, now.isoformat(), lambda raw: inbox_page.add_to_inbox(raw, unseen)
            )
        if note is not None:
            self._clear(
                page,
                now.isoformat(),
                [one for one in self.proposals() if one.id.encode() in note.raw],
            )

    def _clear(self, page: str, ts: str, proposals: Iterable[Proposal]) -> None:
        decided = list(proposals)
        gone = [one.id for one in decided if one.state in ("approved", "rejected")]
        struck = {
            one.id: one.reason for one in decided if one.state in ("stale", "expired")
        }
        if gone or struck:
            self._write(
                page,
                ts,
                lambda raw: inbox_page.drop_from_inbox(
                    inbox_page.strike_in_inbox(raw, struck), gone
                ),
            )

    def _write(self, page: str, ts: str, change: Callable[[bytes], bytes]) -> None:
        """Change a page as any note is changed: on what a person saved meanwhile, or later when it is in use."""
        if not page:
            return
        try:
            note = self._read(page)
            before = note.raw if note else b""
            after = change(before)
            if after != before:
                self._curator.writer.write(
                    page,
                    after,
                    expected=note.revision if note else None,
                    now=datetime.fromisoformat(ts),
                    op_id=f"inbox-{secrets.token_hex(8)}",
                    merge=lambda base, ours, theirs: change(theirs),
                )
        except VaultMemoryError as error:
            logger.warning("%s does not show what waits: %s", page, error.message)
