"""`log`, `undo`, `history`, `restore`, `inbox`: what was changed, the way back, and what waits for a decision."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.cli.rendering import emit_edit, exit_code_of, record_block
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.rules.edits import inbox_page
    from vault_memory.rules.edits.audit_record import Proposal
else:
    json_contract = lazy_module("vault_memory.api.json_contract")
    inbox_page = lazy_module("vault_memory.rules.edits.inbox_page")

DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)


@click.command()
@click.argument("note", required=False)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Only the newest N records."
)
@common
@click.pass_obj
def log(context: Context, note: str | None, limit: int | None) -> None:
    """Show who changed what in NOTE, or in any note, when and why; the newest last."""
    with context.open() as memory:
        records = memory.log(note, limit=limit)
    context.emit(
        json_contract.of_log(records),
        lambda: "\n\n".join(map(record_block, records)) or "nothing was changed yet",
    )


@click.command()
@click.argument("record_id", metavar="ID")
@DRY_RUN
@common
@click.pass_obj
def undo(context: Context, record_id: str, dry_run: bool) -> int:
    """Take back what the record ID did; the beginning of an id is enough. An undo can be undone, too.

    A note that was not changed since is again what it was, byte for byte. In a note that was, what the record did is
    taken back, and all else stays.
    """
    with context.open() as memory:
        edit = memory.undo(record_id, dry_run=dry_run, now=context.now)
    emit_edit(context, edit, dry_run=dry_run)
    return exit_code_of(edit)


@click.command()
@click.argument("note")
@common
@click.pass_obj
def history(context: Context, note: str) -> None:
    """List the versions of NOTE that are kept, the newest first."""
    with context.open() as memory:
        versions = memory.history(note)
    context.emit(
        json_contract.of_history(versions),
        lambda: "\n".join(
            f"{one.revision[:16]}  {one.ts}  {one.by:<8}  {one.bytes} bytes"
            for one in versions
        ),
    )


@click.command()
@click.argument("note")
@click.option(
    "--revision",
    required=True,
    metavar="REVISION",
    help="From `history`; its beginning is enough.",
)
@click.option(
    "--expected",
    metavar="REVISION",
    help="Change nothing if the note is another by now.",
)
@DRY_RUN
@common
@click.pass_obj
def restore(
    context: Context, note: str, revision: str, expected: str | None, dry_run: bool
) -> int:
    """Put a version of NOTE there again, as a change that can be undone."""
    with context.open() as memory:
        edit = memory.restore(
            note, revision, expected=expected, dry_run=dry_run, now=context.now
        )
    emit_edit(context, edit, dry_run=dry_run)
    return exit_code_of(edit)


@click.command()
@click.argument("decision", required=False, type=click.Choice(["approve", "reject"]))
@click.argument("proposal_id", metavar="[ID]", required=False)
@common
@click.pass_obj
def inbox(context: Context, decision: str | None, proposal_id: str | None) -> int:
    """List what the bot proposed and nobody decided yet; or approve or reject one of them by its ID.

    The same proposals stand in INBOX.md beside the notes, where ticking a box approves; the daemon carries that out.
    """
    if decision and not proposal_id:
        raise UsageError(
            f"`inbox {decision}` needs an id", hint="`vault-memory inbox` lists them"
        )
    with context.open() as memory:
        if decision is None or proposal_id is None:
            waiting = memory.inbox()
            context.emit(
                json_contract.of_inbox(waiting),
                lambda: "\n".join(map(_proposal, waiting)) or "nothing waits",
            )
            return 0
        decide = memory.approve if decision == "approve" else memory.reject
        edit = decide(proposal_id, now=context.now)
    emit_edit(context, edit)
    return exit_code_of(edit)


def _proposal(proposal: "Proposal") -> str:
    return f"{proposal.id}  {inbox_page.describe(proposal)}\n    why: {proposal.why}"
