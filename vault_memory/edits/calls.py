"""The calls of VaultMemory that change notes, and those that show and take back what was changed."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory import config as configuration
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import BadPath, NoteUnreadable, UsageError, VaultMemoryError
from vault_memory.index.store import State
from vault_memory.lazy import lazy_module
from vault_memory.logs import Logger
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from vault_memory.edits import commands, editor, notifier, people, reports
    from vault_memory.edits.commands import EditCommand
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.edits.notifier import Announcer
    from vault_memory.edits.reports import NoteText
    from vault_memory.edits.versions import NoteVersion, Waiting
    from vault_memory.ingest.lifecycle import Indexing
    from vault_memory.markdown import document
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.rules.edits.ops import Op
    from vault_memory.vault.state_dir import StateFolder
else:
    commands = lazy_module("vault_memory.edits.commands")
    editor = lazy_module("vault_memory.edits.editor")
    notifier = lazy_module("vault_memory.edits.notifier")
    people = lazy_module("vault_memory.edits.people")
    reports = lazy_module("vault_memory.edits.reports")
    document = lazy_module("vault_memory.markdown.document")

logger = Logger(__name__)

SOURCES = ("tool", "nightly", "cli")
"""Who may ask for ops: the bot while it talks, the bot at night, and a person"""
JOURNAL = "journal.sqlite"
SOON = timedelta(seconds=15)


class NoteEditCalls:
    """What VaultMemory is made of besides: each call reads the note anew, writes it safely, and records what it did."""

    root: Path
    folder: Folder
    layout: Layout
    config: configuration.Config
    state: "StateFolder"
    indexing: "Indexing"
    _lock: threading.RLock
    _curator: "NoteEditor | None" = None
    _announcer: "Announcer | None" = None

    def __init__(self) -> None:
        self._editing = threading.RLock()

    @property
    def curator(self) -> "NoteEditor":
        """What carries out edits; made when it is first needed."""
        if self._curator is None:
            asked = self.config.curation
            if self.config.sleep_cycle.curation_log_summary:
                self._announcer = notifier.Announcer(
                    asked.summary_url,
                    asked.summary_command,
                    timeout=asked.summary_timeout_seconds,
                )
            self._curator = editor.NoteEditor(
                self.folder,
                self.layout,
                self.state.path,
                human_items=asked.human_items,
                learn=self._learn,
                tell=self._announcer.tell if self._announcer else lambda record: None,
            )
        return self._curator

    def apply(
        self,
        note: str,
        ops: "Iterable[Op | Mapping[str, object]]",
        *,
        source: str = "tool",
        expected: str | None = None,
        merge: bool = False,
        dry_run: bool = False,
        why: str = "",
        origin: str = "owner",
        now: datetime | None = None,
    ) -> "Edit":
        """Carry ops out on a note; good ones are done while bad ones are refused, each with its reason.

        `expected` is the revision that the ops were thought of for: another one raises NoteChanged, unless `merge`.
        What `tool` and `nightly` ask for is bound by policy, what `cli` asks for is a person's act. The index knows
        the new text when this returns. Raises UsageError, NotCurated, NoteUnreadable, NotRecorded.
        """
        if source not in SOURCES:
            raise UsageError(
                f"{source!r} is no source of ops",
                hint=f"known are {', '.join(SOURCES)}",
            )
        if isinstance(ops, str | bytes | Mapping):
            raise UsageError(
                "`ops` is a list of ops",
                hint='such as [{"op": "append", "heading": …, "line": …}]',
            )
        at = aware(now)
        with self._there():
            self._check_owner(inside(note))
            wanted = tuple(ops)
            said = self._said_by_owner(inside(note), source, wanted)
            action = commands.ApplyOps(wanted)
            run = self.curator.new_command(inside(note), source, at, action, why=why)
            run = run.with_provenance(origin, said)
            return self._run(run, at, expected=expected, merge=merge, dry_run=dry_run)

    def edit_text(
        self,
        note: str,
        edit: Mapping[str, object],
        *,
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Edit":
        """Edit a note as a text, as the memory tool asks for it (see `rules.edits.text_edits`).

        Policy binds it as a bot's.

        A link is not followed. Raises BadPath, NoteChanged, NotCurated, NoteUnreadable, NotRecorded.
        """
        at = aware(now)
        with self._there():
            if self.curator.real(inside(note)) != note:
                raise BadPath(note, "it is a link")
            self._check_owner(note)
            said = self._said_by_owner(note, "tool", edit)
            action = commands.EditText(dict(edit))
            run = self.curator.new_command(inside(note), "tool", at, action)
            run = run.with_provenance("owner", said)
            return self._run(run, at, expected=expected, dry_run=dry_run)

    def undo(
        self, record_id: str, *, dry_run: bool = False, now: datetime | None = None
    ) -> "Edit":
        """Take back what one record of the audit did, as a new record, which can be taken back too.

        `record_id` may be the beginning of an id. Raises UnclearId, NotUndoable.
        """
        at = aware(now)
        with self._there():
            record = self.curator.trail.find(record_id)
            action = commands.UndoRecord(record.id)
            run = self.curator.new_command(record.note, "undo", at, action)
            return self._run(run, at, dry_run=dry_run)

    def restore(
        self,
        note: str,
        revision: str,
        *,
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Edit":
        """Put a version from the note's history there again. Raises UnclearId, NoteChanged."""
        at = aware(now)
        with self._there():
            whole, _ = self.curator.past.version(inside(note), revision)
            action = commands.RestoreVersion(whole)
            run = self.curator.new_command(note, "cli", at, action)
            return self._run(run, at, expected=expected, dry_run=dry_run)

    def log(
        self, note: str | None = None, *, limit: int | None = None
    ) -> "tuple[Record, ...]":
        """The records of one note, or of all, the oldest first: who changed what, when and why.

        `limit` is how many of the newest are wanted.
        """
        with self._there():
            trail = self.curator.trail
            if note is not None and limit:
                return trail.latest(inside(note), limit)
            records = trail.all() if note is None else trail.of(inside(note))
            return records[-limit:] if limit else records

    def history(self, note: str) -> "list[NoteVersion]":
        """The versions of a note that are kept, the newest first. Raises NoteNotFound."""
        with self._there():
            return self.curator.past.history(inside(note))

    def read_version(self, note: str, revision: str) -> "NoteText":
        """A version of a note as it was. Raises UnclearId, NoteNotFound."""
        with self._there():
            whole, raw = self.curator.past.version(inside(note), revision)
        sections = tuple(section.name for section in document.parse(raw).sections)
        return reports.NoteText(
            note, whole, raw.decode("utf-8", errors="replace"), sections
        )

    def inbox(self) -> "tuple[Proposal, ...]":
        """What waits for a person's decision, the oldest first."""
        with self._there():
            return tuple(
                one for one in self.curator.inbox.proposals() if one.state == "open"
            )

    def approve(self, proposal_id: str, *, now: datetime | None = None) -> "Edit":
        """Carry out what was proposed, as a person's act. Raises UnclearId."""
        return self._decide(proposal_id, "approved", now)

    def reject(self, proposal_id: str, *, now: datetime | None = None) -> "Edit":
        """Drop what was proposed; the bot does not propose it again. Raises UnclearId."""
        return self._decide(proposal_id, "rejected", now)

    def _decide(self, proposal_id: str, state: str, now: datetime | None) -> "Edit":
        with self._there():
            inbox = self.curator.inbox
            return inbox.decide(inbox.find(proposal_id), state, aware(now))

    def inbox_pages(self) -> list[str]:
        """The INBOX pages on which a person may have decided something."""
        with self._there():
            return self.curator.inbox.pages()

    def carry_out(self, page: str) -> bool:
        """Do what a person decided on an INBOX page; False when it was saved just now: look again later."""
        with self._there():
            return self.curator.inbox.carry_out(page, aware(None))

    def review(self, notes: Iterable[str]) -> None:
        """Strike through what was proposed for these notes and does not fit them any more."""
        with self._there():
            for note in notes:
                try:
                    self.curator.inbox.review(note, aware(None))
                except (
                    VaultMemoryError
                ) as error:  # of one note; the others are reviewed all the same
                    logger.warning(
                        "what is proposed for `%s` cannot be reviewed: %s", note, error
                    )

    def notes_with_proposals(self) -> set[str]:
        """The notes for which something is proposed that nobody has decided."""
        with self._there():
            return self.curator.inbox.notes()

    def waiting(self) -> "list[Waiting]":
        """The writes that wait until their notes can be written."""
        if not (self.state.path / JOURNAL).exists():
            return []
        with self._editing:
            return self.curator.waiting()

    def went_back(self) -> dict[str, str]:
        """The notes that stand as they had stood before something newer, which is kept: its revision."""
        if not (self.state.path / JOURNAL).exists():
            return {}
        held = {
            path: known.revision
            for path, known in self.indexing.index().files().items()
        }
        with self._editing:
            return self.curator.past.went_back(held)

    def gaps(self) -> dict[str, int]:
        """The notes from whose audit records are missing, each with how many lines of it are no records."""
        with self._editing:
            return (
                self.curator.past.gaps() if (self.state.path / JOURNAL).exists() else {}
            )

    def tend(self, now: datetime | None = None) -> int:
        """Do what is due: writes that wait, displaced files. Returns how many runs were recorded. A daemon calls it."""
        at = aware(now)
        with self._there():
            return len(self.curator.tend(at)) if self.curator.is_due(at) else 0

    def is_busy(self) -> bool:
        """Whether `tend` will have something to do within the next seconds; cheap."""
        with self._editing:
            return self.curator.is_due(aware(None) + SOON)

    def repair_journal(self, reason: str) -> None:
        """Copy what can be read of a damaged journal into a new one; the damaged file is kept beside it."""
        with self._there():
            self.curator.writer.journal.repair(reason)

    def is_ours(self, note: str, revision: str) -> bool:
        """Whether a call of ours, in any process, put this version there."""
        with self._editing:
            return self.curator.writer.is_ours(note, revision)

    def prune(self) -> None:
        """Let go of versions of notes that are older than they are kept."""
        with self._editing:
            self.curator.past.prune(aware(None))

    def unkept(self) -> list[str]:
        """The notes that the index holds in a version that is not the last one kept."""
        with self._there():
            heads = self.curator.writer.snapshots.heads()
            return _that_differ(self.indexing.index().revisions(), heads)

    def keep_versions(self, paths: Sequence[str]) -> None:
        """Keep the versions of these notes that the index has settled on, as far as they are not kept."""
        with self._there():
            held = {path: self.indexing.index().file(path) for path in paths}
            fresh = [
                path
                for path, known in held.items()
                if known and self.curator.wants(path, known.revision)
            ]
            notes = []
            for path in fresh:
                note = self.indexing.ingest().read(path)
                if note is not None and note.stable:
                    notes.append(note)
            self.curator.keep(notes, aware(None))

    def _said_by_owner(self, note: str, source: str, asked: object) -> tuple[str, ...]:
        """What allows a tool to write a standing rule: nothing, where no conversation is recorded."""
        return ()

    def _check_owner(self, note: str) -> None:
        """Raise NameTaken where a note would make a person who cannot be told from another."""
        place = self.layout.place(note)
        if place is not None and place.scope.startswith("user:"):
            people.refuse_twin(
                place.scope.removeprefix("user:"), Path(self.folder.root), self.layout
            )

    @contextmanager
    def _there(self) -> Iterator[None]:
        """One call at a time, on a vault that is still where it was. Raises VaultUnreachable."""
        with self._editing:
            self.folder.check_identity(self.indexing.marker.vault)
            yield

    def _run(
        self,
        run: "EditCommand",
        at: datetime,
        *,
        expected: str | None = None,
        merge: bool = False,
        dry_run: bool = False,
    ) -> "Edit":
        began = time.perf_counter()
        edit = self.curator.run(
            run, at, expected=expected, merge=merge, dry_run=dry_run
        )
        if not dry_run:
            logger.info(
                "%s (%.0f ms)", edit.summary, 1000 * (time.perf_counter() - began)
            )
        return edit

    def _learn(self, path: str) -> None:
        """The index takes in a note that was just written. Without an index there is nothing that could be stale."""
        with self._lock:
            try:
                if self.indexing.generations.current == 0:
                    return
                ingest = self.indexing.ingest()
                note = ingest.read(path)
                if note is not None:
                    ingest.ingest(note, State.SETTLED)
            except NoteUnreadable as error:
                logger.warning("%s", error)
            except DatabaseError as error:
                logger.warning("the index did not take in %s: %s", path, error)
                self.indexing.recover(error)

    def _close_editing(self) -> None:
        with self._editing:
            if self._curator is not None:
                self._curator.close()
                self._curator = None
            if self._announcer is not None:
                self._announcer.close()
                self._announcer = None


def _that_differ(
    mine: Iterable[tuple[str, str]], others: Iterable[tuple[str, str]]
) -> list[str]:
    """The paths to which `others` give another revision, or none; both are in the order of their paths."""
    rest = iter(others)
    other: tuple[str, str] | None = ("", "")
    differing = []
    for path, revision in mine:
        while other is not None and other[0] < path:
            other = next(rest, None)
        if other != (path, revision):
            differing.append(path)
    return differing


def aware(now: datetime | None) -> datetime:
    """With a zone: what is written into the audit is read in other places."""
    at = now or datetime.now(UTC).astimezone()
    return at.astimezone() if at.tzinfo is None else at
