"""`last-night`: the report of the last night."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import LastNightJson
    from vault_memory.learning import checkpoint
else:
    checkpoint = lazy_module("vault_memory.learning.checkpoint")


@click.command("last-night")
@common
@click.pass_obj
def last_night(context: Context) -> None:
    """Show what the bot learned in the last night, for each person and channel.

    The report has counts and the names of notes. The learned lines are in the notes:
    `vault-memory log` shows each change, and `undo` takes one back.
    """
    # The report is in the state folder, so an unmounted vault does not hide it.
    with context.open(marks=False) as memory:
        reports = checkpoint.CheckpointStore(memory.vault.state.path)
        file = reports.last_report()
    text = file.read_text(encoding="utf-8") if file else ""
    answer: LastNightJson = {
        "night": file.stem if file else None,
        "report": text,
        "file": str(file) if file else "",
    }
    nothing = "there was no night yet; `vault-memory sleep` learns at once"
    context.emit(answer, lambda: text.rstrip() or nothing)
