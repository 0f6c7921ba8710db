"""`log`, `undo`, `history`, `restore`, `inbox`: past changes, and proposals for new ones."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.api import checks, json_contract
from vault_memory.cli import edit_rendering
from vault_memory.cli.note_names import of_named_note
from vault_memory.cli.options import Context, common, dry_run
from vault_memory.cli.rendering import (
    emit_edit,
    exit_code_of,
    outcomes_of,
    painted,
    record_block,
    remarks_of,
)
from vault_memory.cli.screen import Screen, table, time_text, wrapped, wrapped_cells
from vault_memory.cli.terminal import escaped, styled
from vault_memory.contract import as_json
from vault_memory.edits import inbox as inbox_pages
from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.rules.edits import inbox_page
from vault_memory.rules.edits.op_words import reason_words

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.rules.edits.audit_record import Proposal, Record


@click.command()
@click.argument("note", required=False)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the newest N records.")
@common
@click.pass_obj
def log(context: Context, note: str | None, limit: int | None) -> None:
    """Show who changed NOTE (default: any note), when, why and how. The newest change is last.

    NOTE is a path in the vault, or the name or an alias of one note.

    \b
    Example:
      vault-memory log USER.md --limit 5
    """
    with context.open() as memory:
        records = _records(memory, note, limit)
        lost = memory.edits.lost_histories()
    answer = json_contract.of_log(records, lost)
    context.emit(
        answer,
        lambda: "\n\n".join(map(record_block, records)) or "nothing was changed yet",
        view=lambda screen: records_view(records, screen),
    )
    # The records of a note that is gone are among all others; those of one note are asked for.
    if lost and not context.json and (note is None or not records):
        context.say(f"no note continues the history of {checks.some(lost)}")


def _records(memory: "VaultMemory", note: str | None, limit: int | None) -> "tuple[Record, ...]":
    """Return the records of a note with a path, else of the only one with this name."""
    records = memory.log(note, limit=limit)
    # A deleted note has records, too, so only a path without any may be a name.
    if note is None or records:
        return records
    return memory.log(memory.searcher.find_note(note), limit=limit)


@click.command()
@click.argument("record_id", metavar="[ID]", required=False)
@dry_run
@common
@click.pass_obj
def undo(context: Context, record_id: str | None, dry_run: bool) -> int:
    """Undo the change of the audit record ID. The beginning of an id is enough.

    Without an id the command names the newest change. On a terminal it shows that change, and asks.

    If the note has not changed since, it becomes what it was, byte for byte. Otherwise
    only the change of the record is taken back, and all later changes stay. An undo
    has a record, too, and can be undone. On a terminal the command shows what the
    beginning of an id means, and asks.

    \b
    Example:
      vault-memory undo 01a2080e --dry-run
    """
    with context.open() as memory:
        if record_id is None:
            record_id = _newest_change(context, memory)
            _confirm_undo(context, memory, record_id)
        elif not dry_run and context.can_ask() and not _is_whole(memory, record_id):
            # Fault: a mistyped short id may be the beginning of another record's id.
            _confirm_undo(context, memory, record_id)
        edit = memory.undo(record_id, dry_run=dry_run, now=context.now)
    emit_edit(context, edit, dry_run=dry_run)
    return exit_code_of(edit)


def _newest_change(context: Context, memory: "VaultMemory") -> str:
    """Return the id of the newest change, if a person can be asked about it. Raises UsageError."""
    changes = [record for record in memory.log() if record.before != record.after]
    if not changes:
        raise UsageError("nothing was changed yet", hint="there is nothing to undo")
    newest = changes[-1]
    if context.can_ask():
        return newest.id
    raise UsageError(
        "`undo` needs the id of a change",
        hint=f"the newest one is of `{newest.note}`: `vault-memory undo {newest.id}`; "
        "`vault-memory log` lists all",
    )


def _is_whole(memory: "VaultMemory", record_id: str) -> bool:
    return any(record.id == record_id for record in memory.log())


def _confirm_undo(context: Context, memory: "VaultMemory", record_id: str) -> None:
    """Show what an id would undo, and ask. Raises click.Abort for a no."""
    preview = as_json(memory.undo(record_id, dry_run=True, now=context.now))
    context.line(edit_rendering.text_of(preview, painted))
    click.confirm("Undo this change?", abort=True, err=True)


@click.command()
@click.argument("note")
@common
@click.pass_obj
def history(context: Context, note: str) -> None:
    """List the stored versions of NOTE, newest first.

    NOTE is a path in the vault, or the name or an alias of one note.
    """
    with context.open() as memory:
        versions = of_named_note(memory, note, memory.history)

    def human() -> str:
        return "\n".join(
            f"{version.revision[:16]}  {version.ts}  {version.by:<8}  {version.bytes} bytes"
            for version in versions
        )

    context.emit(
        {"versions": as_json(versions)}, human, view=lambda screen: versions_table(versions, screen)
    )


@click.command()
@click.argument("note")
@click.option(
    "--revision", metavar="REVISION", help="The version from `history`; its beginning is enough."
)
@click.option(
    "--expected", metavar="REVISION", help="Change nothing unless the note still has this revision."
)
@dry_run
@common
@click.pass_obj
def restore(
    context: Context, note: str, revision: str | None, expected: str | None, dry_run: bool
) -> int:
    """Restore an earlier version of NOTE. `undo` can take this back.

    NOTE is a path in the vault, or the name or an alias of one note. Without --revision the command
    names the version before the current one. On a terminal it shows that version, and asks.
    """
    with context.open() as memory:
        chosen = revision or _version_before(context, memory, note)
        edit = of_named_note(
            memory,
            note,
            lambda path: memory.restore(
                path, chosen, expected=expected, dry_run=dry_run, now=context.now
            ),
        )
    if edit.note != note:
        context.say(f"`{note}` is {edit.note}")
    emit_edit(context, edit, dry_run=dry_run)
    return exit_code_of(edit)


def _version_before(context: Context, memory: "VaultMemory", note: str) -> str:
    """Return the version before the current one, if a person agrees to it. Raises UsageError."""
    versions = of_named_note(memory, note, memory.history)
    try:
        current = of_named_note(memory, note, memory.read).revision
    except NoteNotFound:
        # A deleted note has versions, too.
        current = ""
    earlier = [version for version in versions if version.revision != current]
    if not earlier:
        raise UsageError(
            f"there is no earlier version of `{note}`",
            hint=f"`vault-memory history {note}` lists the versions that are kept",
        )
    revision = earlier[0].revision
    if not context.can_ask():
        raise UsageError(
            "`restore` needs a version",
            hint=f"the one before is of {earlier[0].ts}: "
            f"`vault-memory restore {note} --revision {revision[:16]}`",
        )
    preview = of_named_note(
        memory, note, lambda path: memory.restore(path, revision, dry_run=True, now=context.now)
    )
    context.line(edit_rendering.text_of(as_json(preview), painted))
    click.confirm(f"Restore the version of {earlier[0].ts}?", abort=True, err=True)
    return revision


@click.command()
@click.argument("decision", required=False, type=click.Choice(["approve", "reject"]))
@click.argument("proposal_id", metavar="[ID]", required=False)
@common
@click.pass_obj
def inbox(context: Context, decision: str | None, proposal_id: str | None) -> int:
    """List the proposals of the bot that wait for your decision, or approve or reject one.

    On a terminal the command asks about each of them: approve, reject, edit, skip or quit.

    INBOX.md beside the notes has the same proposals. A ticked box there approves one: the
    daemon makes the edit, or this command, `index` and `sleep`.

    \b
    Example:
      vault-memory inbox approve e1b4aa
    """
    if decision and not proposal_id:
        raise UsageError(
            f"`inbox {decision}` needs an id",
            hint="run `vault-memory inbox` to list the proposals with their ids",
        )
    with context.open() as memory:
        if decision is None or proposal_id is None:
            carry_out_pages(context, memory)
            proposals = memory.inbox()
            if proposals and context.can_ask():
                review(context, memory, proposals)
                return 0
            context.emit(
                json_contract.of_inbox(proposals),
                lambda: "\n".join(map(_proposal, proposals)) or "nothing waits",
            )
            return 0
        decide = memory.approve if decision == "approve" else memory.reject
        edit = decide(proposal_id, now=context.now)
    emit_edit(context, edit)
    return exit_code_of(edit)


def _proposal(proposal: "Proposal") -> str:
    return f"{proposal.id}  {inbox_page.describe(proposal)}\n    why: {reason_words(proposal.why)}"


LETTERS_OF_ID = 12
"""Letters of a revision on a terminal; its beginning is enough for `restore`"""
GAP = "  "


def records_view(records: "Sequence[Record]", screen: Screen) -> str:
    """Return audit records: who changed a note, when, why and how."""
    blocks = ["\n".join(_record_lines(record, screen)) for record in records]
    return "\n\n".join(blocks) or "nothing was changed yet"


def _record_lines(record: "Record", screen: Screen) -> Iterator[str]:
    moment = time_text(record.ts, screen)
    head = (record.id, moment, f"by {record.source}", record.note)
    for line in wrapped_cells(map(escaped, head), screen.columns):
        yield styled(line, bold=True)
    for text in (*remarks_of(record), *outcomes_of(record)):
        yield from wrapped(escaped(text), screen.prose, indent=GAP)
    if record.diff:
        yield from _diff_lines(record.diff.decode("utf-8", "replace"), screen)


def _diff_lines(diff: str, screen: Screen) -> Iterator[str]:
    """Yield the lines of a diff in colours; those that continue a long line hang below it."""
    plain = edit_rendering.diff_text(diff, lambda text, colour: text)
    # The empty lines around a change at the end say nothing: a record ends with one.
    for line in plain.rstrip().split("\n"):
        colour = edit_rendering.COLOURS.get(line[:1])
        sign = escaped(line[:1])
        rows = wrapped(escaped(line[1:]), screen.columns, first=sign, indent=GAP)
        if colour:
            rows = [styled(row, fg=colour) for row in rows]
        yield from rows


def versions_table(versions: "Sequence[NoteVersion]", screen: Screen) -> str:
    """Return the stored versions of a note, newest first."""
    rows = [
        (
            version.revision[:LETTERS_OF_ID],
            time_text(version.ts, screen),
            version.by,
            f"{version.bytes:,} bytes",
        )
        for version in versions
    ]
    return table(("REVISION", "WHEN", "BY", "SIZE"), rows, screen.columns)


KEYS = ("a", "r", "e", "s", "q")
QUESTION = "[a]pprove, [r]eject, [e]dit, [s]kip or [q]uit"
EDITABLE = "line"
"""The text of an op that a person may rewrite"""


def carry_out_pages(context: Context, memory: "VaultMemory") -> None:
    """Carry out what people decided on INBOX pages; a page that was just saved has to settle."""
    unsettled = memory.edits.apply_all_decisions(now=context.now)
    if unsettled:
        context.say(f"waiting until {', '.join(unsettled)}, which was just saved, settles")
        time.sleep(inbox_pages.SETTLED_SECONDS)
        memory.edits.apply_all_decisions(now=context.now)


def review(context: Context, memory: "VaultMemory", proposals: "Sequence[Proposal]") -> None:
    """Show the proposals one after the other, and do what the person decides."""
    total = len(proposals)
    for number, proposal in enumerate(proposals, start=1):
        head = f"{number} of {total}  {inbox_page.describe(proposal)}"
        context.line(styled(head, bold=True))
        context.line(f"  why: {reason_words(proposal.why)}")
        key = _ask(proposal)
        # The remaining proposals stay in the inbox.
        if key == "q":
            return
        _decide(context, memory, proposal, key)


def _ask(proposal: "Proposal") -> str:
    keys = list(KEYS)
    # Only the text of a new line can be rewritten.
    if EDITABLE not in proposal.op:
        keys.remove("e")
    key: str = click.prompt(
        QUESTION, type=click.Choice(keys), default="s", show_choices=False, err=True
    )
    return key


def _decide(context: Context, memory: "VaultMemory", proposal: "Proposal", key: str) -> None:
    match key:
        case "a":
            emit_edit(context, memory.approve(proposal.id, now=context.now))
        case "r":
            emit_edit(context, memory.reject(proposal.id, now=context.now))
        case "e":
            _apply_edited(context, memory, proposal)
        case _:
            context.say("it waits for you")


def _apply_edited(context: Context, memory: "VaultMemory", proposal: "Proposal") -> None:
    """Write the line in the person's words instead of the proposed one."""
    line = click.prompt("line", default=proposal.op[EDITABLE], err=True)
    op = {**proposal.op, EDITABLE: line}
    edit = memory.apply(proposal.note, [op], source="cli", now=context.now)
    emit_edit(context, edit)
    # Fault: a proposal whose edit was refused, waits, or found nothing must not get lost.
    has_found = any(op.outcome != "noop_no_match" for op in edit.applied)
    if has_found and not edit.pending:
        memory.reject(proposal.id, now=context.now)
