"""Edits, records and versions as a person reads them: the diff in colours, then a line for each op."""

from typing import TYPE_CHECKING

from vault_memory.cli import edit_rendering
from vault_memory.cli.edit_rendering import PENDING, in_words
from vault_memory.cli.options import Context
from vault_memory.cli.terminal import styled
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Record
else:
    json_contract = lazy_module("vault_memory.api.json_contract")

__all__ = [
    "PENDING",
    "coloured_diff",
    "emit_edit",
    "exit_code_of",
    "in_words",
    "painted",
    "record_block",
]


def exit_code_of(edit: "Edit") -> int:
    """75 while it waits, 1 when every op was refused, else 0."""
    return edit_rendering.exit_code_of(json_contract.of_edit(edit))


def emit_edit(context: Context, edit: "Edit", *, dry_run: bool = False) -> None:
    """What an edit did, on stdout; whether it was recorded, on stderr."""
    answer = json_contract.of_edit(edit)
    context.emit(answer, lambda: edit_rendering.text_of(answer, painted))
    remark = edit_rendering.remark_of(answer, dry_run=dry_run)
    if remark and not context.json:
        context.say(remark)


def record_block(record: "Record") -> str:
    """One record of the audit: who, when, why, what."""
    head = f"{record.id}  {record.ts}  {record.source}  {record.note}"
    lines = [styled(head, bold=True)]
    if record.undoes:
        lines.append(f"undoes {record.undoes}")
    if record.redacted:
        lines.append("what was changed was forgotten")
    if record.why:
        lines.append(f"why: {record.why}")
    if record.diff:
        lines.append(coloured_diff(record.diff.decode("utf-8", "replace")))
    lines += [
        f"{done.outcome}: {in_words(done.op)}"
        for done in record.applied
        if done.outcome != "applied"
    ]
    lines += [
        f"proposed: {in_words(one.op)} ({one.state}; id {one.id})"
        for one in record.proposed
    ]
    lines += [f"rejected: {in_words(one.op)}: {one.reason}" for one in record.rejected]
    return "\n".join(lines)


def coloured_diff(diff: str) -> str:
    """A unified diff without its two lines of names, which would be the same."""
    return edit_rendering.diff_text(diff, painted)


def painted(text: str, colour: str) -> str:
    return styled(text, fg=colour)
