"""Writes audit records: one for each command, after its text is on the disk.

The journal remembers a write until its record is written. So a crash anywhere leaves one record for each command, and
neither none nor two.
"""

import logging
from collections.abc import Callable
from typing import Literal, NamedTuple

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.backup_detection import note_gap
from vault_memory.edits.commands import EditCommand
from vault_memory.edits.edit_errors import NotRecorded
from vault_memory.edits.inbox import Inbox
from vault_memory.edits.plans.plan import Plan, PlanInputs
from vault_memory.edits.plans.write_record import Records, plan_again, record_of
from vault_memory.errors import NoteUnreadable
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.writer import Writer

logger = logging.getLogger(__name__)


class Listeners(NamedTuple):
    """Functions that the editor calls after a write."""

    learn: Callable[[str], None] = lambda path: None
    """gets the path of each note that was written"""
    tell: Callable[[Record], None] = lambda record: None
    """gets each new record"""


class AuditRecorder:
    """Writes the records of one vault; called inside a transaction of the editor."""

    def __init__(
        self,
        trail: AuditLog,
        inbox: Inbox,
        writer: Callable[[], Writer],
        listeners: Listeners,
        human_items: Literal["propose", "edit"],
    ) -> None:
        self.inputs = PlanInputs(self.records_of, self._bytes_of, human_items)
        self._trail, self._inbox, self._writer = trail, inbox, writer
        self._listeners = listeners
        self._plans: dict[str, list[Plan]] = {}
        """plans of this transaction, by command id"""
        self._newest: dict[str, str] = {}
        """id of the newest record that a plan of this transaction used, by note"""

    def start(self, command: EditCommand, plan: Plan) -> None:
        """Remembers the plan that is about to be written."""
        self._plans[command.id] = [plan]

    def revise(self, command: EditCommand, plan: Plan) -> None:
        """Remembers the plan on a newer text of the note."""
        self._plans.setdefault(command.id, []).append(plan)

    def planned_after(self, note: str) -> str | None:
        """Returns the id of the newest record that plans for a note used, empty for none; None: they used none."""
        return self._newest.get(note)

    def forget_plans(self) -> None:
        """Ends a transaction."""
        self._plans.clear()
        self._newest.clear()

    def record_finished(self) -> dict[str, Record]:
        """Writes the records of finished writes. Returns the new records by command id."""
        records: dict[str, Record] = {}
        unrecorded_notes: set[str] = set()
        writer = self._writer()
        for write in writer.finished():
            command = EditCommand.read(write.record)
            if command is None:
                logger.warning(
                    "the journal has no readable command for a write to %s", write.path
                )
            elif command.note in unrecorded_notes:
                # The record of an earlier command must not be planned from that of a later one.
                continue
            try:
                note = self._record(command, write, records) if command else ""
            except (NotRecorded, NoteUnreadable) as error:
                logger.warning("%s; it is tried again", error.message)
                if command is not None:
                    unrecorded_notes.add(command.note)
                continue
            writer.acknowledge([write.op_id], note)
        return records

    def record_unwritten(self, record: Record) -> None:
        """Writes the record of a command that did not change its note. Raises NotRecorded."""
        self._trail.add(record)
        self._inbox.show(record)
        self._inbox.clear(record)
        self._listeners.tell(record)

    def records_of(self, note: str) -> tuple[Record, ...]:
        """Returns the records of a note, with those of writes that finished in this transaction."""
        records = self._trail.of(note)
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
        self, command: EditCommand, write: PendingWrite, records: dict[str, Record]
    ) -> str:
        """Returns the note whose audit has the record now, or an empty string for a write without a record.

        Raises NotRecorded, NoteUnreadable.
        """
        # Another process may have written the record, and died before it told the journal.
        if command.id not in self._plans:
            recorded = self._trail.held(command.id, command.note)
            if recorded is not None:
                # That process may have died before the record was on the disk.
                self._trail.fsync_log(command.note)
                self._inbox.clear(recorded)
                return command.note
        record = self._record_of(command, write)
        # Another program may have decided the same proposals while the write waited.
        if command.decided_proposals and not record.proposed:
            return ""
        records[command.id] = record
        self._inbox.show(record)
        note_gap(self._writer(), self._trail, command.note)
        try:
            self._trail.add(record)
        finally:
            self._listeners.learn(write.path)
        self._inbox.clear(record)
        self._listeners.tell(record)
        return command.note

    def _record_of(
        self, command: EditCommand, write: PendingWrite, earlier: Records | None = None
    ) -> Record:
        """Returns the record of a write; `earlier` are the records before it, by default those of the audit log."""
        plan = self._find_plan(command, write)
        if plan is None:
            records = self._trail.of(command.note) if earlier is None else earlier
            plan = plan_again(command, write, self.inputs, records)
        return record_of(command, write, plan, self.inputs)

    def _find_plan(self, command: EditCommand, write: PendingWrite) -> Plan | None:
        """Returns the newest plan of this transaction for the text that was replaced."""
        for plan in reversed(self._plans.get(command.id, ())):
            revision = None if plan.before is None else revision_of(plan.before)
            if revision == write.expected:
                return plan
        return None
