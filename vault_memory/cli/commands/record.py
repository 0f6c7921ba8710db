"""`record` and `end-session`: what is said."""

import sys
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.contract import Origin, RecordMode, Role
else:
    json_contract = lazy_module("vault_memory.api.json_contract")


@click.command()
@click.argument("text")
@click.option(
    "--session",
    required=True,
    metavar="ID",
    help="The conversation it belongs to; any text.",
)
@click.option(
    "--role", required=True, metavar="ROLE", help="user, assistant, system or tool."
)
@click.option(
    "--user", metavar="NAME", help="Whose turn it is, or to whom the bot speaks."
)
@click.option(
    "--channel", metavar="NAME", help="Where it was said, when that was in a channel."
)
@click.option(
    "--source",
    default="talk",
    metavar="WORD",
    help="talk (the default), email, cli, voice, web, cron, …",
)
@click.option(
    "--origin",
    default="owner",
    metavar="WORD",
    help="Whose words they are; owner is the default.",
)
@click.option(
    "--mode",
    default="persistent",
    metavar="MODE",
    help="persistent, or incognito: nothing is written.",
)
@click.option(
    "--silent",
    is_flag=True,
    help="The turn of a job that talks to nobody: it is not recorded.",
)
@click.option(
    "--automated",
    is_flag=True,
    envvar="VAULT_MEMORY_AUTOMATED",
    help="A job, a webhook or a subagent says it: nothing is learned from it.",
)
@common
@click.pass_obj
def record(
    context: Context,
    text: str,
    session: str,
    role: "Role",
    user: str | None,
    channel: str | None,
    source: str,
    origin: "Origin",
    mode: "RecordMode",
    silent: bool,
    automated: bool,
) -> None:
    """Add TEXT to the transcript, where search finds it at once; `-` takes it from standard input.

    Without --user the session has to be one that is known.
    """
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    with context.open() as memory:
        recorded = memory.record_turn(
            session=session,
            role=role,
            text=text,
            user=user,
            channel=channel,
            source=source,
            origin=origin,
            mode=mode,
            silent=silent,
            automated=automated,
            now=context.now,
        )
        memory.conversations.take_dropped()
    context.emit(
        json_contract.of_recorded(recorded),
        lambda: f"{recorded.id}  {recorded.note}" if recorded.id else "",
    )
    if not recorded.id:
        context.say("not recorded")


@click.command("end-session")
@click.argument("session")
@click.option(
    "--user",
    metavar="NAME",
    help="Whose it is, when several people have one of this name.",
)
@click.option(
    "--channel", metavar="NAME", help="Where it was, when that was in a channel."
)
@common
@click.pass_obj
def end_session(
    context: Context, session: str, user: str | None, channel: str | None
) -> None:
    """Say that SESSION is over: what it tells can be learned now. A second time changes nothing."""
    with context.open() as memory:
        memory.conversations.take_dropped()
        ended = memory.end_session(session, user=user, channel=channel, now=context.now)
    context.emit(
        json_contract.of_ended(ended),
        lambda: (
            f"ended; {len(ended.held)} turns wait for the night"
            if ended.held
            else "nothing waits"
        ),
    )
