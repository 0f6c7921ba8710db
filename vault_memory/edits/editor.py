"""Executes commands: reads the note, plans, writes and records.

Every change of a note by a program comes here. When a person saves the note meanwhile, the newer text
gets the ops. A write that is not possible now waits in the journal. `note_access` reads, `plans`
decides what a command does, and `audit_recorder` writes the records.
"""

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import places
from vault_memory.edits import versions
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.audit_recorder import AuditRecorder, EditorSetup
from vault_memory.edits.backup_detection import adopt_salvaged, after_opening
from vault_memory.edits.commands import (
    DEFAULT_RUN,
    EditAction,
    EditCommand,
    MakeId,
    MoveSections,
    RunOptions,
    SaveText,
    UndoRecord,
    id_by_clock,
)
from vault_memory.edits.device_lease import DeviceLease
from vault_memory.edits.edit_errors import NoteGone, SaveConflict
from vault_memory.edits.edit_result import Edit, edit_of, pending_of
from vault_memory.edits.inbox import Inbox
from vault_memory.edits.note_access import QUIET_SECONDS, NoteAccess, NoteState, text_of_expected
from vault_memory.edits.plans.edit_plan import plan_command
from vault_memory.edits.plans.plan import EditPlan
from vault_memory.edits.renames.note_renames import NoteRenames
from vault_memory.edits.stale_saves import StaleSaveDetector
from vault_memory.edits.versions import Waiting, waiting_write
from vault_memory.markdown.merging import three_way
from vault_memory.rules.edits import undo as undo_rules
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.reader import Folder, Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.loaded_note import Unsettled
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

if TYPE_CHECKING:
    from vault_memory.edits.versions import NoteHistory

logger = logging.getLogger(__name__)

UNATTENDED = frozenset({"nightly", "retention"})
"""Sources of commands for which no user waits"""
LOCK = "curate.lock"

UNATTENDED_QUIET_SECONDS = 2.0
PATIENCE_SECONDS = 2.0
"""How long a call waits for a note that is in use before it reports the write as pending"""
PAUSE_SECONDS = 0.05
PASSING = frozenset({"hot", "truncated", "in_editor", "busy"})
"""Reasons to wait that may pass in a moment"""


class _PlannedEdit(NamedTuple):
    """A command with its plan, and the state of the note that the plan was made from."""

    command: EditCommand
    plan: EditPlan
    state: NoteState
    base: bytes | None
    """the text that the ops were made for; None: that of the plan"""


DEFAULT_SETUP = EditorSetup()


class NoteEditor:
    """Edits the notes of one vault, one call at a time."""

    def __init__(
        self, folder: Folder, layout: Layout, state: Path, setup: EditorSetup = DEFAULT_SETUP
    ) -> None:
        self.folder = folder
        self.files = setup.files or RealFiles(folder.root)
        self.trail = setup.trail or AuditLog(folder, state)
        self.inbox = Inbox(
            folder,
            layout,
            self.trail,
            lambda: self.writer,
            lambda note, source, now, action, why, patient: self.run(
                self.new_command(note, source, now, action, why), now, RunOptions(patient=patient)
            ),
        )
        self._state = state
        self._access = NoteAccess(folder, layout, self.trail, self.files, state)
        self.renames = NoteRenames(folder, layout, self.trail, lambda: self.writer)
        self._recorder = AuditRecorder(
            self.trail, self.inbox, lambda: self.writer, setup, self._access
        )
        self._stale_saves = StaleSaveDetector(self)
        self._lease = DeviceLease(Path(folder.root), self.trail)
        self._open: Writer | None = None
        self._pending_writes: dict[str, PendingWrite] = {}
        self._today = ""
        self._conflict: SaveConflict | None = None
        """what a save of this transaction met"""
        self.make_id: MakeId = id_by_clock
        """gives each new command its id"""

    @property
    def writer(self) -> Writer:
        """The writer, opened on first use: a reader of the audit log needs no journal."""
        if self._open is None:
            self._open = Writer.open(
                self.folder.root,
                self._state,
                self._merge,
                barred=self._lease.barred,
                files=self.files,
            )
            self.renames.finish()
            after_opening(self._open, self.trail, self.folder)
        return self._open

    @cached_property
    def past(self) -> "NoteHistory":
        """The versions of the notes."""
        return versions.NoteHistory(self._access, self.trail, lambda: self.writer)

    def close(self) -> None:
        """Closes the journal and gives up the lease of this device."""
        if self._open is not None:
            self._open.close()
            self._open = None
            self._lease.release()

    def new_command(
        self, note: str, source: str, now: datetime, action: EditAction, why: str = ""
    ) -> EditCommand:
        """Returns a command for `run`. Raises NotCurated, BadPath."""
        note = self._access.listed(note)
        place = self.place(note, persona=isinstance(action, MoveSections | UndoRecord))
        scope_kind, _, name = place.scope.partition(":")
        return EditCommand(
            id=self.make_id(now, action),
            ts=now.isoformat(),
            note=note,
            kind=place.kind,
            source=source,
            action=action,
            user_id=name if scope_kind == "user" else "",
            why=why,
            spoken={} if source == "tool" else None,
        )

    def place(self, note: str, *, persona: bool = False) -> Place:
        """Returns the kind and scope of a note that commands may change. Raises NotCurated."""
        return self._access.place(note, persona=persona)

    def is_deleted(self, command: EditCommand) -> Callable[[str, str], bool]:
        """Returns whether a line of a command says what a person deleted; see `PlanInputs`."""
        return self._recorder.inputs.is_deleted(command)

    def real(self, path: str) -> str:
        """Resolves symlinks inside the vault."""
        return self._access.real(path)

    def there(self, path: str) -> Note | None:
        """Returns the note, or None when it is absent. Raises NotCurated, NoteUnreadable."""
        return self._access.read(path)

    def run(self, command: EditCommand, now: datetime, options: RunOptions = DEFAULT_RUN) -> Edit:
        """Executes a command.

        Raises NoteChanged, NotRecorded, NoteUnreadable, JournalUnavailable, and as `plan_command`.
        """
        waits = options.patient and command.source not in UNATTENDED
        patience = PATIENCE_SECONDS if waits else 0.0
        with self._locked(now):
            state = self._load(command, now, dry_run=options.dry_run, patient=waits)
            bytes_of = self._recorder.inputs.bytes_of
            base = text_of_expected(command, state, options, bytes_of)
            plan = plan_command(command, state.raw, self._recorder.inputs, base=base)
            if options.dry_run:
                return edit_of(plan.record(command, plan.after), recorded=False)
            if not plan.changes:
                if options.idle or plan.proposed:
                    self.renames.meet(state, now)
                    return self.record_without_change(command, plan)
                return edit_of(plan.record(command, plan.after), recorded=False)
            writer = self.writer
            planned = _PlannedEdit(command, plan, state, base)
            record, result = self._write(planned, now, patience)
            if writer.has_new_saves() and writer.snapshots.unjudged():
                self._stale_saves.look(now)
            if record is None:
                self._refuse_save(command, result)
                return self._pending_edit(command, plan, result)
        return edit_of(record, recorded=True)

    def tend(self, now: datetime) -> list[Record]:
        """Does what is due: pending writes, missing records, displaced files. Returns the new records."""
        with self.turn(now) as records:
            records += self._retry_pending(now).values()
            if self.writer.snapshots.unjudged():
                self._stale_saves.look(now)
            return records

    def follow_renames(self, now: datetime) -> dict[str, str]:
        """Lets the pasts of renamed notes follow them. Returns old → new path; see `NoteRenames`."""
        with self.turn(now):
            return self.renames.follow(now)

    def is_due(self, now: datetime) -> bool:
        """Whether `tend` has anything to do; cheap."""
        has_work = (
            self.writer.pending() or self.writer.finished() or self.writer.snapshots.unjudged()
        )
        return bool(has_work) or self.writer.is_due(now.timestamp())

    def waiting(self) -> list[Waiting]:
        """Returns the pending writes."""
        return [waiting_write(write) for write in self.writer.pending()]

    def keep(self, notes: Sequence[Note], now: datetime) -> None:
        """Stores these versions, which people saved, as versions of their notes."""
        versioned = [note for note in notes if self._access.keeps_versions_of(note.path)]
        if versioned:
            self.writer.snapshots.record_notes(versioned, at=now.timestamp())
            if self.writer.snapshots.unjudged():
                with self.turn(now):
                    self._stale_saves.look(now)

    def wants(self, path: str, revision: str) -> bool:
        """Whether this version of a note should be stored and is not yet."""
        if not self._access.keeps_versions_of(path):
            return False
        head = self.writer.snapshots.head(path)
        return head is None or head.revision != revision

    def carry_out(self, command: EditCommand, note: Note, now: datetime) -> None:
        """Executes a command of the editor itself, inside a transaction, without waiting. Raises as `run`."""
        self.trail.unload()
        plan = plan_command(command, note.raw, self._recorder.inputs)
        if plan.changes:
            state = NoteState(note, self.writer.load(command.note))
            self._write(_PlannedEdit(command, plan, state, None), now, 0.0)
        elif plan.proposed:
            self.record_without_change(command, plan)

    def plan_again(self, command: EditCommand, base: bytes | None) -> tuple[EditCommand, EditPlan]:
        """Plans a pending command on another text. Returns it as the journal stores it, and its plan."""
        self.trail.unload()
        try:
            plan = plan_command(command, base, self._recorder.inputs)
        except (undo_rules.NotUndoable, SaveConflict, NoteGone):
            plan = EditPlan(base, base)
        newest = self._recorder.planned_after(command.note)
        return replace(command, planned_after=newest), plan

    def record_without_change(self, command: EditCommand, plan: EditPlan) -> Edit:
        """Records a command that does not change its note; a command without any ops leaves no record."""
        record = plan.record(command, plan.after)
        is_empty = not (record.applied or record.rejected or record.proposed)
        is_new = plan.before is None and not self._access.has_folder(command.note)
        # A record beside a note that never existed would make its folder. Fault: without a
        # record, a proposal about a new person would wait nowhere.
        if is_empty or (is_new and not record.proposed):
            return edit_of(record, recorded=False)
        self._recorder.record_unwritten(record)
        return edit_of(record, recorded=True)

    def _load(
        self, command: EditCommand, now: datetime, *, dry_run: bool, patient: bool
    ) -> NoteState:
        """Reads the note to plan on, after its last save was checked for lines of the bot that it lost."""
        writer = self.writer
        state = self._access.load(command.note, command.kind, writer)
        if state.loaded.unsettled:
            self._settle(now, state.loaded.unsettled)
            state = self._access.load(command.note, command.kind, writer)
        is_due = self.renames.may_concern(command.note, state)
        if is_due and self.renames.follow(now):
            state = self._access.load(command.note, command.kind, writer)
        if state.note is not None and not dry_run:
            is_new = self._stale_saves.notice(state.note, state.loaded.head, now)
            if is_new or state.loaded.has_unjudged_saves:
                self._stale_saves.look(now)
                state = self._access.load(command.note, command.kind, writer)
        if patient:
            state = self._access.wait_for_complete_save(command, state, writer, now)
        return self._access.complete_version(command.action, state, writer, now)

    def _write(
        self, planned: _PlannedEdit, now: datetime, patience: float
    ) -> tuple[Record | None, WriteResult]:
        """Writes a plan, for up to `patience` seconds while its note is in use, and records it.

        Returns the record, or None while the write waits.
        """
        start = time.monotonic()
        writer = self.writer
        command = planned.command
        self._recorder.start(command, planned.plan, planned.state)
        result = self._start_write(planned, now)
        records = self._recorder.record_all(writer, writer.newly_finished())
        while command.id not in records and result.reason in PASSING:
            spent = time.monotonic() - start
            if spent >= patience or self._conflict is not None:
                break
            time.sleep(PAUSE_SECONDS)
            # A sync program may have brought records of another device meanwhile.
            self.trail.unload()
            records = self._retry_pending(now + timedelta(seconds=spent))
        return records.get(command.id), result

    def _refuse_save(self, command: EditCommand, result: WriteResult) -> None:
        """Raises the error of a save that met a change during its write, instead of leaving it to wait."""
        if self._conflict is not None:
            raise self._conflict
        match command.action:
            case SaveText(text, base) if base and result.reason == "absent":
                self.writer.discard(command.id)
                raise NoteGone(command.note, yours=text.encode(), base=base.encode())

    def _pending_edit(self, command: EditCommand, plan: EditPlan, result: WriteResult) -> Edit:
        """Returns the result of a command whose write waits."""
        for pending in self.waiting():
            if pending.id == command.id:
                return pending_of(plan, command, pending.reason, pending.explanation)
        return pending_of(plan, command, result.reason, result.explanation)

    def _start_write(self, planned: _PlannedEdit, now: datetime) -> WriteResult:
        command, plan, state, base = planned
        if base is None:
            base = plan.before
        newest = self._recorder.planned_after(command.note)
        record = replace(command, planned_after=newest).as_bytes()
        expected = state.revision
        if plan.after is None:
            assert expected is not None, "a missing note cannot be taken away"
            return self.writer.trash(
                command.note, expected=expected, now=now, op_id=command.id, record=record
            )
        is_unattended = command.source in UNATTENDED
        new = Replacement(
            command.note,
            plan.after,
            expected=expected,
            op_id=command.id,
            quiet=UNATTENDED_QUIET_SECONDS if is_unattended else QUIET_SECONDS,
            record=record,
        )
        return self.writer.write(
            new,
            now=now,
            merge=lambda _, ours, theirs: self._plan_on_newer(command, theirs, base),
            loaded=state.loaded,
        )

    def _plan_on_newer(
        self, command: EditCommand, newer: bytes, base: bytes | None
    ) -> bytes | None:
        """Returns what the command makes of the text that somebody saved meanwhile."""
        try:
            plan = plan_command(command, newer, self._recorder.inputs, base=base)
        except undo_rules.NotUndoable:
            plan = EditPlan(newer, newer)
        except SaveConflict as conflict:
            plan = EditPlan(newer, newer)
            # Fault: nobody gets the error of a save that waited. Its text goes into a
            # conflict copy beside the note.
            if not self._recorder.is_started(command):
                return None
            self._conflict = conflict
        self._recorder.revise(command, plan)
        return plan.after

    def _retry_pending(self, now: datetime) -> dict[str, Record]:
        """Tries the pending writes that are due. Returns the new records by command id."""
        self.writer.tend(now)
        return self._recorder.record_finished()

    def _merge(self, base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
        """Merges for the writer: a pending command is planned on the newer text, a late save is merged by structure."""
        write = self._find_pending(revision_of(ours))
        command = EditCommand.read(write.record) if write else None
        if command is not None:
            return self._plan_on_newer(command, theirs, base)
        merged = three_way.merge(base, ours, theirs, between_people=True, date=self._today)
        return merged.result

    def _find_pending(self, content: str) -> PendingWrite | None:
        """Returns the write of this revision that was pending when this transaction first asked for it."""
        if content not in self._pending_writes:
            pending = {write.content: write for write in self.writer.pending()}
            self._pending_writes |= pending
        return self._pending_writes.get(content)

    def _settle(self, now: datetime, unsettled: Set[Unsettled]) -> list[Record]:
        """Finishes what an earlier transaction left to do. Returns the new records."""
        # Fault (B33): records are planned from the audit log as it was before them. So
        # interrupted writes come first.
        if "interrupted" in unsettled:
            self.writer.recovered(now)
        if "salvaged" in unsettled:
            adopt_salvaged(self.writer, self.folder, now)
        if "unrecorded" not in unsettled:
            return []
        return list(self._recorder.record_finished().values())

    @contextmanager
    def turn(self, now: datetime) -> Iterator[list[Record]]:
        """Locks the vault, recovers what a crash interrupted, and yields the new records."""
        with self._locked(now):
            yield self._settle(now, self.writer.unsettled())

    @contextmanager
    def _locked(self, now: datetime) -> Iterator[None]:
        """Locks the vault against other editors."""
        # Fault (B43): a user may delete the state folder while `mcp` runs.
        places.make_private(self._state)
        fd = os.open(self._state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._today = f"{now:%Y-%m-%d}"
            yield
        finally:
            self._recorder.forget_plans()
            self.trail.unload()
            self._pending_writes.clear()
            self._conflict = None
            os.close(fd)
