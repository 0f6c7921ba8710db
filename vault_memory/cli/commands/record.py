"""`record` and `end-session`: the turns of conversations."""

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, grouped
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.contract import Origin, RecordMode, Role
    from vault_memory.edits.reports import Ended
    from vault_memory.rules.learning import write_policy
else:
    write_policy = lazy_module("vault_memory.rules.learning.write_policy")
    json_contract = lazy_module("vault_memory.api.json_contract")


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """Where a turn belongs, and what may be learned from it."""

    session: str
    role: "Role"
    user: str | None
    channel: str | None
    source: str
    origin: "Origin"
    mode: "RecordMode"
    silent: bool
    automated: bool


@click.command()
@click.argument("text")
@click.option(
    "--session",
    required=True,
    metavar="ID",
    help="The conversation of the turn; any text.",
)
@click.option(
    "--role",
    required=True,
    metavar="ROLE",
    help="Who speaks: user, assistant, system or tool.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="The person who speaks, or to whom the bot speaks.",
)
@click.option(
    "--channel",
    metavar="NAME",
    help="The channel of the conversation, if any.",
)
@click.option(
    "--source",
    default="talk",
    metavar="WORD",
    help="The medium: talk (the default), email, cli, voice, web, cron, …",
)
@click.option(
    "--origin",
    default="owner",
    metavar="WORD",
    help="Whose words these are; `owner` is the default.",
)
@click.option(
    "--mode",
    default="persistent",
    metavar="MODE",
    help="`persistent`, or `incognito`: nothing is written.",
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
    help="The turn of a job, a webhook or a subagent: nothing is learned from it.",
)
@common
@click.pass_obj
@grouped(TurnOptions, "options")
def record(context: Context, text: str, options: TurnOptions) -> None:
    """Add TEXT to the transcript of a conversation. Search finds it at once.

    With `-` the command reads TEXT from standard input. Without --user the conversation
    must already have turns.

    \b
    Example:
      vault-memory record --session s1 --role user --user mira "I moved to Porto"
    """
    if text == "-":
        # A turn must not get lost because of one byte that is not UTF-8.
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    with context.open() as memory:
        turn = memory.record_turn(text=text, now=context.now, **asdict(options))
        memory.conversations.take_dropped()
    context.emit(
        json_contract.of_recorded(turn),
        lambda: f"{turn.id}  {turn.note}" if turn.id else "",
    )
    if not turn.id:
        context.say("not recorded")


@click.command("end-session")
@click.argument("session")
@click.option(
    "--user",
    metavar="NAME",
    help="The person, if several people have a session of this name.",
)
@click.option(
    "--channel",
    metavar="NAME",
    help="The channel of the conversation, if any.",
)
@common
@click.pass_obj
def end_session(
    context: Context, session: str, user: str | None, channel: str | None
) -> None:
    """End the conversation SESSION, and decide what is kept of it.

    To end a conversation twice changes nothing.
    """
    with context.open() as memory:
        memory.conversations.take_dropped()
        ended = memory.end_session(session, user=user, channel=channel, now=context.now)
    context.emit(json_contract.of_ended(ended), lambda: _ended_text(ended))


def _ended_text(ended: "Ended") -> str:
    """What became of the conversation, for a person."""
    lines = [f"kept in {entry['note']}: {entry['kind']}" for entry in ended.committed]
    lines += [
        f"held back ({entry['reason']}): {entry['id']} needs {entry['needs']}"
        for entry in ended.held
    ]
    lines += [
        f"left out ({entry['reason']}): turn {entry['ref']}"
        for entry in ended.dropped
        if entry["reason"] not in write_policy.UNTOLD
    ]
    count = len(ended.waiting)
    if count:
        lines.append(f"ended; {count} turns wait for the night")
    return "\n".join(lines) or "nothing waits"
