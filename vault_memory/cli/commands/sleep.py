"""`sleep`, `last-night`, `remember`: what the bot learns at night, and what it stores at once."""

import sys
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

from vault_memory.api import json_contract
from vault_memory.cli.commands import history
from vault_memory.cli.options import (
    Context,
    NamedScopes,
    common,
    day,
    dry_run,
    named_scopes,
    new_name,
    scope_option,
    scoped,
)
from vault_memory.errors import CannotAsk, UsageError
from vault_memory.learning import checkpoint, night_reports

if TYPE_CHECKING:
    from vault_memory.contract import Source
    from vault_memory.contract.setup_answers import LastNightJson, LearnedLineJson


TRY_LATER = 75
EXIT_CODES = {"pending": TRY_LATER, "refused": 1}
"""Outcome of `remember` → exit code; 0 for all others"""


@click.command()
@scope_option("--user", "users", multiple=True, help="Only the night of this person (repeatable).")
@scope_option(
    "--channel", "channels", multiple=True, help="Only the night of this channel (repeatable)."
)
@click.option(
    "--due", is_flag=True, help="Only nights that have begun and are not done; for cron and timers."
)
@click.option("--again", metavar="DATE", callback=day, help="Read the turns of this day once more.")
@click.option("--dry-run", is_flag=True, help="Show what would be learned; write nothing.")
@new_name
@common
@click.pass_obj
def sleep(
    context: Context,
    users: Sequence[str],
    channels: Sequence[str],
    due: bool,
    again: date | None,
    dry_run: bool,
) -> None:
    """Learn from the conversations since the last night: write dated notes, facts and rules.

    Prints a report. Exit code 75 means that a night failed; run the command again later.

    \b
    Example:
      vault-memory sleep --user mira --dry-run
    """
    scopes = named_scopes(users, channels, ()) or None
    with context.open() as memory:
        if not dry_run:
            memory.conversations.take_dropped()
            history.carry_out_pages(context, memory)
        report = memory.sleep(scopes=scopes, due=due, again=again, dry_run=dry_run, now=context.now)
    context.emit(json_contract.of_slept(report), lambda: report.report.rstrip())
    if report.failed:
        raise click.exceptions.Exit(TRY_LATER)


def _keeps_secret() -> bool:
    """Ask whether to keep a text with a secret. Raises CannotAsk without a terminal."""
    if not sys.stdin.isatty():
        raise CannotAsk(
            "the text tells a password, a key or the number of an account",
            "leave it out, or give `--yes` to keep it in each prompt and on each device",
        )
    return click.confirm(
        "It tells a password or a key, which would be in each prompt and on each device. Keep it?",
        err=True,
    )


@click.command()
@click.argument("text")
@scoped
@click.option(
    "--source",
    type=click.Choice(["cli", "tool"]),
    default="cli",
    help="Who asks for it: `cli` (a person) or `tool` (the bot).",
)
@click.option("--yes", is_flag=True, help="Keep a password or a key without asking.")
@dry_run
@common
@click.pass_obj
def remember(
    context: Context, text: str, scopes: NamedScopes, source: "Source", yes: bool, dry_run: bool
) -> None:
    """Store TEXT permanently and at once, in USER.md, CHANNEL.md or MEMORY.md.

    A standing instruction ("always …", "never …") becomes a rule in RULES.md. A password
    or a key would be in each prompt and on each device, so the command asks first.

    \b
    Example:
      vault-memory remember --user mira "Mira is allergic to mackerel"
    """
    names = scopes.names()
    if len(names) != 1:
        raise UsageError(
            "`remember` needs exactly one person, channel or group",
            hint="name it, such as `--user NAME` or `--channel NAME`",
        )
    with context.open(makes_names=True) as memory:
        # What a tool passes on is refused, whatever it answers.
        must_ask = source == "cli" and not (yes or dry_run)
        if must_ask and memory.learning.tells_secret([text]) and not _keeps_secret():
            context.say("nothing was remembered")
            return
        result = memory.remember(
            text, scope=names[0], source=source, now=context.now, dry_run=dry_run
        )
    reason = f": {result.reason}" if result.reason else ""
    context.emit(
        json_contract.of_remembered(result), lambda: f"{result.outcome}  {result.note}{reason}"
    )
    if result.outcome in EXIT_CODES:
        raise click.exceptions.Exit(EXIT_CODES[result.outcome])


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
