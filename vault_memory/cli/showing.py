"""Edits, records and versions as a person reads them: the diff in colours, then a line for each op."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from vault_memory.cli.options import Context
from vault_memory.cli.terminal import styled

if TYPE_CHECKING:
    from vault_memory.curate import Edit
    from vault_memory.memory import Record

PENDING = 75
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def exit_code_of(edit: "Edit") -> int:
    """75 while it waits, 1 when every op was refused, else 0."""
    if edit.pending:
        return PENDING
    return 1 if edit.rejected and not (edit.applied or edit.proposed) else 0


def emit_edit(context: Context, edit: "Edit", *, dry_run: bool = False) -> None:
    """What an edit did, on stdout; whether it was recorded, on stderr."""
    from vault_memory.app import contract

    context.emit(contract.of_edit(edit), lambda: "\n".join(_edit_lines(edit)))
    if context.json:
        return
    if dry_run:
        context.say("nothing was written")
    elif edit.audit_id:
        context.say(
            f"recorded as {edit.audit_id}" + (f"; `undo {edit.audit_id}` takes it back" if edit.changed else "")
        )


def _edit_lines(edit: "Edit") -> Iterator[str]:
    if edit.diff:
        yield coloured_diff(edit.diff)
    for done in edit.applied:
        yield f"{done.outcome}: {in_words(done.op)}" + (f" ({done.remark})" if done.remark else "")
    for waiting in edit.pending:
        yield f"pending: {in_words(waiting.op)} ({waiting.explanation}; id {waiting.id})"
    for proposal in edit.proposed:
        yield f"proposed: {in_words(proposal.op)} ({proposal.why}; id {proposal.id})"
    for refused in edit.rejected:
        about = f" (the headings are: {', '.join(refused.headings)})" if refused.headings else ""
        yield f"rejected: {in_words(refused.op)}: {refused.reason}{about}"
    if not (edit.applied or edit.pending or edit.proposed or edit.rejected):
        yield "no ops, nothing done"


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
    lines += [f"{done.outcome}: {in_words(done.op)}" for done in record.applied if done.outcome != "applied"]
    lines += [f"proposed: {in_words(one.op)} ({one.state}; id {one.id})" for one in record.proposed]
    lines += [f"rejected: {in_words(one.op)}: {one.reason}" for one in record.rejected]
    return "\n".join(lines)


def coloured_diff(diff: str) -> str:
    """A unified diff without its two lines of names, which would be the same."""
    lines = diff.removesuffix("\n").split("\n")
    shown = lines[2:] if lines[0].startswith("--- ") else lines
    return "\n".join(styled(line, fg=_COLOURS.get(line[:1])) if line[:1] in _COLOURS else line for line in shown)


def in_words(op: object) -> str:
    """An op on one line."""
    if not isinstance(op, Mapping):
        return repr(op)
    name = op.get("op")
    match name:
        case "append":
            return f"append to {op.get('heading')}: {op.get('line')}"
        case "add_heading":
            return f"add the section {op.get('heading')}"
        case "remove":
            return f"remove from {op.get('heading')}: {op.get('match')}"
        case "replace":
            return f"replace in {op.get('heading')}: {op.get('match')} with {op.get('line')}"
        case "undo":
            return f"undo {in_words(op.get('of'))}"
        case "restore":
            return f"restore {str(op.get('revision'))[:12]}"
        case "move":
            return f"move the section {op.get('heading')} from {op.get('from')} to {op.get('to')}"
        case "merge":
            return f"merge {op.get('copy') or 'what was saved'}"
        case "rename":
            return f"rename to {op['to']}" if "to" in op else f"rename from {op.get('from')}"
    return str(name)
