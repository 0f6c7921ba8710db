"""Commands of facts: list and add them, correct, end, delete and confirm them."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.api import facts_json
from vault_memory.cli import rendering
from vault_memory.cli.options import (
    Context,
    NamedScopes,
    common,
    day,
    dry_run,
    edit_source,
    grouped,
    scoped,
)
from vault_memory.cli.rendering import emit_edit, exit_code_of
from vault_memory.cli.root import CommandGroup
from vault_memory.cli.screen import Screen, table, wrapped
from vault_memory.cli.terminal import escaped, styled
from vault_memory.errors import UsageError
from vault_memory.rules.facts import relevance

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract import Source
    from vault_memory.facts.entity_info import About, FactChange
    from vault_memory.rules.facts.fact import Fact


Function = TypeVar("Function", bound=Callable[..., Any])


class CannotAskFor(UsageError):
    """A part of the fact is missing, and there is no terminal to ask on."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the {name} of the fact is missing",
            hint="give subject, predicate and object, as in "
            "`vault-memory add-fact alice works_at Acme`",
        )


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Who changes a fact, and whether the change is only shown."""

    source: "Source"
    dry_run: bool


def changing(function: Function) -> Function:
    """Add the options of commands that change a fact; the command gets them as `change`."""
    return edit_source(dry_run(grouped(ChangeOptions, "change")(function)))


@click.command()
@click.option("--entity", metavar="NAME", help="Only facts about this person or thing.")
@click.option(
    "--on", callback=day, metavar="DATE", help="The facts that held on this day, as known now."
)
@click.option(
    "--below",
    type=click.FloatRange(0, 1),
    metavar="N",
    help="Only facts whose strength is below N, the weakest first.",
)
@scoped
@common
@click.pass_obj
def facts(
    context: Context, entity: str | None, on: date | None, below: float | None, scopes: NamedScopes
) -> None:
    """List the facts that hold now, with their ids.

    The strength of a fact is its confidence, less what has faded since the turn that it
    cites. A fact that a person wrote or confirmed does not fade.

    \b
    Examples:
      vault-memory facts --entity mira
      vault-memory facts --below 0.5
    """
    with context.open() as memory:
        listed = memory.facts(
            scopes=scopes.names_or_all(memory), entity=entity, on=on, below=below, now=context.now
        )
    answer = facts_json.of_facts(listed, listed.unknown_scopes)
    context.emit(answer, lambda: _listing(listed), view=lambda screen: facts_table(listed, screen))
    if entity and not listed:
        rendering.print_unknown_name(context, entity)
    rendering.print_unknown_scopes(context, answer)


@click.command()
@click.argument("entity")
@scoped
@common
@click.pass_obj
def timeline(context: Context, entity: str, scopes: NamedScopes) -> None:
    """List all facts about ENTITY, past ones included, oldest first."""
    rendering.check_given_name(entity)
    with context.open() as memory:
        listed = memory.timeline(entity, scopes=scopes.names_or_all(memory), now=context.now)
    answer = facts_json.of_facts(listed, listed.unknown_scopes)
    context.emit(answer, lambda: _listing(listed), view=lambda screen: facts_table(listed, screen))
    if not listed:
        rendering.print_unknown_name(context, entity)
    rendering.print_unknown_scopes(context, answer)


@click.command()
@click.argument("name")
@scoped
@common
@click.pass_obj
def entity(context: Context, name: str, scopes: NamedScopes) -> None:
    """Show who or what NAME is: aliases, facts, relationships, and where notes mention it."""
    rendering.check_given_name(name)
    with context.open() as memory:
        info = memory.facts.entity(name, scopes=scopes.names_or_all(memory), now=context.now)
    answer = facts_json.of_about(info)
    context.emit(answer, lambda: _entity_text(info), view=lambda screen: entity_view(info, screen))
    if not (info.facts or info.mentions):
        rendering.print_unknown_name(context, name)
    rendering.print_unknown_scopes(context, answer)


def _entity_text(info: "About") -> str:
    lines = [entity_title(info, styled(info.name, bold=True))]
    if info.summary:
        lines.append(info.summary)
    lines += _lines(info.facts)
    for hit in info.hits:
        if hit.text:
            first_line = hit.text.splitlines()[0]
            lines.append(f"{hit.note}:{hit.lines[0]}  {first_line}")
    return "\n".join(lines)


@click.command("add-fact")
@click.argument("subject", required=False)
@click.argument("predicate", required=False)
@click.argument("object", required=False)
@click.option(
    "--from",
    "valid_from",
    metavar="DATE",
    callback=day,
    help="The first day on which the fact holds.",
)
@click.option(
    "--until",
    "valid_until",
    metavar="DATE",
    callback=day,
    help="The last day on which the fact holds.",
)
@click.option(
    "--temporary", is_flag=True, help="The fact holds for a while, and does not end a lasting one."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="N",
    help="How certain the fact is, from 0 to 1.",
)
@click.option("--ref", default="", metavar="ID", help="The turn or task that the fact comes from.")
@click.option("--origin", default="owner", metavar="WORD", help="Whose words the fact comes from.")
@changing
@scoped
@common
@click.pass_obj
def add_fact(context: Context, /, change: ChangeOptions, scopes: NamedScopes, **fact: Any) -> int:
    """Add the fact SUBJECT PREDICATE OBJECT. On a terminal the command asks for missing parts.

    Some predicates, such as works_at and lives_in, have one value at a time: a new value
    ends the old fact.

    \b
    Example:
      vault-memory add-fact alice works_at Acme --from 2026-03-01
    """
    for name in ("subject", "predicate", "object"):
        fact[name] = fact[name] or _ask_for(name)
    with context.open(makes_names=True) as memory:
        scope = _scope(memory, fact["subject"], scopes.names())
        result = memory.add_fact(
            **fact, scope=scope, source=change.source, dry_run=change.dry_run, now=context.now
        )
    return _emit(context, result, change.dry_run)


@click.command()
@click.argument("fact_id", metavar="ID")
@click.argument("object", required=False)
@click.option("--subject", metavar="NAME", help="The person or thing it is about.")
@click.option("--predicate", metavar="WORD", help="The correct predicate.")
@click.option("--from", "valid_from", metavar="DATE", callback=day, help="The correct first day.")
@click.option("--until", "valid_until", metavar="DATE", callback=day, help="The correct last day.")
@click.option(
    "--temporary/--lasting", default=None, help="Whether the fact holds for a while or permanently."
)
@changing
@scoped
@common
@click.pass_obj
def correct(
    context: Context, /, fact_id: str, change: ChangeOptions, scopes: NamedScopes, **right: Any
) -> int:
    """Correct the fact ID, which was never true: give the right OBJECT, or other parts as options.

    If the fact was true once, use `invalidate`, or `add-fact` with the new value.

    \b
    Example:
      vault-memory correct f3a9 "Harbour Books"
    """
    if all(value is None for value in right.values()):
        right["object"] = _ask_for("object")
    with context.open() as memory:
        result = memory.correct_fact(
            fact_id,
            scopes=scopes.names_or_all(memory),
            source=change.source,
            dry_run=change.dry_run,
            now=context.now,
            **right,
        )
    return _emit(context, result, change.dry_run)


@click.command()
@click.argument("fact_id", metavar="ID")
@changing
@scoped
@common
@click.pass_obj
def invalidate(context: Context, fact_id: str, change: ChangeOptions, scopes: NamedScopes) -> int:
    """End the fact ID, which is no longer true. Its line is struck through; `timeline` shows it."""
    return _by_id(context, "invalidate", fact_id, change, scopes)


@click.command("delete-fact")
@click.argument("fact_id", metavar="ID")
@changing
@scoped
@common
@click.pass_obj
def delete_fact(context: Context, fact_id: str, change: ChangeOptions, scopes: NamedScopes) -> int:
    """Delete the fact ID from its page, because it was never true."""
    return _by_id(context, "delete", fact_id, change, scopes)


@click.command()
@click.argument("fact_id", metavar="ID")
@changing
@scoped
@common
@click.pass_obj
def confirm(context: Context, fact_id: str, change: ChangeOptions, scopes: NamedScopes) -> int:
    """Confirm that the fact ID is true. A confirmed fact does not fade."""
    return _by_id(context, "confirm", fact_id, change, scopes)


@click.group(
    cls=CommandGroup,
    commands={
        "list": facts,
        "timeline": timeline,
        "entity": entity,
        "add": add_fact,
        "correct": correct,
        "invalidate": invalidate,
        "delete": delete_fact,
        "confirm": confirm,
    },
    invoke_without_command=True,
)
@common
@click.pass_context
def fact(ctx: click.Context) -> None:
    """Group the commands of facts: `fact add` is `add-fact`, and `fact list` is `facts`."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _by_id(
    context: Context, call: str, fact_id: str, change: ChangeOptions, scopes: NamedScopes
) -> int:
    with context.open() as memory:
        result = getattr(memory.facts, call)(
            fact_id,
            scopes=scopes.names_or_all(memory),
            source=change.source,
            dry_run=change.dry_run,
            now=context.now,
        )
    return _emit(context, result, change.dry_run)


def _emit(context: Context, change: "FactChange", dry_run: bool) -> int:
    if context.json:
        context.emit(facts_json.of_change(change), str)
    else:
        context.line(f"{change.outcome}: {change.id} in {change.note}")
        emit_edit(context, change.edit, dry_run=dry_run)
    return exit_code_of(change.edit)


def _scope(memory: "VaultMemory", subject: str, names: Sequence[str]) -> str:
    """Return the scope of a new fact; asks on a terminal if there are several candidates."""
    try:
        return memory.facts.scope_for(subject, names)
    except UsageError as error:
        candidates = error.details.get("candidates")
        if not sys.stdin.isatty() or not isinstance(candidates, list):
            raise
        answer: str = click.prompt("On whose page", type=click.Choice(candidates), err=True)
        return answer


def _ask_for(name: str) -> str:
    if not sys.stdin.isatty():
        raise CannotAskFor(name)
    answer: str = click.prompt(name.capitalize(), err=True)
    return answer


def _listing(listed: Sequence["Fact"]) -> str:
    return "\n".join(_lines(listed)) or "nothing is known"


def _lines(facts: "Iterable[Fact]") -> list[str]:
    facts = list(facts)
    values = relevance.unclear_values(facts)
    return [_line(fact, values) for fact in facts]


def _line(fact: "Fact", values: "Mapping[str, tuple[str, ...]]") -> str:
    label = styled(fact.id if fact.text else "(follows)", dim=True)
    subject = styled(fact.subject, bold=True)
    return f"{label:<10}  {subject}  {relevance.shown_line(fact, values)}"


HEADERS = ("ID", "ABOUT", "FACT")
GAP = "  "


def facts_table(facts: "Sequence[Fact]", screen: Screen) -> str:
    """Return the facts as a table; a sentence without any."""
    if not facts:
        return "nothing is known"
    values = relevance.unclear_values(facts)
    rows = map(partial(_row, values), facts)
    return table(HEADERS, list(rows), screen.columns)


def _row(values: "Mapping[str, tuple[str, ...]]", fact: "Fact") -> tuple[str, str, str]:
    label = fact.id if fact.text else "(follows)"
    return (label, fact.subject, relevance.shown_line(fact, values))


def entity_title(info: "About", name: str) -> str:
    """Return who or what an entity is and how often it is named; `name` may be painted."""
    aliases = f" (also {', '.join(info.aliases)})" if info.aliases else ""
    places = "1 place" if info.mentions == 1 else f"{info.mentions} places"
    return f"{name}: {info.type}{aliases}, named in {places}"


def entity_view(info: "About", screen: Screen) -> str:
    """Return what is known of an entity: its title, a table of facts, and the lines that name it."""
    title = wrapped(escaped(entity_title(info, info.name)), screen.prose, indent=GAP)
    lines = [styled(line, bold=True) for line in title]
    if info.summary:
        lines += wrapped(escaped(info.summary), screen.prose)
    blocks = ["\n".join(lines)]
    if info.facts:
        blocks.append(facts_table(info.facts, screen))
    hit_lines: list[str] = []
    for hit in info.hits:
        if hit.text:
            hit_lines.append(styled(f"{hit.note}:{hit.lines[0]}", fg="cyan"))
            text = escaped(hit.text.splitlines()[0]).strip()
            hit_lines += wrapped(text, screen.prose, first=GAP)
    if hit_lines:
        blocks.append("\n".join(hit_lines))
    return "\n\n".join(blocks)
