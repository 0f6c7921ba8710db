"""`mcp`: the memory of one person as tools for a model, for the program that starts this one."""

import sys
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, private
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.mcp import stdio
    from vault_memory.rules.paths import caller as paths_caller
else:
    stdio = lazy_module("vault_memory.mcp.stdio")
    paths_caller = lazy_module("vault_memory.rules.paths.caller")


@click.command()
@click.option("--user", metavar="NAME", help="Whose memory it is. There is no default.")
@click.option(
    "--channel", default="", metavar="NAME", help="The channel where the bot answers."
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="A group that is open, too (repeatable).",
)
@private
@common
@click.pass_obj
def mcp(
    context: Context,
    user: str | None,
    channel: str,
    groups: tuple[str, ...],
    private: bool,
) -> None:
    """Serve tools and notes to an MCP client over standard input and output, until it goes.

    Nothing that the client says opens anybody else's notes. Over HTTP, `serve` offers the same at /mcp.
    """
    if not user:
        raise UsageError(
            "`mcp` needs to know whose memory it serves",
            hint="name the person with `--user NAME`",
        )
    for name in (user, channel, *groups):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise UsageError(
                f"{name!r} is no name: it is not valid UTF-8",
                hint="write it as its folder is named",
            )
    caller = paths_caller.Caller(user, channel, groups, private)
    memory = (
        context.open()
    )  # here and not at the first call: what is wrong with it is told at once
    if sys.stdin.isatty():
        context.say(
            "waiting for an MCP client on standard input; such programs start this command by themselves"
        )
    stdio.serve(lambda: memory, lambda: caller)
