"""The acknowledged operations of one vault, during one visit: those that the home lacks."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vault_memory.addons.fleet import acknowledged_ops
from vault_memory.addons.fleet.acknowledged_ops import (
    AcknowledgedOp,
    OpOutcome,
    execute,
    records_of,
)
from vault_memory.addons.fleet.ledger.contract import KeptOp, Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteUnreadable, VaultMemoryError
from vault_memory.markdown import is_text
from vault_memory.rules.edits.audit_reader import read_record
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.unified_diff import lines_of
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.snapshots import revision_of

logger = logging.getLogger(__name__)


# --- Op replay ---

# Replays acknowledged operations that a host kept in the ledger and did not bring home.
#
# A host may be killed at each of its writes, which come in a certain order: first the notes,
# then their audit files. So an audit record in the home proves that its change was there.
# Without the record, the outcome that the host kept shows whether the note has the change; then
# only its record is added.


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


# --- Kept ops ---


class KeptOps:
    """The operations that the ledger keeps. Its visit lets one thread at a time call it."""

    def __init__(self, lease: Lease, ledger: Ledger) -> None:
        self.first_refused: int | None = None
        """The place of the first operation that the vault refuses"""
        self._lease = lease
        self._ledger = ledger
        self._missing: dict[int, str] = {}
        """the notes of operations whose effect is not in the scratch, by their place"""
        self._executed: dict[int, AcknowledgedOp] = {}
        """operations whose effect is in the scratch, by their place in the ledger"""

    @property
    def missing_notes(self) -> frozenset[str]:
        """The notes that lack the words of an operation: no answer about them is fresh."""
        return frozenset(self._missing.values())

    @property
    def has_executed(self) -> bool:
        """Whether the scratch has operations that the home may lack."""
        return bool(self._executed)

    def keep(self, op: AcknowledgedOp, waits_for: str = "") -> None:
        """Store an operation durably. `waits_for`: the note in which it is not executed yet.

        Raises LeaseLost, LedgerAway: after the latter, it may be stored or not.
        """
        vault = self._lease.vault
        # Fault: this host was stopped before this line, and another one holds the vault by now.
        # Acknowledged here, the words would be missing there until its next flush.
        seq = self._ledger.keep(vault, op.as_bytes(), op.op_id, self._lease)
        if waits_for:
            self._missing[seq] = waits_for
        else:
            self._executed[seq] = op

    def waiting(self) -> list[KeptOp]:
        """Return the operations that are not in the scratch. Raises LeaseLost, LedgerAway."""
        kept = self._ledger.kept(self._lease)
        return [row for row in kept if row.seq not in self._executed]

    def replay(self, memory: VaultMemory, waiting: list[KeptOp]) -> None:
        """Do what was acknowledged, by this host or another, and is not in the scratch."""
        ops = {row.seq: _read_op(row.op, row.outcome) for row in waiting}
        replay = OpReplay(memory, [op for op in ops.values() if op is not None])
        for seq, op in ops.items():
            if op is None or not _is_replayed(replay, op):
                self._missing[seq] = _note_of(op)
                # The operation stays in the ledger, and so do those after it.
                self.first_refused = min(seq, self.first_refused or seq)
            else:
                # Fault: the text is newer now, so the operation may have done something else.
                self._executed[seq] = self._with_outcome(memory, seq, op)
                self._missing.pop(seq, None)

    def note_outcomes(self, memory: VaultMemory) -> None:
        """Keep what operations have written meanwhile, before any of it goes home."""
        for seq, op in self._executed.items():
            if op.call != "record" and not op.outcome.records:
                self._executed[seq] = self._with_outcome(memory, seq, op)

    def last_seq(self) -> int:
        """The place of the last operation up to which all are in the scratch."""
        first_refused = self.first_refused
        return max(
            (seq for seq in self._executed if first_refused is None or seq < first_refused),
            default=0,
        )

    def fold(self, until: int) -> None:
        """Let the ledger forget what the home has."""
        if until:
            self._ledger.folded(self._lease, until)
        for seq in [seq for seq in self._executed if seq <= until]:
            del self._executed[seq]

    def _with_outcome(self, memory: VaultMemory, seq: int, op: AcknowledgedOp) -> AcknowledgedOp:
        """Return an operation with what it has written, which the ledger gets, too."""
        outcome = acknowledged_ops.current_outcome(memory, op)
        if outcome == op.outcome:
            return op
        op = replace(op, outcome=outcome)
        self._ledger.outcome(self._lease, seq, op.as_bytes())
        return op


def _note_of(op: AcknowledgedOp | None) -> str:
    """Return the note that an operation changes, as far as it is known."""
    note = "" if op is None else op.outcome.note or op.arguments.get("note")
    return str(note or MARKER)


def _is_replayed(replay: OpReplay, op: AcknowledgedOp) -> bool:
    try:
        replay.replay(op)
    except VaultMemoryError as error:
        # Fault: one operation that the vault refuses must not stop the others.
        logger.warning("an acknowledged operation waits: %s", error.code)
        return False
    return True


def _read_op(raw: bytes, outcome: bytes | None) -> AcknowledgedOp | None:
    """Return an operation of the ledger, with its newest outcome; None for an unreadable one."""
    try:
        return AcknowledgedOp.read(outcome or raw)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("an acknowledged operation cannot be read: %s", error)
        return None
