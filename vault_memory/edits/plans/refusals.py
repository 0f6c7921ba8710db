"""Refuses the ops of the bot that would bring back what a person deleted."""

from collections.abc import Iterable

from vault_memory.edits.commands import EditCommand
from vault_memory.edits.plans.plan import PlanInputs
from vault_memory.rules.edits.ops import AddHeading, Append, Rejected, as_json, new_text, op_of
from vault_memory.rules.edits.ownership import DELETED


def refuse_deleted(
    command: EditCommand, ops: Iterable[object], inputs: PlanInputs
) -> tuple[tuple[object, ...], tuple[Rejected, ...]]:
    """Returns the ops of a command that may be applied, and those that say again what a person deleted."""
    is_deleted = inputs.is_deleted(command)
    allowed: list[object] = []
    refused: list[Rejected] = []
    missing: set[str] = set()
    for value in ops:
        op = op_of(value)
        text = None if op is None else new_text(op)
        if text and any(is_deleted(text.heading, line) for line in text.lines):
            refused.append(Rejected(value, DELETED))
            if isinstance(op, AddHeading):
                missing.add(op.heading)
            continue
        # Fault: the other lines of a new section would be lost with its first one.
        if isinstance(op, Append) and op.heading in missing:
            missing.remove(op.heading)
            value = as_json(AddHeading(op.heading, (op.line,)))
        allowed.append(value)
    return tuple(allowed), tuple(refused)
