"""`log`, `undo`, `history`, `restore`: what was changed, and the way back."""

import click

from vault_memory.cli.options import Context, common
from vault_memory.cli.showing import emit_edit, exit_code_of, record_block

DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")


@click.command()
@click.argument("note", required=False)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the newest N records.")
@common
@click.pass_obj
def log(context: Context, note: str | None, limit: int | None) -> None:
    """Show who changed what in NOTE, or in any note, when and why; the newest last."""
    from vault_memory.app import contract

    with context.open() as memory:
        records = memory.log(note)
    records = records[-limit:] if limit else records
    context.emit(contract.of_log(records), lambda: "\n\n".join(map(record_block, records)) or "nothing was changed yet")


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
    from vault_memory.app import contract

    with context.open() as memory:
        versions = memory.history(note)
    context.emit(
        contract.of_history(versions),
        lambda: "\n".join(f"{one.revision[:16]}  {one.ts}  {one.by:<8}  {one.bytes} bytes" for one in versions),
    )


@click.command()
@click.argument("note")
@click.option("--revision", required=True, metavar="REVISION", help="From `history`; its beginning is enough.")
@click.option("--expected", metavar="REVISION", help="Change nothing if the note is another by now.")
@DRY_RUN
@common
@click.pass_obj
def restore(context: Context, note: str, revision: str, expected: str | None, dry_run: bool) -> int:
    """Put a version of NOTE there again, as a change that can be undone."""
    with context.open() as memory:
        edit = memory.restore(note, revision, expected=expected, dry_run=dry_run, now=context.now)
    emit_edit(context, edit, dry_run=dry_run)
    return exit_code_of(edit)
