"""Calls that change notes, show their changes and take changes back."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

from vault_memory.contract import Source
from vault_memory.edits import commands, people
from vault_memory.edits.audit.audit_calls import AuditCalls
from vault_memory.edits.plans import save_text
from vault_memory.errors import BadPath, UsageError, VaultMemoryError
from vault_memory.logs import Logger
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.edits import undo as undo_rules
from vault_memory.rules.paths.filenames import inside
from vault_memory.search.open_vault import OpenVault

if TYPE_CHECKING:
    from vault_memory.edits.commands import EditCommand
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.versions import Waiting
    from vault_memory.rules.edits.ops import Op
    from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate

logger = Logger(__name__)

SOON = timedelta(seconds=15)


class EditOptions(NamedTuple):
    """Options of an edit; `VaultMemory.apply` explains them."""

    source: Source = "tool"
    expected: str | None = None
    merge: bool = False
    dry_run: bool = False
    why: str = ""
    origin: str = "owner"
    now: datetime | None = None


class CallKeywords(TypedDict, total=False):
    """The keywords of a call that decides about notes."""

    dry_run: bool
    now: datetime | None
    scopes: Sequence[str] | None


class EditKeywords(TypedDict, total=False):
    """The keywords of a call that edits one note; `EditOptions` has their meaning."""

    source: Source
    expected: str | None
    now: datetime | None


@checked_calls
class EditCalls(AuditCalls):
    """Edit the notes of one vault. Each call reads the note again, writes it safely and records the change."""

    INTERNAL = ("apply", "chosen", "execute", "owner_words", "check_owner")

    def __init__(
        self,
        vault: OpenVault,
        *,
        owner_words: Callable[[str, object], tuple[str, ...]],
        owner_says: Callable[[str, str], tuple[str, ...]],
    ) -> None:
        """`owner_words` gives what the owner of a note said in open sessions: a tool may write a rule from it.

        `owner_says` gives the turns in which the owner said a statement there.
        """
        super().__init__(vault)
        self._owner_words = owner_words
        self.said_by_owner = owner_says

    # ---- changes of a note --------------------------------------------------------------------

    def apply(
        self, note: str, ops: "Iterable[Op | Mapping[str, object]]", options: "EditOptions"
    ) -> "Edit":
        """Apply ops to a note; see `VaultMemory.apply`."""
        source = options.source
        commands.check_source(source, "ops")
        # Fault: a text is a sequence as well. Each of its letters would be refused as
        # an op of its own.
        if isinstance(ops, str | bytes | Mapping):
            raise UsageError(
                "`ops` is a list of ops", hint='such as [{"op": "append", "heading": …, "line": …}]'
            )
        moment = aware(options.now)
        with self.transaction():
            all_ops = tuple(ops)
            action = commands.ApplyOps(all_ops)
            command = self.editor.new_command(note, source, moment, action, why=options.why)
            self.check_owner(command)
            words = self.owner_words(note, source, all_ops)
            command = command.with_provenance(options.origin, words)
            return self.execute(
                command,
                moment,
                expected=options.expected,
                merge=options.merge,
                dry_run=options.dry_run,
            )

    def record_duplicates(
        self, note: str, skips: "Sequence[SkippedDuplicate]", options: "EditOptions"
    ) -> "Edit":
        """Record texts that were not written, because items of the note say the same."""
        moment = aware(options.now)
        with self.transaction():
            action = commands.RecordDuplicates(tuple(skip.as_op() for skip in skips))
            command = self.editor.new_command(note, options.source, moment, action, why=options.why)
            self.check_owner(command)
            return self.execute(command, moment, dry_run=options.dry_run)

    def edit_text(
        self,
        note: str,
        edit: Mapping[str, object],
        *,
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Edit":
        """Edit a note as a text, as the memory tool does (see `rules.edits.text_edits`). Policy binds it as a bot's.

        Raises BadPath for a link, NoteChanged, NotCurated, NoteUnreadable, NotRecorded.
        """
        moment = aware(now)
        with self.transaction():
            path = inside(note)
            # Fault (H124): a link could lead to the note of another person.
            if self.editor.real(path) != note:
                raise BadPath(note, "it is a link")
            action = commands.EditText(dict(edit))
            command = self.editor.new_command(path, "tool", moment, action)
            self.check_owner(command)
            words = self.owner_words(note, "tool", edit)
            command = command.with_provenance("owner", words)
            return self.execute(command, moment, expected=expected, dry_run=dry_run)

    def undo(
        self,
        record_id: str,
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "Edit":
        """Take back what one audit record did, as a new record, which can be taken back too.

        `record_id` may be the beginning of an id. Raises UnclearId, NotUndoable, Folded.
        """
        moment = aware(now)
        with self.transaction():
            self._follow()
            record = self.editor.trail.find(record_id, self.chosen(scopes))
            self._check_note(record.note, scopes)
            undo_rules.refuse_folded(record, record_id)
            action = commands.UndoRecord(record.id)
            command = self.editor.new_command(record.note, "undo", moment, action)
            return self.execute(command, moment, dry_run=dry_run)

    def undone_by(self, edit: "Edit") -> str:
        """The id of the record that an edit has undone; empty for any other edit."""
        with self.transaction():
            record = self.editor.trail.held(edit.audit_id or "", edit.note)
            return record.undoes if record else ""

    def restore(
        self,
        note: str,
        revision: str,
        *,
        expected: str | None = None,
        **keywords: Unpack[CallKeywords],
    ) -> "Edit":
        """Write a version of the note's history again. Raises UnclearId, NoteChanged."""
        moment, scopes = aware(keywords.get("now")), keywords.get("scopes")
        with self.transaction():
            self._follow(note)
            path = self._check_note(note, scopes)
            full_revision, _ = self.editor.past.version(path, revision)
            action = commands.RestoreVersion(full_revision)
            command = self.editor.new_command(note, "cli", moment, action)
            return self.execute(
                command, moment, expected=expected, dry_run=keywords.get("dry_run", False)
            )

    def save(
        self,
        note: str,
        text: bytes,
        *,
        base: bytes,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Edit":
        """Write a whole note that a person edited, merged with what came since `base`.

        `base` is what was opened; b"": a new note. Raises SaveConflict, NoteGone, NotSavable.
        """
        moment = aware(now)
        with self.transaction():
            action = save_text.save_action(note, text, base)
            command = self.editor.new_command(note, "cli", moment, action)
            self.check_owner(command)
            edit = self.execute(command, moment, dry_run=dry_run or text == base)
            disk = self.editor.past.bytes_of(edit.note, edit.before)
            return save_text.with_newer_text(edit, base, disk)

    # ---- proposals ----------------------------------------------------------------------------

    def approve(
        self, proposal_id: str, *, now: datetime | None = None, scopes: Sequence[str] | None = None
    ) -> "Edit":
        """Carry out a proposal, as a person's act. Raises UnclearId."""
        return self._decide(proposal_id, "approved", now, scopes)

    def reject(
        self, proposal_id: str, *, now: datetime | None = None, scopes: Sequence[str] | None = None
    ) -> "Edit":
        """Drop a proposal; the bot does not propose it again. Raises UnclearId."""
        return self._decide(proposal_id, "rejected", now, scopes)

    def _decide(
        self,
        proposal_id: str,
        state: Literal["approved", "rejected"],
        now: datetime | None,
        scopes: Sequence[str] | None,
    ) -> "Edit":
        with self.transaction():
            self._follow()
            inbox = self.editor.inbox
            proposal = inbox.find(proposal_id, self.chosen(scopes))
            self._check_note(proposal.note, scopes)
            return inbox.decide(proposal, state, aware(now))

    def apply_decisions(self, page: str) -> bool:
        """Carry out the decisions on an INBOX page. False when the page was saved just now: call again later."""
        with self.transaction():
            return self.editor.inbox.carry_out(page, aware(None))

    def apply_all_decisions(self, *, now: datetime | None = None) -> list[str]:
        """Carry out what people decided on INBOX pages, for a vault without a daemon.

        Returns the pages with decisions that have not settled yet: call again later.
        """
        unsettled = []
        for page in self.inbox_pages():
            try:
                with self.transaction():
                    inbox = self.editor.inbox
                    if not inbox.carry_out(page, aware(now)) and inbox.is_decided(page):
                        unsettled.append(page)
            except VaultMemoryError as error:
                # A page that cannot be read, or a note that cannot be written, waits.
                logger.warning("what `%s` says waits: %s", page, error)
        return unsettled

    def review(self, notes: Iterable[str]) -> None:
        """Strike through the proposals for these notes that became obsolete."""
        with self.transaction():
            for note in notes:
                try:
                    self.editor.inbox.review(note, aware(None))
                except VaultMemoryError as error:
                    # One unreadable note must not stop the review of the others.
                    logger.warning("the proposals for `%s` cannot be reviewed: %s", note, error)

    # ---- upkeep -------------------------------------------------------------------------------

    def waiting(self) -> "list[Waiting]":
        """The writes that wait until their notes can be written."""
        self.vault.check_open()
        if not self._has_journal():
            return []
        with self._lock:
            return self.editor.waiting()

    def process_due(self, now: datetime | None = None) -> int:
        """Process pending writes and displaced files that are due. Returns how many edits were recorded."""
        moment = aware(now)
        with self.transaction():
            if not self.editor.is_due(moment):
                return 0
            return len(self.editor.tend(moment))

    def is_busy(self) -> bool:
        """Whether `process_due` has work within the next seconds; cheap."""
        with self._lock:
            return self.editor.is_due(aware(None) + SOON)

    def repair_journal(self, reason: str) -> None:
        """Copy the readable rows of a damaged journal into a new one. The damaged file stays beside it."""
        with self.transaction():
            self.editor.writer.journal.repair(reason)

    def is_ours(self, note: str, revision: str) -> bool:
        """Whether the program, in any process, wrote this version of a note."""
        with self._lock:
            return self.editor.writer.is_ours(note, revision)

    def prune(self) -> None:
        """Delete stored versions of notes that are past their retention."""
        with self._lock:
            self.editor.writer.prune(aware(None))

    def follow_renames(self) -> dict[str, str]:
        """Let the pasts of renamed notes follow them. Returns old → new path."""
        with self.transaction():
            return self.editor.follow_renames(aware(None))

    def notes_without_snapshot(self) -> list[str]:
        """The notes whose indexed version is not the last stored version."""
        with self.transaction():
            head, paths = ("", "", 0), []
            seen = self.editor.writer.snapshots.last_seen()
            # Both are in the order of their paths, so that none of a million is held.
            for note in self.vault.indexing.index().revisions():
                while head[0] < note[0]:
                    head = next(seen, (note[0], "", 0))
                if head[:2] != note:
                    paths.append(note[0])
            return paths

    def keep_versions(self, paths: Sequence[str]) -> None:
        """Store the versions of these notes that the index has settled on, unless they are stored."""
        with self.transaction():
            index = self.vault.indexing.index()
            ingest = self.vault.indexing.ingest()
            entries = {path: index.file(path) for path in paths}
            notes = []
            for path, entry in entries.items():
                if not entry or not self.editor.wants(path, entry.revision):
                    continue
                note = ingest.read(path)
                # Fault (A4): half a save is no version that a person made.
                if note is not None and note.stable:
                    notes.append(note)
            self.editor.keep(notes, aware(None))

    # ---- for the other calls that edit --------------------------------------------------------

    def execute(
        self,
        command: "EditCommand",
        moment: datetime,
        *,
        expected: str | None = None,
        merge: bool = False,
        dry_run: bool = False,
    ) -> "Edit":
        """Execute a command, and log how long it took. The caller holds the transaction."""
        started = time.perf_counter()
        options = commands.RunOptions(expected, merge, dry_run)
        if not (dry_run or self.vault.is_marked):
            self.vault.make_marker()
        edit = self.editor.run(command, moment, options)
        if not dry_run:
            milliseconds = 1000 * (time.perf_counter() - started)
            logger.info("%s: %d ops (%.0f ms)", edit.note, len(edit.applied), milliseconds)
        return edit

    def owner_words(self, note: str, source: Source, ask: object) -> tuple[str, ...]:
        """What the owner of a note said in open sessions; a tool may write a standing rule from it alone."""
        return self._owner_words(note, ask) if source == "tool" else ()

    def check_owner(self, command: "EditCommand") -> None:
        """Raise NameTaken when a command would create a person whose name reads like another person's."""
        if command.user_id:
            root = Path(self.vault.folder.root)
            people.refuse_twin(command.user_id, root, self.vault.layout)


def aware(now: datetime | None) -> datetime:
    """`now`, else the clock, with a time zone: devices in other zones read the audit."""
    moment = now or datetime.now(UTC).astimezone()
    return moment.astimezone() if moment.tzinfo is None else moment
