"""`search`: asks the daemon with its warm model, or looks by itself."""

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli import search_text
from vault_memory.cli.daemon_or_local import answer_search
from vault_memory.cli.options import Context, common, day, named_scopes, private, scoped
from vault_memory.cli.terminal import styled
from vault_memory.contract import MOST_HITS
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.contract import FreshnessJson
    from vault_memory.search import calls as search_calls
else:
    search_calls = lazy_module("vault_memory.search.calls")


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--topic", metavar="WORD", help="Only chunks of this topic, or of none.")
@click.option(
    "--entity", metavar="NAME", help="Only chunks that name this person or thing."
)
@click.option(
    "--since", metavar="DATE", callback=day, help="Only chunks of this day or later."
)
@click.option(
    "--until", metavar="DATE", callback=day, help="Only chunks of this day or earlier."
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only notes of this kind (repeatable).",
)
@click.option("--mode", metavar="MODE", help="balanced, keyword, semantic or rrf.")
@click.option(
    "--limit",
    type=click.IntRange(1, MOST_HITS),
    metavar="N",
    help="At most this many hits.",
)
@click.option(
    "--session", metavar="ID", help="Leave out the turns of this conversation."
)
@click.option(
    "--why",
    is_flag=True,
    help="Show each term of the score, and what the filters left out.",
)
@private
@scoped
@common
@click.pass_obj
def search(
    context: Context,
    /,
    query: tuple[str, ...],
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
    private: bool,
    **filters: Any,
) -> None:
    """Find the lines that answer QUERY, best first.

    Words, a question or a whole prompt, in any language. Without a daemon it first reads what changed and searches
    by keywords. With --channel the answer is for all in the channel: --user opens a person's own notes with --private.
    """
    chosen = {name: value for name, value in filters.items() if value}
    for name in ("since", "until"):
        if name in chosen:
            chosen[name] = date.fromisoformat(chosen[name])
    options = search_calls.SearchOptions(now=context.now, **chosen)
    open_users = users if private or not channels else ()
    answer = answer_search(
        context, " ".join(query), named_scopes(open_users, channels, groups), options
    )
    context.emit(answer, lambda: search_text.hits_text(answer, _painted))
    for name in users if not open_users else ():
        context.say(search_text.closed_text(name))
    remark(context, answer["freshness"])


def remark(context: Context, freshness: "FreshnessJson") -> None:
    """Say how fresh an answer is, when it is not wholly."""
    if context.json:
        return
    for line in search_text.freshness_texts(freshness):
        context.say(line)


def _painted(text: str, style: str) -> str:
    return styled(text, bold=style == "bold" or None, dim=style == "dim" or None)
