"""Plans: what a command will do to a note, computed without effects."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from vault_memory.edits.commands import EditCommand, UndoRecord
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised_text, parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits import policy
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import (
    BOT_SOURCES,
    Proposal,
    Record,
    RecordedOp,
    known_proposals,
    record_run,
)
from vault_memory.rules.edits.ops import (
    AddHeading,
    Applied,
    Op,
    Outcome,
    Rejected,
    as_json,
    new_text,
    op_of,
)
from vault_memory.rules.edits.ownership import Ownership, replay, text_of_line
from vault_memory.vault.snapshots import revision_of

if TYPE_CHECKING:
    from vault_memory.edits.audit.deleted_items import FindDeleted


KeptOut = Callable[[str, Iterable[str]], str]
"""Returns why no tool stores lines below a heading, or an empty string"""


def _nothing_kept_out(heading: str, lines: Iterable[str]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Look-ups of a planner."""

    records: Callable[[str], tuple[Record, ...]]
    """of one note, the oldest first"""
    bytes_of: Callable[[str | None], bytes | None]
    """of a revision; None when its bytes are not stored"""
    human_items: Literal["propose", "edit"] = "propose"
    deleted: Callable[[str], "FindDeleted"] = lambda note: lambda heading, line: ()
    """of a note: finds what people deleted from the notes of its scope and a line says again"""
    kept_out: KeptOut = _nothing_kept_out
    """why lines below a heading are stored by no tool"""

    said_later: Callable[[EditCommand, str, str, str], bool] = lambda *_: False
    """whether a turn is later than the deletion of an item; given are its note, its text and the turn's id"""

    def allow_again(
        self, command: EditCommand, ops: Iterable[object], owners: Ownership
    ) -> Ownership:
        """Returns the ownership in which ops may write what the person said after its deletion."""
        deleted = owners.texts
        lines = [line for op in map(op_of, ops) if op for line in new_text(op).lines]
        return owners.allowing(
            {
                text
                for line in lines
                if (text := text_of_line(line)) in deleted
                and self.said_later(command, command.note, text, parse_item(line).ref)
            }
        )

    def is_deleted(
        self, command: EditCommand, before: bytes | None = None
    ) -> Callable[[str, str], bool]:
        """Returns whether a line below a heading says again what a person deleted, as a function of both.

        What the person says after the deletion may be written again, with its turn. `before` is the
        note that the command changes.
        """
        if command.spoken is None:
            return lambda heading, line: False
        find = self.deleted(command.note)

        def is_deleted(heading: str, line: str) -> bool:
            ref = parse_item(line).ref
            return any(
                not self.said_later(command, item.note, item.text, ref)
                for item in find(heading, line)
                # Fault: a write that was cut off is planned again when the file has its new text.
                if item.note != command.note
                or all(item.text != old.key[1] for old in items_of(parse(before or b"")))
            )

        return is_deleted

    def kept_out_of(self, command: EditCommand) -> KeptOut:
        """Returns the look-up for lines of a command: it binds tools, and no person."""
        return self.kept_out if command.source == "tool" else _nothing_kept_out

    def refuse_kept_out(
        self, doc: SectionedDoc, ops: Iterable[object]
    ) -> tuple[list[object], list[Rejected]]:
        """Returns the ops of a tool that may be stored, and those that may not."""
        allowed: list[object] = []
        refused: list[Rejected] = []
        for value in ops:
            op = op_of(value)
            text = None if op is None else new_text(op)
            reason = self.kept_out(text.heading, text.lines) if text else ""
            if op is None or not reason or _moves_only(op, doc):
                allowed.append(value)
            else:
                # No audit tells what must not be stored.
                refused.append(Rejected({"op": as_json(op)["op"]}, reason))
        return allowed, refused


def _moves_only(op: Op, doc: SectionedDoc) -> bool:
    """Whether a note has all that an op would write."""
    if isinstance(op, AddHeading):
        return False
    present = {item.key[1] for item in items_of(doc)}
    # Fault: of a line that moves, only the removal would be applied.
    return all(normalised_text(line) in present for line in new_text(op).lines)


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

    def record(self, command: EditCommand, after: bytes | None) -> Record:
        """Returns the audit record; `after` is what the note really says now."""
        undoes = command.action.record_id if isinstance(command.action, UndoRecord) else ""
        head = Record(
            command.id,
            command.ts,
            command.user_id,
            command.source,
            command.note,
            why=command.why,
            undoes=undoes,
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

    def record(self, command: EditCommand, after: bytes | None) -> Record:
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
    command: EditCommand, before: bytes | None, ops: tuple[object, ...], inputs: PlanInputs
) -> tuple[Outcome, tuple[Proposal, ...]]:
    """Applies the ops that the source of the command may apply, and refuses or proposes the others."""
    if command.source not in BOT_SOURCES:
        return apply_ops(parse(before or b""), ops), ()
    records = inputs.records(command.note)
    doc = parse(before or b"")
    owners = replay(records)
    if command.spoken:
        owners = inputs.allow_again(command, ops, owners)
    rules = policy.Rules(
        command.source,
        command.note,
        command.kind,
        owners,
        inputs.human_items,
        command.origin,
        known_proposals(records, command.note),
        command.why,
        frozenset(command.owner_words),
    )
    allowed = list(ops)
    refused: list[Rejected] = []
    # A person may write what no tool may store.
    if command.source == "tool":
        allowed, refused = inputs.refuse_kept_out(doc, ops)
    decision = policy.decide(doc, allowed, rules)
    outcome = decision.outcome
    if refused:
        outcome = replace(outcome, rejected=(*refused, *outcome.rejected))
    return outcome, decision.proposed


def any_applied(applied: Sequence[Applied | RecordedOp]) -> bool:
    """Whether at least one op changed the note."""
    return any(op.outcome == "applied" for op in applied)
