"""`mcp`: the memory of one person as MCP tools, for a program that starts this command."""

import sys

import click

from vault_memory.cli import quick_start
from vault_memory.cli.options import Context, common, new_name, private, scope_option
from vault_memory.errors import UsageError
from vault_memory.mcp import stdio
from vault_memory.rules.paths import scopes as paths_caller


@click.command()
@scope_option("--user", help="The person whose memory to serve. Required.")
@scope_option("--channel", default="", help="The channel where the bot answers.")
@scope_option(
    "--group", "groups", multiple=True, help="Also open the notes of this group (repeatable)."
)
@click.option(
    "--host",
    default="",
    metavar="NAME",
    help="The program that starts this command; `install --check` tells when it did. "
    "One with hooks is not told to ask for what they give.",
)
@new_name
@private
@common
@click.pass_obj
def mcp(
    context: Context,
    user: str | None,
    channel: str,
    groups: tuple[str, ...],
    host: str,
    private: bool,
) -> None:
    """Serve tools and notes to an MCP client over standard input and output.

    The client cannot open the notes of anybody else. The command ends when the client
    closes its standard input. `serve` offers the same tools over HTTP at /mcp.

    \b
    Example:
      vault-memory --vault ~/vault mcp --user mira
    """
    if not user:
        raise UsageError(
            "`mcp` does not know whose memory to serve", hint="name the person with `--user NAME`"
        )
    for name in (user, channel, *groups):
        # Python reads a byte of an argument that is not UTF-8 as half of a surrogate pair.
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise UsageError(
                f"{name!r} is not a name: it is not valid UTF-8",
                hint="write it as its folder is named",
            )
    caller = paths_caller.Caller(user, channel, groups, private)
    # Opened before the first call, so that the client's log shows errors at once.
    memory = context.open()
    if sys.stdin.isatty():
        context.say(
            "waiting for an MCP client on standard input; a client starts this command by itself"
        )
    has_hooks = quick_start.runs_hooks(host)
    stdio.serve(lambda: memory, lambda: caller, has_hooks=has_hooks)
