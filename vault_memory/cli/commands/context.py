"""`context`: what goes into a bot's prompt."""

from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli import search_text
from vault_memory.cli.commands.search import remark
from vault_memory.cli.daemon_or_local import answer_context
from vault_memory.cli.options import Context, common, named_scopes, private, scoped
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.context import calls as context_calls
else:
    context_calls = lazy_module("vault_memory.context.calls")


@click.command()
@click.argument("prompt", nargs=-1)
@click.option(
    "--purpose",
    type=click.Choice(["chat", "briefing"]),
    help="A briefing is read by others, too: nothing personal.",
)
@click.option(
    "--budget",
    type=click.IntRange(0),
    metavar="CHARS",
    help="How long the block may be; USER.md and CHANNEL.md stay.",
)
@click.option(
    "--session", metavar="NAME", help="The conversation whose own turns are left out."
)
@click.option(
    "--confirmation",
    metavar="TEXT",
    help="What a task was about that was confirmed just now; comes last.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="All of the vault, the notes of every person included.",
)
@private
@scoped
@common
@click.pass_obj
def context(
    context: Context,
    /,
    prompt: tuple[str, ...],
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
    everything: bool,
    private: bool,
    **options: Any,
) -> None:
    """Print the memory block for PROMPT: what a bot is given before it answers.

    USER.md, facts, CHANNEL.md (without a channel MEMORY.md), rules, the last dated notes, the newest reflection, and
    the lines that have to do with PROMPT; all of it quoted, as it stands in the notes now.

    --user, --channel and --group say whose memory it is. With --channel, others read the answer: what is a person's own
    is left out unless --private is given. A vault of one person and no channel needs no name.
    """
    scopes = named_scopes(users, channels, groups)
    if everything and scopes:
        raise UsageError(
            "--all goes without --user, --channel and --group",
            hint="give either --all or names",
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    wanted = context_calls.ContextOptions(
        private=private or everything, now=context.now, **chosen
    )
    answer = answer_context(
        context, " ".join(prompt), scopes, wanted, everything=everything
    )
    context.emit(answer, lambda: answer["text"], verbatim=True)
    if not context.json:
        for line in search_text.cut_texts(answer):
            context.say(line)
    remark(context, answer["freshness"])
