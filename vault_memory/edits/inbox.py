"""INBOX pages: shows open proposals beside the notes of a person, and carries out what the person decides there.

The audit log is the truth: a proposal is open until a record says otherwise, and the page only shows it. A line that is
missing on the page was deleted by a person only if it is certain that the page had it before.
"""

import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from vault_memory.edits.audit_log import AuditLog, only_match
from vault_memory.edits.commands import (
    ApplyOps,
    DecideProposals,
    EditAction,
    EditCommand,
    ProposalDecision,
)
from vault_memory.edits.edit_result import Edit
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.markdown.document import parse
from vault_memory.rules.conflicts import open_questions
from vault_memory.rules.edits import inbox_page, stale_proposal
from vault_memory.rules.edits.audit_record import Proposal, Record, proposals_of
from vault_memory.rules.edits.ops import as_json
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.facts import fact as fact_rules
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder, Note
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

if TYPE_CHECKING:
    from vault_memory.edits.audit.scope_filter import ScopeFilter
    from vault_memory.rules.facts.fact import Fact

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 3.0
"""A page must be unchanged for this long before it counts: in half a save, lines seem to be deleted"""
INBOX = "`vault-memory inbox` lists them with their ids"
PAGE_NAMES = ("INBOX.md", "USER.INBOX.md")
EXPIRED = "nobody decided within 30 days"


RunAction = Callable[[str, str, datetime, EditAction, str, bool], Edit]
"""Carries out an action on a note, for a source and a reason; perhaps it waits while the note is in use"""


class Inbox:
    """The INBOX pages of one vault."""

    def __init__(
        self,
        folder: Folder,
        layout: Layout,
        trail: AuditLog,
        writer: Callable[[], Writer],
        run_action: RunAction,
    ) -> None:
        self._folder = folder
        self._layout = layout
        self._trail = trail
        self._writer = writer
        self._run_action = run_action

    def proposals(self, chosen: "ScopeFilter | None" = None) -> tuple[Proposal, ...]:
        """Returns all proposals with their states, the oldest first; only those of some scopes."""
        proposals = proposals_of(self._trail.all(chosen)).values()
        # Fault: a person may have moved an audit file. Its proposals name another note.
        return tuple(
            proposal for proposal in proposals if chosen is None or chosen.has_note(proposal.note)
        )

    def pages(self) -> list[str]:
        """Returns the pages on which a person may decide something."""
        pages = {self.page_of(proposal.note) for proposal in self.open_proposals()}
        return sorted(page for page in pages if page)

    def notes(self) -> set[str]:
        """Returns the notes that have an open proposal."""
        return {proposal.note for proposal in self.open_proposals()}

    def page_of(self, note: str) -> str:
        """Returns the page beside a note, or that of the same scope; empty where the layout has none."""
        place = self._layout.place(note)
        scope = place.scope if place else ""
        for folder in self._folders_above(note):
            page = self._page_in(folder, scope)
            if page:
                return page
        if "/" not in note:
            return ""
        top = "/".join(note.split("/")[:2])
        for nested_folder in sorted(self._folder.listing(top).folders):
            page = self._page_in(nested_folder, scope)
            if page:
                return page
        return ""

    def show(self, record: Record) -> None:
        """Adds the open proposals of a record to the page. Where that fails, `inbox` still lists them."""
        new = [proposal for proposal in record.proposed if proposal.state == "open"]
        if new:
            page = self.page_of(record.note)
            self._write(page, record.ts, lambda raw: inbox_page.add_to_inbox(raw, new))

    def clear(self, record: Record) -> None:
        """Removes from the page what a record decided; what no person decided is struck through, with the reason."""
        if record.proposed:
            self._remove_decided(self.page_of(record.note), record.ts, record.proposed)

    def carry_out(self, page: str, now: datetime) -> bool:
        """Carries out what a person decided on a page. False when it was saved just now: call again later."""
        note = self._read(page)
        # Fault (A3): in half a save, lines seem to be deleted. Each would count as a
        # rejection.
        # Fault (B50): after the clock was set back, the page seems to come from the future.
        # It must not wait for that moment.
        if note and abs(now.timestamp() - note.stat.ctime_ns / 1e9) < SETTLED_SECONDS:
            return False
        proposals = self._undecided_on(page)
        shown = [proposal for proposal in proposals if self._was_shown(page, proposal.id, note)]
        self._decide_by_page(note, proposals, shown, now)
        pending = self._writer().pending()
        # Fault: a waiting write of this page shows or removes lines itself. A second
        # one would be planned on a page that is about to change.
        if any(write.path == page for write in pending):
            return True
        unseen = [
            proposal
            for proposal in proposals
            if proposal not in shown and not inbox_page.expired(proposal, now)
        ]
        self._catch_up(page, note, unseen, now)
        return True

    def is_decided(self, page: str) -> bool:
        """Returns whether a person decided something on a page."""
        note = self._read(page)
        proposals = self._undecided_on(page)
        on_page = [item for item in proposals if self._was_shown(page, item.id, note)]
        marks = inbox_page.read_inbox(note.raw if note else None, on_page)
        return bool(marks.approved or marks.rejected)

    def review(self, note: str, now: datetime) -> None:
        """Strikes through the open proposals that no longer fit a changed note."""
        proposals = proposals_of(self._trail.of(note)).values()
        waiting = [proposal for proposal in proposals if proposal.state == "open"]
        if not waiting:
            return
        current = self._read(note)
        doc = parse(current.raw if current else b"")
        place = self._layout.place(note)
        facts: list[Fact] = []
        by_hand: list[Fact] = []
        if place and place.kind == "facts":
            facts = fact_rules.read_facts(doc, place.scope)
            bots = replay(self._trail.of(note)).bots_items(doc)
            written = {(item.heading, item.text) for item in bots}
            by_hand = [fact for fact in facts if (fact.subject, fact.text) not in written]
        for proposal in waiting:
            # Fault: of two facts the person struck one. A later tick on the question about the
            # other would end both.
            reason = (
                stale_proposal.why_settled(proposal, facts)
                or stale_proposal.why_settled_by_hand(proposal, facts, by_hand, now.date())
                or stale_proposal.why_stale(proposal, doc)
            )
            if reason:
                self.decide(proposal, "stale", now, reason, patient=False)

    def find(self, proposal_id: str, chosen: "ScopeFilter | None" = None) -> Proposal:
        """Returns the only open proposal whose id begins so. Raises UnclearId."""
        waiting = {proposal.id: proposal for proposal in self.open_proposals(chosen)}
        return only_match("open proposal", proposal_id, waiting, INBOX)

    def decide(
        self,
        proposal: Proposal,
        state: str,
        now: datetime,
        reason: str = "",
        *,
        patient: bool = True,
    ) -> Edit:
        """Records a decision, and applies the proposed op if it is approved."""
        action = DecideProposals((ProposalDecision(proposal.id, state, reason),))
        edit = self._run_action(proposal.note, "inbox", now, action, proposal.why, patient)
        if state == "approved" and (edit.applied or edit.pending):
            self._settle_rivals(proposal, now)
        return edit

    def _settle_rivals(self, approved: Proposal, now: datetime) -> None:
        """Closes the questions about the lines that an approved one contradicts, and removes their marks."""
        rivals = open_questions.rivals_of(approved, self.open_proposals(), self._layout)
        for rival in rivals:
            self.decide(rival, "stale", now, open_questions.SETTLED, patient=False)
            note = self._read(rival.note)
            if note is None:
                continue
            doc = parse(note.raw)
            unmarked = open_questions.unmarked(rival)
            if unmarked is None:
                continue
            bots = replay(self._trail.of(rival.note)).bots_items(doc)
            is_bots = unmarked.match in {item.text for item in bots}
            # The words of a person that the program wrote down stay the person's.
            source = "nightly" if is_bots else "talk"
            action = ApplyOps((as_json(unmarked),))
            self._run_action(rival.note, source, now, action, open_questions.SETTLED, False)

    def open_proposals(self, chosen: "ScopeFilter | None" = None) -> tuple[Proposal, ...]:
        """Returns the proposals that wait for a decision, the oldest first."""
        proposals = self.proposals(chosen)
        return tuple(proposal for proposal in proposals if proposal.state == "open")

    def _undecided_on(self, page: str) -> list[Proposal]:
        """Returns the open proposals of a page, without those whose decision waits for its note."""
        deciding = self._deciding()
        return [
            proposal
            for proposal in self.open_proposals()
            if proposal.id not in deciding and self.page_of(proposal.note) == page
        ]

    def _deciding(self) -> set[str]:
        """Returns the ids of proposals whose decisions wait for their notes."""
        ids: set[str] = set()
        for write in self._writer().pending():
            command = EditCommand.read(write.record)
            if command is not None:
                # Fault: a proposal whose decision waits would be decided a second time.
                ids |= command.decided_proposals
        return ids

    def _decide_by_page(
        self,
        page: Note | None,
        proposals: Sequence[Proposal],
        shown: Sequence[Proposal],
        now: datetime,
    ) -> None:
        """Decides proposals by what a person marked or deleted on their page, and by their age."""
        marks = inbox_page.read_inbox(page.raw if page else None, shown)
        decisions = dict.fromkeys(marks.approved, "approved")
        decisions |= dict.fromkeys(marks.rejected, "rejected")
        for proposal in proposals:
            state = decisions.get(proposal.id)
            if state:
                self.decide(proposal, state, now, patient=False)
            # Fault (B50): a clock that jumped ahead makes every proposal look old.
            elif inbox_page.expired(proposal, now) and self._writer().clock_is_trustworthy(now):
                self.decide(proposal, "expired", now, EXPIRED, patient=False)

    def _folders_above(self, note: str) -> Iterator[str]:
        """Yields the folders above a note, from the inside; that of the bot's files before the top."""
        folder = note.rpartition("/")[0]
        while folder:
            yield folder
            folder = folder.rpartition("/")[0]
        if self._layout.bot_folder:
            yield self._layout.bot_folder
        yield ""

    def _page_in(self, folder: str, scope: str) -> str:
        """Returns the page of a scope in this folder, or an empty string."""
        for name in PAGE_NAMES:
            page = f"{folder}/{name}" if folder else name
            place = self._layout.place(page)
            if place is not None and place.kind == "inbox" and place.scope == scope:
                return page
        return ""

    def _was_shown(self, page: str, proposal_id: str, note: Note | None) -> bool:
        """Whether the page has a proposal, or had it in an earlier version."""
        marker = proposal_id.encode()
        if note is not None and marker in note.raw:
            return True
        snapshots = self._writer().snapshots
        texts = (snapshots.bytes_of(version.revision) or b"" for version in snapshots.chain(page))
        return any(marker in text for text in texts)

    def _read(self, path: str) -> Note | None:
        try:
            return self._folder.read(path)
        except NoteNotFound:
            return None

    def _catch_up(
        self, page: str, note: Note | None, unseen: Sequence[Proposal], now: datetime
    ) -> None:
        """Brings a page up to date with the audit log: a process may have died between a record and its page."""
        ts = now.isoformat()
        if unseen:
            self._write(page, ts, lambda raw: inbox_page.add_to_inbox(raw, unseen))
        if note is not None:
            on_page = [
                proposal for proposal in self.proposals() if proposal.id.encode() in note.raw
            ]
            self._remove_decided(page, ts, on_page)

    def _remove_decided(self, page: str, ts: str, proposals: Iterable[Proposal]) -> None:
        decided_ids: list[str] = []
        obsolete: dict[str, str] = {}
        for proposal in proposals:
            if proposal.state in ("approved", "rejected"):
                decided_ids.append(proposal.id)
            elif proposal.state in ("stale", "expired"):
                obsolete[proposal.id] = proposal.reason

        def change(raw: bytes) -> bytes:
            struck = inbox_page.strike_in_inbox(raw, obsolete)
            return inbox_page.drop_from_inbox(struck, decided_ids)

        if decided_ids or obsolete:
            self._write(page, ts, change)

    def _write(self, page: str, ts: str, change: Callable[[bytes], bytes]) -> None:
        """Changes a page like any note: on top of what a person saves meanwhile, and later when it is in use."""
        if not page:
            return
        try:
            note = self._read(page)
            before = note.raw if note else b""
            after = change(before)
            if after == before:
                return
            expected = note.revision if note else None
            op_id = f"inbox-{secrets.token_hex(8)}"
            self._writer().write(
                Replacement(page, after, expected=expected, op_id=op_id),
                now=datetime.fromisoformat(ts),
                merge=lambda base, ours, theirs: change(theirs),
            )
        except VaultMemoryError as error:
            # Fault: the record is written, so the page must not fail its command.
            logger.warning("%s does not show what waits: %s", page, error.message)
