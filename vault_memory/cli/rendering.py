"""What commands print: edits and audit records in colours, and remarks about an answer on stderr.

JSON answers have the same remarks in their keys.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.cli import edit_rendering, search_text
from vault_memory.cli.options import Context
from vault_memory.cli.terminal import styled
from vault_memory.contract import as_json
from vault_memory.errors import UsageError
from vault_memory.rules.edits import record_sentences

if TYPE_CHECKING:
    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import SearchAnswerJson
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Record


def exit_code_of(edit: "Edit") -> int:
    """Return 75 for a pending edit, 1 when every op was refused, else 0."""
    return edit_rendering.exit_code_of(as_json(edit))


def exit_code_of_ops(edit: "Edit") -> int:
    """Return the exit code of ops by hand."""
    return edit_rendering.exit_code_of_ops(as_json(edit))


def emit_edit(context: Context, edit: "Edit", *, dry_run: bool = False) -> None:
    """Print the report of an edit to stdout, and the id of its audit record to stderr."""
    answer = as_json(edit)
    context.emit(answer, lambda: edit_rendering.text_of(answer, painted))
    remark = edit_rendering.remark_of(answer, dry_run=dry_run)
    if remark and not context.json:
        context.say(remark)


def record_block(record: "Record") -> str:
    """Render an audit record: who changed a note, when, why and how."""
    head = f"{record.id}  {record.ts}  {record.source}  {record.note}"
    lines = [styled(head, bold=True), *remarks_of(record)]
    if record.diff:
        lines.append(coloured_diff(record.diff.decode("utf-8", "replace")))
    lines += outcomes_of(record)
    return "\n".join(lines)


def remarks_of(record: "Record") -> Iterator[str]:
    """Yield what a record came to, what is said of it beside its head, and its reason."""
    yield record_sentences.outcome_of(record)
    if record.undoes:
        yield f"undoes {record.undoes}"
    if record.folded:
        yield f"old records in this one: {len(record.folded)}; cannot be undone"
    if record.why:
        yield f"why: {record.why}"


def outcomes_of(record: "Record") -> Iterator[str]:
    """Yield a line for each op that the diff does not show."""
    for applied in record.applied:
        if applied.outcome != "applied":
            yield f"{applied.outcome}: {edit_rendering.short_op(applied.op)}"
    for proposal in record.proposed:
        state = f"({proposal.state}; id {proposal.id})"
        yield f"proposed: {edit_rendering.short_op(proposal.op)} {state}"
    for refused in record.rejected:
        yield f"rejected: {edit_rendering.short_op(refused.op)}: {refused.reason}"


def coloured_diff(diff: str) -> str:
    """Render a unified diff in colours, without its two lines of file names."""
    return edit_rendering.diff_text(diff, painted)


def painted(text: str, colour: str) -> str:
    """Return a text in a colour."""
    return styled(text, fg=colour)


def print_freshness(context: Context, freshness: "FreshnessJson") -> None:
    """Print a remark when an answer may be out of date."""
    if context.json:
        return
    for line in search_text.freshness_texts(freshness):
        context.say(line)


def print_unknown_scopes(context: Context, answer: Mapping[str, Any]) -> None:
    """Print a remark when the answer names scopes without any note."""
    if context.json or context.told_unknown:
        return
    for line in search_text.unknown_scope_texts(answer):
        context.say(line)


def print_unsearched(context: Context, answer: "SearchAnswerJson") -> None:
    """Print why a search may find less than the person expects: its filters, and the layout."""
    if context.json:
        return
    for line in search_text.unsearched_texts(answer):
        context.say(line)


def print_unknown_name(context: Context, name: str) -> None:
    """Print that no fact names a person or thing, and what to do."""
    if not context.json:
        context.say(f"no fact names `{name}`: `vault-memory facts` lists all")


def check_given_name(name: str) -> None:
    """Raise UsageError for an empty name of a person or thing."""
    if not name.strip():
        raise UsageError(
            "the name is empty", hint="name a person or a thing; `vault-memory facts` lists all"
        )
