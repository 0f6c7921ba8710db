"""Replays acknowledged operations that a host kept in the ledger and did not bring home.

A host may be killed at each of its writes, which come in a certain order: first the notes, then
their audit files. So an audit record in the home proves that its change was there. Without the
record, the outcome that the host kept shows whether the note has the change; then only its
record is added.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vault_memory.addons.fleet.acknowledged_ops import (
    AcknowledgedOp,
    OpOutcome,
    execute,
    records_of,
)
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteUnreadable
from vault_memory.markdown import is_text
from vault_memory.rules.edits.audit_reader import read_record
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.unified_diff import lines_of
from vault_memory.vault.snapshots import revision_of


class OpReplay:
    """Replays the operations of one vault in their order."""

    def __init__(self, memory: VaultMemory, ops: Sequence[AcknowledgedOp]) -> None:
        """`ops` are all that wait, the oldest first. Reads the notes that they changed."""
        self._memory = memory
        self._contained: set[str] = set()
        """ids of records whose changes the notes have"""
        changes: dict[str, list[Record]] = {}
        for op in ops:
            if op.call == "record" or self._is_recorded(op):
                continue
            for record in _records(op.outcome):
                changes.setdefault(record.note, []).append(record)
        for note, records in changes.items():
            count = _count_contained(records, self._text(note))
            self._contained.update(record.id for record in records[:count])

    def replay(self, op: AcknowledgedOp) -> None:
        """Execute an operation, unless the vault has its effect. Raises as `execute`."""
        if op.call == "record":
            execute(self._memory, op, again=True)
            return
        if self._is_recorded(op):
            return
        records = _records(op.outcome)
        if records and all(record.id in self._contained for record in records):
            for record in records:
                self._add_record(record, op)
        else:
            self._check_text(op)
            execute(self._memory, op, again=True)

    def _check_text(self, op: AcknowledgedOp) -> None:
        """Raise NoteUnreadable for a note that takes no words at this moment."""
        note = op.outcome.note
        text = self._text(note) if note else None
        # Fault: a person has saved the note in another encoding. The vault would reject what it
        # acknowledged, and the words would be in the audit only.
        if text is not None and not is_text(text):
            raise NoteUnreadable(note, "it is no text in UTF-8")

    def _add_record(self, record: Record, op: AcknowledgedOp) -> None:
        """Write the record of a change that the note has."""
        with self._memory.edits.transaction():
            editor = self._memory.edits.editor
            with editor.turn(op.now):
                editor.trail.add(record)
                editor.inbox.show(record)
                editor.inbox.clear(record)

    def _is_recorded(self, op: AcknowledgedOp) -> bool:
        """Whether the audit has the operation, or the journal a write of it that waits."""
        with self._memory.edits.transaction():
            pending = self._memory.edits.editor.writer.pending()
        if any(write.op_id.startswith(op.prefix) for write in pending):
            return True
        note = op.outcome.note or str(op.arguments.get("note", ""))
        return bool(note and records_of(self._memory, op, note))

    def _text(self, note: str) -> bytes | None:
        """The bytes of a note; None when it is absent."""
        with self._memory.edits.transaction():
            stored = self._memory.edits.editor.there(note)
        return None if stored is None else stored.raw


def _count_contained(records: Sequence[Record], text: bytes | None) -> int:
    """Count the first records of a note whose changes its text has.

    A host sends a note with all changes up to some record. A person may have saved it since.
    """
    current = "" if text is None else revision_of(text)
    for count in range(len(records), 0, -1):
        if current == records[count - 1].after:
            return count
    if text is None or current == records[0].before:
        return 0
    lines = {line.strip() for line in lines_of(text)}
    for count in range(len(records), 0, -1):
        added, removed = _net_change(records[:count])
        if added <= lines and not removed & lines:
            return count
    return 0


def _net_change(records: Sequence[Record]) -> tuple[set[bytes], set[bytes]]:
    """Return the lines that several changes together add to a note, and those that they remove."""
    balance = Counter[bytes]()
    for record in records:
        for row in record.diff.split(b"\n"):
            if row[:3] in (b"+++", b"---"):
                continue
            sign, line = row[:1], row[1:].strip()
            if line and sign == b"+":
                balance[line] += 1
            elif line and sign == b"-":
                balance[line] -= 1
    added = {line for line, number in balance.items() if number > 0}
    removed = {line for line, number in balance.items() if number < 0}
    return added, removed


def _records(outcome: OpOutcome) -> list[Record]:
    return [_record(fields) for fields in outcome.records]


def _record(fields: Mapping[str, Any]) -> Record:
    record = read_record(fields)
    if record is None:
        raise ValueError("the outcome of an operation has no audit record")
    return record
