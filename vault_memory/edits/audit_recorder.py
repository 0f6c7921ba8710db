"""Writes audit records: one for each command, after its text is on the disk.

The journal remembers a write until its record is written. So a crash anywhere leaves one record for each command, and
neither none nor two.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.backup_detection import note_gap
from vault_memory.edits.commands import EditCommand, SaveText
from vault_memory.edits.edit_errors import NotRecorded
from vault_memory.edits.inbox import Inbox
from vault_memory.edits.note_access import NoteAccess, NoteState
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.edits.plans.write_record import Records, plan_again, record_of
from vault_memory.errors import NoteUnreadable
from vault_memory.lazy import lazy_module
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.writer import Writer

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from vault_memory.edits.audit import deletion_times
else:
    deletion_times = lazy_module("vault_memory.edits.audit.deletion_times")

logger = logging.getLogger(__name__)


class Listeners(NamedTuple):
    """Functions that the editor calls after a write."""

    learn: Callable[[str, Note | None], None] = lambda path, note: None
    """gets the path of each note that was written, and the note if nobody saved since"""
    tell: Callable[[Record], None] = lambda record: None
    """gets each new record"""


class LookUps(NamedTuple):
    """What plans are made with beside audits and versions; see `PlanInputs`."""

    human_items: Literal["propose", "edit"]
    access: NoteAccess


class AuditRecorder:
    """Writes the records of one vault; called inside a transaction of the editor."""

    def __init__(
        self,
        trail: AuditLog,
        inbox: Inbox,
        writer: Callable[[], Writer],
        listeners: Listeners,
        look_ups: LookUps,
    ) -> None:
        access = look_ups.access
        self.inputs = PlanInputs(
            self.records_of,
            self._bytes_of,
            look_ups.human_items,
            access.deleted,
            access.kept_out,
            lambda *turn: deletion_times.DeletionTimes(access, trail, writer).said_later(*turn),
        )
        self._trail, self._inbox, self._writer = trail, inbox, writer
        self._listeners = listeners
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
        self._listeners.tell(record)

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

    def _bytes_of(self, revision: str | None) -> bytes | None:
        return self._writer().snapshots.bytes_of(revision)

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
        if isinstance(command.action, SaveText) and not _says_anything(record, write):
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
            self._listeners.learn(write.path, writer.written(write))
        self._inbox.clear(record)
        self._listeners.tell(record)

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


def _says_anything(record: Record, write: PendingWrite) -> bool:
    """Whether a write changed its note, had nothing to change, or left a copy."""
    return bool(record.applied) or write.outcome != "unchanged"
