"""`search`: asks the daemon with its warm model, or searches in this process."""

from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli import search_text
from vault_memory.cli.daemon_or_local import answer_search
from vault_memory.cli.options import Context, NamedScopes, common, named_scopes, private, scoped
from vault_memory.cli.remarks import print_freshness, print_unknown_scopes, print_unsearched
from vault_memory.cli.views import hit_blocks
from vault_memory.contract import MOST_HITS
from vault_memory.errors import UsageError
from vault_memory.search import filter_values

if TYPE_CHECKING:
    from vault_memory.search.calls import SearchOptions


def _not_empty(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    # Fault: an empty variable of a script would search all text.
    if value is not None and not value.strip():
        option = parameter.opts[0]
        raise UsageError(f"`{option}` needs a name", hint=f"leave `{option}` out for all notes")
    return value


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--topic",
    metavar="WORD",
    callback=_not_empty,
    help="Only chunks of this topic, or without a topic.",
)
@click.option(
    "--entity",
    metavar="NAME",
    callback=_not_empty,
    help="Only chunks that name this person or thing.",
)
@click.option(
    "--since",
    metavar="DATE",
    help="Only chunks of this day or later: 2026-01-31, 2026-01, `yesterday`, `last week`.",
)
@click.option("--until", metavar="DATE", help="Only chunks of this day or earlier.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only notes of this kind, such as `dated` or `facts` (repeatable).",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only notes with this tag or a nested one, such as `TAG/sub` (repeatable).",
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only notes with this field of front matter; KEY alone: any value (repeatable).",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Only notes below this path; `*` and `**` are globs (repeatable: any of them).",
)
@click.option(
    "--mode",
    metavar="MODE",
    help="How to rank: balanced, keyword, semantic or rrf; or recent, important, historical, "
    "comprehensive or general.",
)
@click.option(
    "--limit", type=click.IntRange(1, MOST_HITS), metavar="N", help="Maximum number of hits."
)
@click.option("--session", metavar="ID", help="Leave out the turns of this conversation.")
@click.option(
    "--why",
    is_flag=True,
    help="Show how each score is made up, and how many hits each filter removed.",
)
@click.option(
    "--archived",
    is_flag=True,
    help="Include items that have faded, and show the state of each hit.",
)
@click.option("--copies", is_flag=True, help="Show lines that say the same as hits of their own.")
@private
@scoped
@common
@click.pass_obj
def search(
    context: Context, /, query: tuple[str, ...], scopes: NamedScopes, private: bool, **filters: Any
) -> None:
    """Find the lines that answer QUERY, best first.

    QUERY is some words, a question or a complete prompt, in any language. Without a daemon
    the command first reads the changed notes, and then searches by keywords.

    With --channel the answer is for all in the channel: it has a person's own notes only
    with --user and --private.

    \b
    Examples:
      vault-memory search "where is the spare key of the lighthouse?"
      vault-memory search allergy --user mira --kind facts
    """
    chosen = {name: value for name, value in filters.items() if value}
    # The daemon may get the request after midnight, or know no words for days.
    if "since" in chosen:
        chosen["since"] = filter_values.first_day(chosen["since"], "--since", context.now)
    if "until" in chosen:
        chosen["until"] = filter_values.last_day(chosen["until"], "--until", context.now)
    options: SearchOptions = {"now": context.now, **chosen}  # type: ignore[typeddict-item]
    # Others read the answer in a channel, so a name alone does not open a person's own notes.
    is_closed = bool(scopes.channels) and not private
    users = () if is_closed else scopes.users
    names = named_scopes(users, scopes.channels, scopes.groups)
    text = " ".join(query)
    if not text.strip():
        raise UsageError(
            "the query is empty",
            hint='write what you look for, such as `vault-memory search "spare key"`',
        )
    answer = answer_search(context, text, names, options)
    context.emit(
        answer,
        lambda: search_text.hits_text(answer, _unpainted),
        view=lambda screen: hit_blocks.hits_view(answer, text, screen),
    )
    if not (context.json or answer["hits"] or search_text.has_words(text)):
        context.say("the query has no words: write what you look for in letters")
    if is_closed:
        for name in scopes.users:
            context.say(search_text.closed_text(name))
    print_unknown_scopes(context, answer)
    print_unsearched(context, answer)
    print_freshness(context, answer["freshness"])


def _unpainted(text: str, style: str) -> str:
    return text
