"""`sleep` and `remember`: what the bot learns at night, and what it stores at once."""

import sys
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

from vault_memory.api import json_contract
from vault_memory.cli.commands.everyday import inbox_review
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

if TYPE_CHECKING:
    from vault_memory.contract import Source

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
            inbox_review.carry_out_pages(context, memory)
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
