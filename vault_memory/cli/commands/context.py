"""`context`: the memory that a bot gets for a prompt."""

from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli import search_text
from vault_memory.cli.daemon_or_local import answer_context
from vault_memory.cli.options import Context, NamedScopes, common, day, private, scoped
from vault_memory.cli.rendering import print_freshness, print_unknown_scopes
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.context.calls import ContextOptions


@click.command()
@click.argument("prompt", nargs=-1)
@click.option(
    "--purpose",
    type=click.Choice(["chat", "briefing"]),
    help="`briefing` leaves out what is personal, because others read it.",
)
@click.option(
    "--budget",
    type=click.IntRange(0),
    metavar="CHARS",
    help="Maximum length of the block; USER.md and CHANNEL.md are never shortened.",
)
@click.option("--session", metavar="NAME", help="Leave out the turns of this conversation.")
@click.option(
    "--confirmation",
    metavar="TEXT",
    help="The task that the user has just confirmed; it comes last in the block.",
)
@click.option(
    "--as-of", callback=day, metavar="DATE", help="The block as it was at the end of this day."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Use the complete vault, the notes of every person included.",
)
@private
@scoped
@common
@click.pass_obj
def context(
    context: Context,
    /,
    prompt: tuple[str, ...],
    scopes: NamedScopes,
    everything: bool,
    private: bool,
    **options: Any,
) -> None:
    """Print the memory block for PROMPT: what a bot gets before it answers.

    The block has USER.md, facts, CHANNEL.md (MEMORY.md outside of channels), rules, the
    latest dated notes, the newest reflection, and the lines that answer PROMPT. All of it
    is quoted from the notes as they are now.

    --user, --channel and --group say whose memory to use. With --channel, others read the
    answer, so a person's own notes need --private. A vault with one person and no
    channel needs no name.

    With --as-of the block is made of the notes of that day. Versions of notes are kept for
    90 days; further back only the edits of the bot are known. What is unknown is named.

    \b
    Example:
      vault-memory context --user mira "where is the spare key?"
    """
    names = scopes.names()
    if everything and names:
        raise UsageError(
            "--all excludes --user, --channel and --group", hint="give either --all or names"
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    block_options: ContextOptions = {
        "private": private or everything,
        "now": context.now,
        **chosen,  # type: ignore[typeddict-item]
    }
    answer = answer_context(context, " ".join(prompt), names, block_options, everything=everything)
    context.emit(answer, lambda: answer["text"], verbatim=True)
    if not context.json:
        for line in search_text.cut_texts(answer):
            context.say(line)
    print_unknown_scopes(context, answer)
    print_freshness(context, answer["freshness"])
