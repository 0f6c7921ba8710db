"""Plans: what a command will do to a note, computed without effects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vault_memory.edits.commands import EditCommand
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    Record,
    RecordedOp,
    known_proposals,
    record_run,
)
from vault_memory.rules.edits.ops import Applied, Outcome, Rejected
from vault_memory.rules.edits.ownership import replay
from vault_memory.vault.snapshots import revision_of

if TYPE_CHECKING:
    from vault_memory.rules.edits import policy
else:
    policy = lazy_module("vault_memory.rules.edits.policy")


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Look-ups of a planner."""

    records: Callable[[str], tuple[Record, ...]]
    """of one note, the oldest first"""
    bytes_of: Callable[[str | None], bytes | None]
    """of a revision; None when its bytes are not stored"""
    human_items: Literal["propose", "edit"] = "propose"
    deleted: Callable[[str], Callable[[str, str], bool]] = lambda note: _nothing_deleted
    """of a note: whether a person deleted a line below a heading from the notes of its scope"""

    def is_deleted(
        self,
        command: EditCommand,
    ) -> Callable[[str, str], bool]:
        """Returns the look-up for lines of a command."""
        # A night learns from new turns of the person, whose words bring a statement back.
        is_tool = command.source == "tool"
        return self.deleted(command.note) if is_tool else _nothing_deleted


def _nothing_deleted(heading: str, line: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What a command does to a note."""

    before: bytes | None
    """None: the note does not exist"""
    after: bytes | None
    """None: the note does not exist, or the command takes it away"""
    applied: tuple[Applied | RecordedOp, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    proposed: tuple[Proposal, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the note has to be written."""
        return self.before != self.after

    def record(
        self,
        command: EditCommand,
        after: bytes | None,
    ) -> Record:
        """Returns the audit record; `after` is what the note really says now."""
        head = Record(
            command.id,
            command.ts,
            command.user_id,
            command.source,
            command.note,
            why=command.why,
            undoes=command.undone_record,
        )
        return record_run(
            head,
            before=self.before,
            after=after,
            applied=self.applied,
            rejected=self.rejected,
            proposed=self.proposed,
        )


@dataclass(frozen=True, slots=True)
class RedactionPlan(EditPlan):
    """The plan of a redaction. Its record tells neither the text nor the version before."""

    def record(
        self,
        command: EditCommand,
        after: bytes | None,
    ) -> Record:
        """Returns the audit record, without a diff and without `before`."""
        applied: tuple[RecordedOp, ...] = ()
        if after != self.before:
            applied = tuple(op for op in self.applied if isinstance(op, RecordedOp))
        return Record(
            command.id,
            command.ts,
            command.user_id,
            command.source,
            command.note,
            applied,
            after="" if after is None else revision_of(after),
            redacted=True,
        )


def apply_by_policy(
    command: EditCommand,
    before: bytes | None,
    ops: tuple[object, ...],
    inputs: PlanInputs,
) -> tuple[Outcome, tuple[Proposal, ...]]:
    """Applies the ops that the source of the command may apply, and refuses or proposes the others."""
    if command.source not in BOT_SOURCES:
        return apply_ops(parse(before or b""), ops), ()
    records = inputs.records(command.note)
    doc = parse(before or b"")
    rules = policy.Rules(
        command.source,
        command.note,
        command.kind,
        replay(records),
        inputs.human_items,
        command.origin,
        known_proposals(records, command.note),
        command.why,
        frozenset(command.owner_words),
    )
    decision = policy.decide(doc, ops, rules)
    return decision.outcome, decision.proposed


def any_applied(applied: Sequence[Applied | RecordedOp]) -> bool:
    """Whether at least one op changed the note."""
    return any(op.outcome == "applied" for op in applied)
