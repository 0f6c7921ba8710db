"""The acknowledged operations of one vault, during one visit: those that the home lacks."""

import logging
from dataclasses import replace

from vault_memory.addons.fleet import acknowledged_ops
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.contract import KeptOp, Lease, Ledger
from vault_memory.addons.fleet.op_replay import OpReplay
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.marker import NAME as MARKER

logger = logging.getLogger(__name__)


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
