"""Carries runs out: read, plan, write, record, and let the index know. Every change of a note by a program comes here.

A note that somebody saves meanwhile gets the ops in its newer text. A write that cannot be made now waits. The record
of a run is written after its text stands there, and the journal remembers that until it is: so a crash anywhere leaves
one record for each run, not none and not two.
"""

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory.edits.audit_log import ENDING, AuditLog
from vault_memory.edits.backup_detection import adopt_salvaged, after_opening, note_gap
from vault_memory.edits.commands import (
    EditAction,
    EditCommand,
    may_change_persona,
    new_command_id,
)
from vault_memory.edits.device_lease import Lease
from vault_memory.edits.edit_errors import NotCurated, NoteChanged, NotRecorded
from vault_memory.edits.edit_result import Edit, edit_of, pending_of
from vault_memory.edits.inbox import Inbox
from vault_memory.edits.note_history import NoteHistory
from vault_memory.edits.partial_save import meant, reappeared
from vault_memory.edits.plans.edit_plan import plan_command
from vault_memory.edits.plans.plan import Plan, PlanInputs
from vault_memory.edits.plans.write_record import Records, plan_again, record_of
from vault_memory.edits.stale_saves import StaleSaveDetector
from vault_memory.edits.versions import Waiting, full_revision
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.lazy import lazy_module
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.undo import NotUndoable
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.vault.fs import Files, RealFiles
from vault_memory.vault.reader import LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite as WriteOp
from vault_memory.vault.write.writer import Writer, WriteResult, real_path

if TYPE_CHECKING:
    from vault_memory.markdown.merging import three_way
else:
    three_way = lazy_module("vault_memory.markdown.merging.three_way")

logger = logging.getLogger(__name__)

CURATED = frozenset(
    {"user", "channel", "memory", "note", "dated", "facts", "rules", "reflection"}
)
"""Kinds of notes that ops may change"""
PERSONA = "persona"
"""The kind of note that only a move of whole sections may change, and what takes that back"""
UNATTENDED = frozenset({"nightly", "retention"})
"""Sources for which nobody waits"""
LOCK = "curate.lock"

QUIET_SECONDS = 0.3
"""For which a note must have been left alone before it is written while somebody waits"""
UNATTENDED_QUIET_SECONDS = 2.0
PATIENCE_SECONDS = 2.0
"""How long a call waits for a note that is in use before it says that the write is pending"""
PAUSE_SECONDS = 0.05
PASSING = frozenset({"hot", "truncated", "in_editor", "busy"})
"""Reasons to wait that may be over in a moment"""


class NoteEditor:
    """For one vault; one call at a time. `learn` is told the path of each note that was written, `tell` each record."""

    def __init__(
        self,
        folder: Folder,
        layout: Layout,
        state: Path,
        *,
        human_items: Literal["propose", "edit"] = "propose",
        learn: Callable[[str], None] = lambda path: None,
        tell: Callable[[Record], None] = lambda record: None,
    ) -> None:
        self.folder = folder
        self.trail = AuditLog(folder, state)
        self._layout, self._state, self._learn, self._tell = layout, state, learn, tell
        self.inbox = Inbox(self, folder, layout)
        self.past = NoteHistory(self)
        self._returning = StaleSaveDetector(self)
        self._lease = Lease(Path(folder.root), self.trail)
        self._open: Writer | None = None
        self.files: Files = RealFiles(folder.root)
        self._waiting: dict[str, WriteOp] = {}
        self._today = ""
        self._plans: dict[str, list[Plan]] = {}
        self._newest: dict[str, str] = {}
        """Note → id of its newest record, if a plan of this turn was made from its records"""
        self._known = PlanInputs(
            self._recorded,
            lambda revision: self.writer.snapshots.bytes_of(revision),
            human_items,
        )

    @property
    def writer(self) -> Writer:
        """Opened when first needed: who only reads the audit needs no journal."""
        if self._open is None:
            self._open = Writer.open(
                self.folder.root, self._state, self._merge, barred=self._lease.barred
            )
            after_opening(self._open, self.trail, self.folder)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
            self._lease.release()

    def new_command(
        self, note: str, source: str, now: datetime, action: EditAction, why: str = ""
    ) -> EditCommand:
        """Returns a command for `run`. Raises NotCurated, BadPath."""
        place = self.place(note, persona=may_change_persona(action))
        scope_kind, _, name = place.scope.partition(":")
        return EditCommand(
            id=new_command_id(now),
            ts=now.isoformat(),
            note=note,
            kind=place.kind,
            source=source,
            action=action,
            user_id=name if scope_kind == "user" else "",
            why=why,
        )

    def place(self, note: str, *, persona: bool = False) -> Place:
        """What kind of note this is. Raises NotCurated."""
        place = self._layout.place(note)
        if place is None or not (
            place.kind in CURATED or (persona and place.kind == PERSONA)
        ):
            raise NotCurated(note, place.kind if place else "")
        return place

    def run(
        self,
        run: EditCommand,
        now: datetime,
        *,
        expected: str | None = None,
        merge: bool = False,
        dry_run: bool = False,
        patient: bool = True,
        idle: bool = True,
    ) -> Edit:
        """Carry a run out; `patient` waits a moment for a note that is in use. Without `idle`, a run that neither
        changes nor proposes anything leaves no record.

        Raises NoteChanged, NotUndoable, NotRecorded, NoteUnreadable, JournalUnavailable.
        """
        with self._turn(now):
            note = self._read(run.note)
            if note is not None and not dry_run:
                self._returning.notice(note, now)
                if self._check_new_saves(now):
                    note = self._read(run.note)
            patience = (
                PATIENCE_SECONDS if patient and run.source not in UNATTENDED else 0.0
            )
            note = self._wait_for_complete_save(run.note, note, now, patience)
            found = note.revision if note else None
            expected = full_revision(expected, found)
            if expected is not None and expected != found and not merge:
                raise NoteChanged(run.note, expected, found)
            base = (
                self._known.bytes_of(expected)
                if expected not in (None, found)
                else None
            )
            plan = plan_command(run, note.raw if note else None, self._known, base=base)
            if dry_run:
                return edit_of(plan.record(run, plan.after), recorded=False)
            if not plan.changes:
                silent = not (idle or plan.proposed)
                return (
                    edit_of(plan.record(run, plan.after), recorded=False)
                    if silent
                    else self.record_without_change(run, plan)
                )
            edit = self._written(run, plan, found, base, now, patience)
            self._check_new_saves(now)
            return edit

    def tend(self, now: datetime) -> list[Record]:
        """What is due: writes that waited, records that were not yet written, displaced files. Returns new records."""
        with self._turn(now) as records:
            records += self._fold(now).values()
            self._check_new_saves(now)
            return records

    def turn(self, now: datetime) -> AbstractContextManager[list[Record]]:
        """Nobody else curates this vault meanwhile; for verbs that are more than one run."""
        return self._turn(now)

    def is_due(self, now: datetime) -> bool:
        """Whether `tend` has anything to do; cheap."""
        waiting = (
            self.writer.pending()
            or self.writer.finished()
            or self.writer.snapshots.unjudged()
        )
        return bool(waiting) or self.writer.is_due(now.timestamp())

    def waiting(self) -> list[Waiting]:
        """The writes that wait for their notes."""
        pending = self.writer.pending()
        return [
            Waiting(op.path, op.reason, op.op_id, WriteResult.of(op).explanation)
            for op in pending
        ]

    def deciding(self) -> set[str]:
        """The ids of proposals whose decisions wait for their notes."""
        commands = (EditCommand.read(op.record) for op in self.writer.pending())
        return set().union(*(it.decided_proposals for it in commands if it))

    def keep(self, notes: Sequence[Note], now: datetime) -> None:
        """Keep these versions, which people saved, in the chains of their notes."""
        fresh = [
            (note.path, note.raw)
            for note in notes
            if (place := self._layout.place(note.path)) and _kept(place)
        ]
        if fresh:
            self.writer.snapshots.record_all(fresh, at=now.timestamp())
            if self.writer.snapshots.unjudged():
                with self._turn(now):
                    self._returning.look(now)

    def wants(self, path: str, revision: str) -> bool:
        """Whether this version of a note is to be kept, and is not yet."""
        place = self._layout.place(path)
        if place is None or not _kept(place):
            return False
        head = self.writer.snapshots.head(path)
        return head is None or head.revision != revision

    def _written(
        self,
        run: EditCommand,
        plan: Plan,
        expected: str | None,
        base: bytes | None,
        now: datetime,
        patience: float,
    ) -> Edit:
        """Put the new text there, wait a moment if that is what it takes, and record what was done."""
        began = time.monotonic()
        self._plans[run.id] = [plan]
        written = self._put(
            run, plan, expected, plan.before if base is None else base, now
        )
        records = self._finish()
        while (
            run.id not in records
            and written.reason in PASSING
            and (spent := time.monotonic() - began) < patience
        ):
            time.sleep(PAUSE_SECONDS)
            records = self._fold(now + timedelta(seconds=spent))
        if (record := records.get(run.id)) is not None:
            return edit_of(record, recorded=True)
        waiting = next((one for one in self.waiting() if one.id == run.id), None)
        reason, words = (
            (waiting.reason, waiting.explanation)
            if waiting
            else (written.reason, written.explanation)
        )
        return pending_of(plan, run, reason, words)

    def _put(
        self,
        run: EditCommand,
        plan: Plan,
        expected: str | None,
        base: bytes | None,
        now: datetime,
    ) -> WriteResult:
        kept = replace(run, planned_after=self._newest.get(run.note)).as_bytes()
        if plan.after is None:
            assert expected is not None, "a note that is not there cannot be taken away"
            return self.writer.trash(
                run.note, expected=expected, now=now, op_id=run.id, record=kept
            )
        quiet = UNATTENDED_QUIET_SECONDS if run.source in UNATTENDED else QUIET_SECONDS
        return self.writer.write(
            run.note,
            plan.after,
            expected=expected,
            now=now,
            op_id=run.id,
            quiet=quiet,
            record=kept,
            merge=lambda _, ours, theirs: self._on_newer(run, theirs, base),
        )

    def _on_newer(
        self, run: EditCommand, theirs: bytes, base: bytes | None
    ) -> bytes | None:
        """The text that the run makes of what somebody saved meanwhile."""
        try:
            plan = plan_command(run, theirs, self._known, base=base)
        except NotUndoable:
            plan = Plan(theirs, theirs)
        self._plans.setdefault(run.id, []).append(plan)
        return plan.after

    def there(self, path: str) -> Note | None:
        """The note as it stands; None when it is absent. Raises NotCurated, NoteUnreadable."""
        return self._read(path)

    def carry_out(self, run: EditCommand, note: Note, now: datetime) -> None:
        """A run of our own, within a turn; it waits where the note is in use. Raises as `run`."""
        plan = plan_command(run, note.raw, self._known)
        if plan.changes:
            self._written(run, plan, note.revision, None, now, 0.0)
        elif plan.proposed:
            self.record_without_change(run, plan)

    def _check_new_saves(self, now: datetime) -> bool:
        """Judge what people saved over the bot's lines; whether there was anything to judge."""
        found = bool(self.writer.snapshots.unjudged())
        if found:
            self._returning.look(now)
        return found

    def record_without_change(self, run: EditCommand, plan: Plan) -> Edit:
        """Of a run without effect: the note is not touched, and a run without ops leaves no record either."""
        record = plan.record(run, plan.after)
        said = bool(record.applied or record.rejected or record.proposed)
        if not said or (plan.before is None and not self._has_folder(run.note)):
            return edit_of(record, recorded=False)
        self.trail.add(record)
        self.inbox.show(record)
        self.inbox.clear(record)
        self._tell(record)
        return edit_of(record, recorded=True)

    def _finish(self) -> dict[str, Record]:
        """Write the records of writes that are done and have none; those that were written, by id."""
        records: dict[str, Record] = {}
        failed: set[str] = set()
        for op in self.writer.finished():
            run = EditCommand.read(op.record)
            if run is None:
                logger.warning("a write to %s has no record that can be read", op.path)
            elif run.note in failed:
                continue  # the record of an earlier run must not be made from that of a later one
            try:
                note = self._append_record(run, op, records) if run else ""
            except (NotRecorded, NoteUnreadable) as error:
                logger.warning("%s; it is tried again", error.message)
                failed |= {run.note} if run else set()
                continue
            self.writer.acknowledge([op.op_id], note)
        return records

    def _append_record(
        self, run: EditCommand, op: WriteOp, records: dict[str, Record]
    ) -> str:
        """The note whose audit has the record of a write now, or "". Raises NotRecorded, NoteUnreadable."""
        if (
            run.id not in self._plans
            and (held := self.trail.held(run.id, run.note)) is not None
        ):
            self.trail.fsync_log(
                run.note
            )  # who recorded it may have died before it was on the disk
            self.inbox.clear(held)
            return run.note
        record = self._record_of(run, op)
        if (
            run.decided_proposals and not record.proposed
        ):  # somebody else decided it while it waited
            return ""
        records[run.id] = record
        self.inbox.show(record)
        note_gap(self.writer, self.trail, run.note)
        try:
            self.trail.add(record)
        finally:
            self._learn(op.path)
        self.inbox.clear(record)
        self._tell(record)
        return run.note

    def _recorded(self, note: str) -> tuple[Record, ...]:
        """The records of a note, and what becomes the records of writes that were done this moment."""
        records = self.trail.of(note)
        for op in self.writer.finished() if self._plans else ():
            run = EditCommand.read(op.record)
            if (
                run is not None
                and run.note == note
                and all(one.id != run.id for one in records)
            ):
                records += (self._record_of(run, op, records),)
        self._newest[note] = records[-1].id if records else ""
        return records

    def _plan_of(self, run: EditCommand, op: WriteOp) -> Plan | None:
        """What this process planned for a write that is done."""
        plans = reversed(self._plans.get(run.id, ()))
        return next(
            (one for one in plans if _revision(one.before) == op.expected), None
        )

    def _record_of(
        self, run: EditCommand, op: WriteOp, earlier: Records | None = None
    ) -> Record:
        """What a write did; `earlier` are the records before it, by default those of the audit."""
        plan = self._plan_of(run, op)
        if plan is None:
            records = self.trail.of(run.note) if earlier is None else earlier
            plan = plan_again(run, op, self._known, records)
        return record_of(run, op, plan, self._known)

    def _fold(self, now: datetime) -> dict[str, Record]:
        self.writer.tend(now)
        return self._finish()

    def _merge(self, base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
        """For writes that waited: their runs on the newer text; for what a person saved late: by structure."""
        op = self._waiting_for(revision_of(ours))
        run = EditCommand.read(op.record) if op else None
        if run is not None:
            return self._on_newer(run, theirs, base)
        return three_way.merge(
            base, ours, theirs, between_people=True, date=self._today
        ).result

    def _waiting_for(self, content: str) -> WriteOp | None:
        """The write of this text that waited when this turn began, or when it was first asked for."""
        if content not in self._waiting:
            self._waiting |= {op.content: op for op in self.writer.pending()}
        return self._waiting.get(content)

    def _read(self, path: str) -> Note | None:
        """The note as it stands, where a link within the vault leads; None when it is absent."""
        self.place(path, persona=True)
        try:
            return self.folder.read(self.real(path), max_bytes=LARGEST_STORED)
        except NoteNotFound:
            return None

    def _wait_for_complete_save(
        self, path: str, note: Note | None, now: datetime, patience: float
    ) -> Note | None:
        """The note that a plan is made for."""
        snapshots = self.writer.snapshots
        known = snapshots.head(self.real(path)) is not None and not (
            note is None and self._threw_away(path)
        )
        if patience and (known if note is None else not (known or note.raw)):
            note = (
                reappeared(lambda: self._read(path), Path(self.folder.root, path), now)
                or note
            )
        return None if note is None else meant(note, snapshots, now)

    def _threw_away(self, path: str) -> bool:
        """Whether the last that was done to an absent note was to take it away."""
        last = self.trail.last_of(path + ENDING)
        return last is not None and bool(last.before) and not last.after

    def real(self, path: str) -> str:
        """Where a link within the vault leads; the path itself where there is none."""
        return real_path(self.files, path) or path

    def _has_folder(self, path: str) -> bool:
        folder = path.rpartition("/")[0]
        return os.path.isdir(os.path.join(self.folder.root, folder))

    @contextmanager
    def _turn(self, now: datetime) -> Iterator[list[Record]]:
        """Nobody else curates this vault meanwhile; what one who died left without a record gets it first."""
        # Somebody may have deleted the state folder under a process that lives for long, such as `mcp`.
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._today = f"{now:%Y-%m-%d}"
            self.writer.recover_interrupted(
                now
            )  # its record is to be told from the audit as it was
            adopt_salvaged(self.writer, self.folder, now)
            yield list(self._finish().values())
        finally:
            self._plans.clear()
            self._newest.clear()
            self._waiting.clear()
            os.close(fd)


def _kept(place: Place) -> bool:
    return place.kind in CURATED or place.kind == "inbox"


def _revision(raw: bytes | None) -> str | None:
    return None if raw is None else revision_of(raw)
