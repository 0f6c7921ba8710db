"""`sleep` and `remember`: what the bot learns at night, and what it is told to keep at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.contract import Source

TRY_LATER = 75


@click.command()
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME",
    help="Only this person's night (repeatable).",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    help="Only this channel's night.",
)
@click.option(
    "--due",
    is_flag=True,
    help="Only nights that have begun and are not done; for cron and timers.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be learned; nothing is written."
)
@common
@click.pass_obj
def sleep(
    context: Context,
    users: Sequence[str],
    channels: Sequence[str],
    due: bool,
    dry_run: bool,
) -> None:
    """Learn from what was said since the last night: into dated notes, facts and rules.

    Prints a report. Exit code 75 when a night failed and is to be tried again.
    """
    scopes = named_scopes(users, channels, ()) or None
    with context.open() as memory:
        if not dry_run:
            memory.conversations.take_dropped()
        slept = memory.sleep(scopes=scopes, due=due, dry_run=dry_run, now=context.now)
    answer: dict[str, Any] = {
        "scopes": [dict(one) for one in slept.scopes],
        "night": slept.night or None,
    }
    context.emit(answer | {"report": slept.kept or None}, lambda: slept.report.rstrip())
    if slept.failed:
        raise click.exceptions.Exit(TRY_LATER)


@click.command()
@click.argument("text")
@scoped
@click.option(
    "--source",
    type=click.Choice(["cli", "tool"]),
    default="cli",
    help="tool: the bot asks for it.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would happen; nothing is written."
)
@common
@click.pass_obj
def remember(
    context: Context,
    text: str,
    users: Sequence[str],
    channels: Sequence[str],
    groups: Sequence[str],
    source: "Source",
    dry_run: bool,
) -> None:
    """Keep TEXT for good, at once: in USER.md, CHANNEL.md or MEMORY.md.

    What is asked for from now on ("always …", "never …") becomes a rule in RULES.md.
    """
    scopes = named_scopes(users, channels, groups)
    if len(scopes) != 1:
        raise UsageError(
            "one scope is to be named", hint="such as `--user NAME` or `--channel NAME`"
        )
    with context.open() as memory:
        kept = memory.remember(
            text, scope=scopes[0], source=source, now=context.now, dry_run=dry_run
        )
    answer = {
        "outcome": kept.outcome,
        "id": kept.id,
        "note": kept.note,
        "reason": kept.reason,
    }
    context.emit(
        answer,
        lambda: (
            f"{kept.outcome}  {kept.note}" + (f": {kept.reason}" if kept.reason else "")
        ),
    )
    if kept.outcome == "pending":
        raise click.exceptions.Exit(TRY_LATER)
    if kept.outcome == "refused":
        raise click.exceptions.Exit(1)
