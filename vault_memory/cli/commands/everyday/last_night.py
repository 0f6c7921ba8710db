"""`last-night`: the report of the last night."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.learning import checkpoint, night_reports

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import LastNightJson, LearnedLineJson


@click.command("last-night")
@common
@click.pass_obj
def last_night(context: Context) -> None:
    """Show what the bot learned in the last night, for each person and channel.

    The report has counts and the names of notes. Below it are the learned lines that the notes
    still have, each with its note and the turn that says it: `vault-memory source TURN` shows
    what was said, `log` each change, and `undo` takes one back.
    """
    # The report is in the state folder, so an unmounted vault does not hide it.
    with context.open(marks=False) as memory:
        reports = checkpoint.CheckpointStore(memory.vault.state.path)
        file = reports.last_report()
        learned = night_reports.lines_of(memory.edits, reports, file.stem) if file else []
    text = file.read_text(encoding="utf-8") if file else ""
    answer: LastNightJson = {
        "night": file.stem if file else None,
        "report": text,
        "file": str(file) if file else "",
        "learned": learned,
    }
    nothing = "there was no night yet; `vault-memory sleep` learns at once"
    output = "\n".join([text.rstrip(), *map(_line, learned)])
    context.emit(answer, lambda: output or nothing)


def _line(line: "LearnedLineJson") -> str:
    source = f", turn {line['ref']}" if line["ref"] else ""
    return f"\n> {line['text']}\n  {line['note']}{source}"
