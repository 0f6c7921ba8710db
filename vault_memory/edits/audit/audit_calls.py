"""Calls that read the audit, the versions and the proposals of a vault, and the editor that all edits share."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from vault_memory.database.connection import DatabaseError
from vault_memory.edits import audit_log, audit_recorder, backup_detection, notifier, record_cache
from vault_memory.edits import editor as edits_editor
from vault_memory.edits.audit import scope_filter
from vault_memory.errors import VaultError
from vault_memory.logs import Logger
from vault_memory.markdown import document
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.filenames import inside
from vault_memory.search import note_reports
from vault_memory.search.open_vault import OpenVault

if TYPE_CHECKING:
    from vault_memory.edits.audit.scope_filter import ScopeFilter
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.edits.notifier import Announcer
    from vault_memory.edits.record_cache import RecordCache
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.search.note_reports import NoteText

logger = Logger(__name__)

JOURNAL = "journal.sqlite"


@checked_calls
class AuditCalls:
    """Read the audit, the versions and the proposals of one vault."""

    def __init__(self, vault: OpenVault) -> None:
        self.vault = vault
        self._lock = threading.RLock()
        self._editor: NoteEditor | None = None
        self._announcer: Announcer | None = None

    @property
    def editor(self) -> "NoteEditor":
        """The editor that carries out edits; made when it is first needed."""
        if self._editor is None:
            config = self.vault.config
            settings = config.curation
            if config.sleep_cycle.curation_log_summary:
                self._announcer = notifier.Announcer(settings.summary_command)
            trail = audit_log.AuditLog(self.vault.folder, self.vault.state.path, self.record_cache)
            setup = audit_recorder.EditorSetup(
                settings.human_items, self.vault.reindex, trail=trail
            )
            if self._announcer is not None:
                setup = setup._replace(tell=self._announcer.tell)
            self._editor = edits_editor.NoteEditor(
                self.vault.folder, self.vault.layout, self.vault.state.path, setup
            )
        return self._editor

    @cached_property
    def record_cache(self) -> "RecordCache":
        """The cached audit records; a vault and its forks share them."""
        return record_cache.RecordCache()

    def close(self) -> None:
        """Close the journal and stop sending summaries."""
        with self._lock:
            if self._editor is not None:
                self._editor.close()
                self._editor = None
            if self._announcer is not None:
                self._announcer.close()
                self._announcer = None

    # ---- history ------------------------------------------------------------------------------

    def log(
        self,
        note: str | None = None,
        *,
        limit: int | None = None,
        before: str | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "tuple[Record, ...]":
        """List the newest `limit` audit records of a note, or of all notes, that are older than `before`."""
        with self.transaction():
            self._follow(note)
            trail, chosen = self.editor.trail, self.chosen(scopes)
            if note is None:
                records = trail.all(chosen)
            elif chosen and not chosen.has_note(inside(note)):
                records = ()
            elif limit and not before:
                return trail.latest(inside(note), limit)
            else:
                records = trail.of(inside(note))
            if before:
                records = audit_log.records_before(records, before)
            return records[-limit:] if limit else records

    def history(self, note: str, scopes: Sequence[str] | None = None) -> "list[NoteVersion]":
        """The stored versions of a note, newest first. Raises NoteNotFound."""
        with self.transaction():
            self._follow(note)
            return self.editor.past.history(self._check_note(note, scopes))

    def lost_histories(self, scopes: Sequence[str] | None = None) -> list[str]:
        """The notes that are gone, with an audit that no note continues: deleted by a person, or not found again."""
        with self.transaction():
            self._follow()
            chosen = self.chosen(scopes)
            lost = self.editor.renames.unmatched()
        return [note for note in lost if chosen is None or chosen.has_note(note)]

    def read_version(
        self, note: str, revision: str, scopes: Sequence[str] | None = None
    ) -> "NoteText":
        """Read a stored version of a note. Raises UnclearId, NoteNotFound."""
        with self.transaction():
            self._follow(note)
            path = self._check_note(note, scopes)
            full_revision, raw = self.editor.past.version(path, revision)
        sections = document.parse(raw).headings
        text = raw.decode("utf-8", errors="replace")
        return note_reports.NoteText(note, full_revision, text, sections, raw)

    def reverted_notes(self) -> dict[str, str]:
        """The notes that returned to an older version, each with the revision of the newer one, which is stored."""
        if not self._has_journal():
            return {}
        index = self.vault.indexing.index()
        revisions = {path: entry.revision for path, entry in index.files().items()}
        with self._lock:
            return backup_detection.reverted_notes(self.editor.writer.snapshots, revisions)

    def audit_gaps(self) -> dict[str, int]:
        """The notes whose audit lacks records, each with how many of its lines are no records."""
        self.vault.check_open()
        with self._lock:
            self._follow()
            if not self._has_journal():
                return {}
            return backup_detection.gaps(self.editor.writer, self.editor.trail)

    # ---- proposals ----------------------------------------------------------------------------

    def inbox(self, scopes: Sequence[str] | None = None) -> "tuple[Proposal, ...]":
        """The proposals that wait for a person's decision, oldest first."""
        with self.transaction():
            self._follow()
            return self.editor.inbox.open_proposals(self.chosen(scopes))

    def inbox_pages(self) -> list[str]:
        """The INBOX pages on which a person may have decided something."""
        with self.transaction():
            return self.editor.inbox.pages()

    def notes_with_proposals(self) -> set[str]:
        """The notes that have an open proposal."""
        with self.transaction():
            return self.editor.inbox.notes()

    # ---- for the calls that edit --------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One edit at a time, on a vault that is still the same folder. Raises VaultUnreachable, VaultClosed."""
        with self._lock:
            self.vault.check_identity()
            yield

    def _follow(self, note: str | None = None) -> None:
        """Let the pasts of renamed notes follow them, before one of them is shown or undone."""
        try:
            # A reader that finds nothing to follow must not create a journal.
            is_due = bool(self.editor.trail.without_note())
            if note is not None and not is_due and self._has_journal():
                is_due = self.editor.renames.is_unknown(inside(note))
            if is_due:
                self.editor.follow_renames(datetime.now(UTC))
        except (DatabaseError, OSError, VaultError) as error:
            # Fault (B39): the disk is full or read-only. What is known can be shown anyway.
            logger.warning("renamed notes cannot be followed now: %s", error)

    def chosen(self, scopes: Sequence[str] | None) -> "ScopeFilter | None":
        """What belongs to these scopes; None for all. Raises UsageError for a name that is no scope."""
        if scopes is None:
            return None
        return scope_filter.ScopeFilter(self.vault.layout, scopes, self.editor.real)

    def _check_note(self, note: str, scopes: Sequence[str] | None) -> str:
        """The path of a note. Raises BadPath, and NoteNotFound for a note outside the scopes."""
        path = inside(note)
        chosen = self.chosen(scopes)
        if chosen is not None:
            chosen.check_note(path)
        return path

    def _has_journal(self) -> bool:
        """Whether the vault was ever edited. A reader must not create a journal."""
        return (self.vault.state.path / JOURNAL).exists()
