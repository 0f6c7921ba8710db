"""Writes audit records: one for each command, after its text is on the disk.

The journal remembers a write until its record is written. So a crash anywhere leaves one record for each command, and
neither none nor two.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.backup_detection import note_gap
from vault_memory.edits.commands import EditCommand, SaveText
from vault_memory.edits.edit_errors import NotRecorded
from vault_memory.edits.inbox import Inbox
from vault_memory.edits.note_access import NoteAccess, NoteState
from vault_memory.edits.plans.edit_plan import plan_command
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.errors import NoteUnreadable, VaultMemoryError
from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import Record, moment_of
from vault_memory.rules.edits.ownership import changed_texts
from vault_memory.vault.fs import Files
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.writer import Writer

TYPE_CHECKING = False  # as in `typing`, which takes time to load

logger = logging.getLogger(__name__)
Records = tuple[Record, ...]
"""of one note, the oldest first"""


class EditorSetup(NamedTuple):
    """What an editor does after a write, and the parts that replace its own."""

    human_items: Literal["propose", "edit"] = "propose"
    """what the bot may do with items of people"""
    learn: Callable[[str, Note | None], None] = lambda path, note: None
    """gets the path of each note that was written, and the note unless it was saved since"""
    tell: Callable[[Record], None] = lambda record: None
    """gets each new record"""
    trail: AuditLog | None = None
    files: Files | None = None


class AuditRecorder:
    """Writes the records of one vault; called inside a transaction of the editor."""

    def __init__(
        self,
        trail: AuditLog,
        inbox: Inbox,
        writer: Callable[[], Writer],
        setup: EditorSetup,
        access: NoteAccess,
    ) -> None:
        self.inputs = PlanInputs(
            self.records_of,
            lambda revision: writer().snapshots.bytes_of(revision),
            setup.human_items,
            access.deleted,
            access.kept_out,
            DeletionTimes(access, trail, writer).said_later,
        )
        self._trail, self._inbox, self._writer = trail, inbox, writer
        self._setup = setup
        self._plans: dict[str, list[tuple[str | None, EditPlan]]] = {}
        """plans of this transaction, each after the revision it is made from, by command id"""
        self._recorded: dict[str, str] = {}
        """id of the record before that of a command of this transaction, by command id"""
        self._newest: dict[str, str] = {}
        """id of the newest record that a plan of this transaction used, by note"""

    def start(self, command: EditCommand, plan: EditPlan, state: NoteState) -> None:
        """Remembers the plan that is about to be written, made from this state of the note."""
        self._plans[command.id] = [(state.revision, plan)]
        self._recorded[command.id] = state.loaded.recorded

    def is_started(self, command: EditCommand) -> bool:
        """Whether the command was started in this transaction, so that its caller waits for it."""
        return command.id in self._recorded

    def revise(self, command: EditCommand, plan: EditPlan) -> None:
        """Remembers the plan on a newer text of the note."""
        revision = None if plan.before is None else revision_of(plan.before)
        self._plans.setdefault(command.id, []).append((revision, plan))

    def planned_after(self, note: str) -> str | None:
        """Returns the id of the newest record that plans for a note used, empty for none; None: they used none."""
        return self._newest.get(note)

    def forget_plans(self) -> None:
        """Ends a transaction."""
        self._plans.clear()
        self._recorded.clear()
        self._newest.clear()

    def record_finished(self) -> dict[str, Record]:
        """Writes the records of all finished writes. Returns the new records by command id."""
        writer = self._writer()
        writer.newly_finished()  # they are among all
        return self.record_all(writer, writer.finished())

    def record_all(self, writer: Writer, writes: Iterable[PendingWrite]) -> dict[str, Record]:
        """Writes the records of these finished writes. Returns the new records by command id."""
        records: dict[str, Record] = {}
        unrecorded_notes: set[str] = set()
        for write in writes:
            command = EditCommand.read(write.record)
            if command is None:
                logger.warning("the journal has no readable command for a write to %s", write.path)
                writer.acknowledge([write.op_id])
                continue
            # Fault (B39): the record of an earlier command must not be planned from
            # that of a later one.
            if command.note in unrecorded_notes:
                continue
            try:
                self._record(command, write, writer, records)
            except (NotRecorded, NoteUnreadable) as error:
                logger.warning("%s; it is tried again", error.message)
                unrecorded_notes.add(command.note)
        return records

    def record_unwritten(self, record: Record) -> None:
        """Writes the record of a command that did not change its note. Raises NotRecorded."""
        self._trail.add(record)
        self._inbox.show(record)
        self._inbox.clear(record)
        self._setup.tell(record)

    def records_of(self, note: str) -> tuple[Record, ...]:
        """Returns the records of a note, with those of writes that finished in this transaction."""
        records = self._trail.load(note)
        for write in self._writer().finished() if self._plans else ():
            command = EditCommand.read(write.record)
            if command is None or command.note != note:
                continue
            if all(record.id != command.id for record in records):
                records += (self._record_of(command, write, records),)
        self._newest[note] = records[-1].id if records else ""
        return records

    def _record(
        self, command: EditCommand, write: PendingWrite, writer: Writer, records: dict[str, Record]
    ) -> None:
        """Writes the record of a write, if it has none yet, and acknowledges it; adds it to `records`.

        Raises NotRecorded, NoteUnreadable.
        """
        # Fault (B33): another process may have written the record, and died before it
        # told the journal.
        if command.id not in self._plans:
            recorded = self._trail.held(command.id, command.note)
            if recorded is not None:
                # Fault (B35): that process may have died before the record was on the
                # disk.
                self._trail.fsync_log(command.note)
                self._inbox.clear(recorded)
                writer.acknowledge([write.op_id], command.note)
                return
        record = self._record_of(command, write)
        # Fault: another program may have decided the same proposals while the write
        # waited. A second record would carry them out twice.
        if command.decided_proposals and not record.proposed:
            writer.acknowledge([write.op_id])
            return
        # A save that met a conflict wrote nothing, and its caller has the error.
        is_silent = not record.applied and write.outcome == "unchanged"
        if isinstance(command.action, SaveText) and is_silent:
            writer.acknowledge([write.op_id])
            return
        # Fault (B39): the note has the text, also when its record has to wait.
        records[command.id] = record
        self._inbox.show(record)
        self._note_gap(command, writer)
        try:
            self._trail.add(record)
            writer.acknowledge([write.op_id], command.note)
        finally:
            self._setup.learn(write.path, writer.written(write))
        self._inbox.clear(record)
        self._setup.tell(record)

    def _note_gap(self, command: EditCommand, writer: Writer) -> None:
        recorded = self._recorded.get(command.id)
        if recorded is None:
            recorded = writer.journal.recorded_of(command.note)
        if recorded:
            note_gap(writer, self._trail, command.note, recorded)

    def _record_of(
        self, command: EditCommand, write: PendingWrite, earlier: Records | None = None
    ) -> Record:
        """Returns the record of a write; `earlier` are the records before it, by default those of the audit log."""
        plan = self._find_plan(command, write)
        if plan is None:
            records = self._trail.load(command.note) if earlier is None else earlier
            plan = plan_again(command, write, self.inputs, records)
        return record_of(command, write, plan, self.inputs)

    def _find_plan(self, command: EditCommand, write: PendingWrite) -> EditPlan | None:
        """Returns the newest plan of this transaction for the text that was replaced."""
        for revision, plan in reversed(self._plans.get(command.id, ())):
            if revision == write.expected:
                return plan
        return None


# --- The record of a write ---

# The audit record of a write: what its plan did, also when another process finds the write
# after a crash.


def plan_again(run: EditCommand, op: PendingWrite, known: PlanInputs, earlier: Records) -> EditPlan:
    """The plan of a write that this process did not plan itself; `earlier` are the records before the write.

    A write that waited is carried out just before a later run on the same note. Planned again with the
    record of that later run, it would seem to do something else. Raises NoteUnreadable.
    """
    before = known.bytes_of(op.expected)
    records = earlier
    # Fault (B33): a write that waited is carried out before a later command. Planned
    # from the record of that later one, it would seem to do something else.
    if op.outcome == "written":
        records = _up_to(run.planned_after, earlier)
    lookup = replace(
        known, records=lambda note: records if note == run.note else known.records(note)
    )
    try:
        return plan_command(run, before, lookup, base=known.bytes_of(op.base))
    except NoteUnreadable:
        raise  # the audit: what was done can be told once it is read
    except VaultMemoryError as error:
        logger.warning("what run %s did cannot be told: %s", run.id, error.message)
        return EditPlan(before, before)


def record_of(run: EditCommand, op: PendingWrite, plan: EditPlan, known: PlanInputs) -> Record:
    """The record of a write with this plan."""
    after = plan.before if op.after == op.expected else plan.after
    # Fault (B33): the write ended without effect, and the record must not claim its
    # ops.
    if plan.changes and op.after == op.expected:
        plan = replace(plan, applied=())
    if op.outcome == "copied":
        why = f"{run.why} (it lies in a copy beside the note)".strip()
        run = replace(run, why=why)
    record = plan.record(run, after)
    # Fault (A1): another text than the planned one came into the note, by a merge or by
    # a plan on another version.
    if record.after != (op.after or ""):
        record = plan.record(run, known.bytes_of(op.after))
    return record


def _up_to(record_id: str | None, records: Records) -> Records:
    """The records from which a write was planned whose text went into the note as it was planned.

    A person may have decided otherwise while it waited. Planned from all records, it would seem not done.
    """
    if record_id is None:
        return records
    ids = [record.id for record in records]
    if record_id in ids:
        return records[: ids.index(record_id) + 1]
    return records if record_id else ()


# --- Deletion times ---


class _LastRecord(NamedTuple):
    """The last record that wrote or removed an item."""

    at: float
    """seconds since 1970"""
    removed: bool


class DeletionTimes:
    """When items were deleted, by the audits, the stored versions and the files of a vault."""

    def __init__(
        self, access: "NoteAccess", trail: "AuditLog", writer: "Callable[[], Writer]"
    ) -> None:
        self._access, self._trail, self._writer = access, trail, writer

    def said_later(self, command: "EditCommand", note: str, text: str, turn: str) -> bool:
        """Returns whether a turn of a command is later than the deletion of an item of a note.

        `text` is the normalised text of the item.
        """
        turn_time = (command.spoken or {}).get(turn)
        if not turn_time:
            return False
        now = moment_of(command.ts).timestamp()
        return moment_of(turn_time).timestamp() > self._deleted_at(note, text, now)

    def _deleted_at(self, note: str, text: str, now: float) -> float:
        """Returns when a person deleted an item of a note, in seconds since 1970."""
        last = self._last_record(note, text, now)
        if last.removed:
            return last.at
        was_observed, absent_since = self._seen_without(note, text)
        if was_observed and last.at <= absent_since <= now:
            return absent_since
        # Fault: a copied file may have the time of an older one. The change of its entry in the
        # folder is later. Where both are wrong, the clock that gave them is another one.
        times = (seconds for seconds in self._access.times(note) if last.at <= seconds <= now)
        return next(times, last.at)

    def _last_record(self, note: str, text: str, now: float) -> _LastRecord:
        last = _LastRecord(0.0, False)
        for record in self._trail.of(note):
            at = moment_of(record.ts).timestamp()
            # What is later than the night itself has the time of another clock.
            for applied in record.applied if at <= now else ():
                removed, added = changed_texts(applied)
                if text in removed | added:
                    last = _LastRecord(at, text not in added)
        return last

    def _seen_without(self, note: str, text: str) -> tuple[bool, float]:
        """Returns whether a version before the present file lacks an item, and when the first was seen."""
        snapshots = self._writer().snapshots
        live = self._access.read(note)
        first: float | None = None
        for version in snapshots.chain(self._access.real(note)):
            raw = snapshots.bytes_of(version.revision)
            if raw is None or text in {item.key[1] for item in items_of(parse(raw))}:
                break
            # The file of the present version tells better when it was saved.
            is_live = live is not None and version.revision == live.revision
            first = None if is_live else version.at
        return first is not None, first or 0.0
