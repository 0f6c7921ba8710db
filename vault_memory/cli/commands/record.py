"""`record`, `end-session`, `compact`, `held`, `feedback`: conversations, and what is kept of them."""

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import (
    Context,
    NamedScopes,
    common,
    grouped,
    new_name,
    scope_option,
    scoped,
)
from vault_memory.contract import as_json
from vault_memory.errors import UsageError
from vault_memory.learning.policy import feedback as policy_feedback
from vault_memory.rules.learning import write_policy

if TYPE_CHECKING:
    from vault_memory.contract import Origin, RecordMode, Role
    from vault_memory.contract.answers import HeldJson
    from vault_memory.edits.reports import Ended
    from vault_memory.learning.policy.held_calls import Verdict


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """Where a turn belongs, and what may be learned from it."""

    session: str
    role: "Role"
    user: str | None
    channel: str | None
    source: str
    origin: "Origin | None"
    mode: "RecordMode"
    silent: bool
    automated: bool


@click.command()
@click.argument("text")
@click.option(
    "--session", required=True, metavar="ID", help="The conversation of the turn; any text."
)
@click.option(
    "--role", required=True, metavar="ROLE", help="Who speaks: user, assistant, system or tool."
)
@scope_option("--user", help="The person who speaks, or to whom the bot speaks.")
@scope_option("--channel", help="The channel of the conversation, if any.")
@click.option(
    "--source",
    default="talk",
    metavar="WORD",
    help="The medium: talk (the default), email, cli, voice, web, cron, …",
)
@click.option(
    "--origin",
    metavar="WORD",
    help="Whose words these are; by default as the source: `owner` for talk, email for email, …",
)
@click.option(
    "--mode",
    default="persistent",
    metavar="MODE",
    help="`persistent`, or `incognito`: nothing is written.",
)
@click.option(
    "--silent", is_flag=True, help="The turn of a job that talks to nobody: it is not recorded."
)
@click.option(
    "--automated",
    is_flag=True,
    envvar="VAULT_MEMORY_AUTOMATED",
    help="The turn of a job, a webhook or a subagent: nothing is learned from it.",
)
@new_name
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
    # A turn that is not recorded makes no person.
    records = options.mode == "persistent" and not options.silent
    with context.open(makes_names=records) as memory:
        turn = memory.record_turn(text=text, now=context.now, **asdict(options))
        memory.conversations.take_dropped()
    context.emit(as_json(turn), lambda: f"{turn.id}  {turn.note}" if turn.id else "")
    if not turn.id:
        context.say("not recorded")


@click.command("end-session")
@click.argument("session")
@scope_option("--user", help="The person, if several people have a session of this name.")
@scope_option("--channel", help="The channel of the conversation, if any.")
@new_name
@common
@click.pass_obj
def end_session(context: Context, session: str, user: str | None, channel: str | None) -> None:
    """End the conversation SESSION, and decide what is kept of it.

    To end a conversation twice changes nothing.
    """
    with context.open() as memory:
        memory.conversations.take_dropped()
        sessions = memory.conversations.sessions.find(session, user or "", channel or "")
        ended = memory.end_session(session, user=user, channel=channel, now=context.now)
    context.emit(as_json(ended), lambda: _ended_text(ended))
    if not sessions and not context.json:
        context.say(f"no turn was recorded in a conversation `{session}`")


@click.command()
@click.argument("session")
@click.argument("text", required=False, default="")
@scope_option("--user", help="The person, if several people have a session of this name.")
@scope_option("--channel", help="The channel of the conversation, if any.")
@new_name
@common
@click.pass_obj
def compact(
    context: Context, session: str, text: str, user: str | None, channel: str | None
) -> None:
    """Sum the conversation SESSION up in `memories/sessions`, and end it.

    Each line of TEXT becomes an item; with `-` the command reads TEXT from standard input.
    Without TEXT the person is quoted: the first request, decisions, and the last question.

    \b
    Example:
      vault-memory compact s1 --user mira "Asked for the wind; flies on 9 June"
    """
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    with context.open() as memory:
        memory.conversations.take_dropped()
        compacted = memory.learning.compact(
            session, text, user=user, channel=channel, now=context.now
        )
    context.emit(
        as_json(compacted),
        lambda: f"{compacted.note}\n{compacted.preview}" if compacted.note else "",
    )
    if not compacted.note:
        context.say("nothing to sum up")


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
        if entry["reason"] not in write_policy.UNNAMED
    ]
    count = len(ended.waiting)
    if count:
        waiting = "1 turn waits" if count == 1 else f"{count} turns wait"
        lines.append(f"ended; {waiting} for the night")
    return "\n".join(lines) or "nothing waits"


@click.command()
@click.argument(
    "verdict", required=False, type=click.Choice(["promote", "drop"]), metavar="[promote|drop]"
)
@click.argument("candidate_id", required=False, metavar="[ID]")
@scoped
@common
@click.pass_obj
def held(
    context: Context, verdict: "Verdict | None", candidate_id: str | None, scopes: NamedScopes
) -> int:
    """List what waits for more turns before the bot keeps it.

    `held promote ID` writes it now, `held drop ID` gives it up for good. ID may be the
    beginning of an id.

    \b
    Example:
      vault-memory held --user mira
    """
    if verdict and not candidate_id:
        raise UsageError(
            f"`held {verdict}` needs an id",
            hint="run `vault-memory held` to list what waits, with its ids",
        )
    names = scopes.names() or None
    with context.open() as memory:
        learning = memory.learning
        if verdict is None or candidate_id is None:
            waiting = learning.held(names, now=context.now)
            context.emit(
                {"held": waiting}, lambda: "\n".join(map(_line, waiting)) or "nothing waits"
            )
            return 0
        decided = learning.decide_held(candidate_id, verdict, names, now=context.now)
    place = f" in {decided['note']}" if decided["note"] else ""
    context.emit(decided, lambda: f"{decided['id']}  {decided['outcome']}{place}")
    return 0


def _line(entry: "HeldJson") -> str:
    return (
        f"{entry['id']}  {entry['scope']}  {entry['text']}\n"
        f"    why: {entry['reason']}; it needs {entry['needs']}"
    )


@click.command()
@click.argument("verdict", type=click.Choice(["good", "bad"]))
@click.argument("text", required=False, default="")
@click.option("--about", default="", metavar="ID", help="The item, fact or turn that it is about.")
@scoped
@common
@click.pass_obj
def feedback(context: Context, verdict: str, text: str, about: str, scopes: NamedScopes) -> None:
    """Log what you think of an answer, or of what the bot keeps.

    ID is as for `source`: an item as NOTE:LINE, or the id of a turn, a fact, a held candidate
    or a change. An unknown one is refused, and like ones are named.

    The log is deleted after 180 days.

    \b
    Example:
      vault-memory feedback bad --user mira "I never said that"
    """
    names = scopes.names()
    if len(names) != 1:
        raise UsageError(
            "`feedback` needs exactly one person, channel or group",
            hint="name it, such as `--user NAME` or `--channel NAME`",
        )
    opinion = policy_feedback.Feedback(
        "good" if verdict == "good" else "bad", scope=names[0], about=about, text=text
    )
    with context.open() as memory:
        memory.learning.log_feedback(opinion, now=context.now)
    context.emit({"ok": True}, lambda: "logged")
