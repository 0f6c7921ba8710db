"""`facts`, `timeline`, `entity`, and `add-fact`, `correct`, `invalidate`, `delete-fact`, `confirm`: what is known."""

import sys
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.cli.options import Context, common, day, named_scopes, scoped
from vault_memory.cli.rendering import emit_edit, exit_code_of
from vault_memory.cli.terminal import styled
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import facts_json, json_contract
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract import Source
    from vault_memory.facts.entity_info import FactChange
    from vault_memory.rules.facts.fact import Fact
else:
    facts_json = lazy_module("vault_memory.api.facts_json")
    json_contract = lazy_module("vault_memory.api.json_contract")

Function = TypeVar("Function", bound=Callable[..., Any])


class CannotAskFor(UsageError):
    """Something is missing, and nobody is there to be asked."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the {what} is missing",
            hint="`vault-memory add-fact alice works_at Acme` names all three",
        )


def whose(function: Function) -> Function:
    """The options that name scopes, as one argument."""

    def run(*args: Any, users: Any, channels: Any, groups: Any, **options: Any) -> Any:
        return function(*args, scopes=named_scopes(users, channels, groups), **options)

    run.__doc__, run.__name__ = function.__doc__, function.__name__
    run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    return scoped(run)  # type: ignore[return-value]


def changing(function: Function) -> Function:
    """The options of all commands that change a fact."""
    for decorate in (
        click.option(
            "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
        ),
        click.option(
            "--source",
            type=click.Choice(["cli", "tool"]),
            default="cli",
            show_default=True,
            help="Whose act it is: a person's, or the bot's, which policy binds.",
        ),
    ):
        function = decorate(function)
    return function


@click.command()
@click.option(
    "--entity", metavar="NAME", help="Only what is known of this person or thing."
)
@click.option(
    "--on",
    callback=day,
    metavar="DATE",
    help="Those that held on this day, by what is known now.",
)
@whose
@common
@click.pass_obj
def facts(
    context: Context, entity: str | None, on: str | None, scopes: list[str]
) -> None:
    """List the facts that hold now, with their ids."""
    with context.open() as memory:
        found = memory.facts(
            scopes=scopes or memory.scopes(),
            entity=entity,
            on=_day(on),
            now=context.now,
        )
    answer = facts_json.of_facts(found) | json_contract.of_unknown_scopes(found)
    context.emit(answer, lambda: _listed(found))


@click.command()
@click.argument("entity")
@whose
@common
@click.pass_obj
def timeline(context: Context, entity: str, scopes: list[str]) -> None:
    """List all that is or was known of ENTITY, the oldest first."""
    with context.open() as memory:
        found = memory.timeline(
            entity, scopes=scopes or memory.scopes(), now=context.now
        )
    answer = facts_json.of_facts(found) | json_contract.of_unknown_scopes(found)
    context.emit(answer, lambda: _listed(found))


@click.command()
@click.argument("name")
@whose
@common
@click.pass_obj
def entity(context: Context, name: str, scopes: list[str]) -> None:
    """Show who or what NAME is: aliases, facts, relationships, and where it is mentioned."""
    with context.open() as memory:
        found = memory.facts.entity(
            name, scopes=scopes or memory.scopes(), now=context.now
        )

    def human() -> str:
        known = f" (also {', '.join(found.aliases)})" if found.aliases else ""
        lines = [
            f"{styled(found.name, bold=True)}: {found.type}{known}, named in {_places(found.mentions)}"
        ]
        lines += [found.summary] if found.summary else []
        lines += [_line(fact) for fact in found.facts]
        lines += [
            f"{hit.note}:{hit.lines[0]}  {hit.text.splitlines()[0]}"
            for hit in found.hits
            if hit.text
        ]
        return "\n".join(lines)

    answer = facts_json.of_about(found) | json_contract.of_unknown_scopes(found)
    context.emit(answer, human)


@click.command("add-fact")
@click.argument("subject", required=False)
@click.argument("predicate", required=False)
@click.argument("object", required=False)
@click.option(
    "--from",
    "valid_from",
    metavar="DATE",
    callback=day,
    help="The day since which it is so.",
)
@click.option(
    "--until",
    "valid_until",
    metavar="DATE",
    callback=day,
    help="The last day on which it is so.",
)
@click.option(
    "--temporary",
    is_flag=True,
    help="It holds for a while, beside what holds for good.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="N",
    help="How sure it is, up to 1.",
)
@click.option(
    "--ref", default="", metavar="ID", help="The turn or task that it goes back to."
)
@click.option(
    "--origin", default="owner", metavar="WORD", help="Whose words it goes back to."
)
@changing
@whose
@common
@click.pass_obj
def add_fact(
    context: Context, /, scopes: list[str], dry_run: bool, source: "Source", **said: Any
) -> int:
    """State that SUBJECT PREDICATE OBJECT, such as `alice works_at Acme`. What is missing is asked for on a terminal.

    Of works_at, lives_in and others that have one value, a new value ends the old one.
    """
    for part in ("subject", "predicate", "object"):
        said[part] = said[part] or _ask_for(part)
    said = {
        name: _day(value) if name.startswith("valid_") else value
        for name, value in said.items()
    }
    with context.open() as memory:
        scope = _scope(memory, said["subject"], scopes)
        names = {part: said.pop(part) for part in ("subject", "predicate", "object")}
        change = memory.add_fact(
            **names,
            scope=scope,
            source=source,
            dry_run=dry_run,
            now=context.now,
            **said,
        )
    return _emit(context, change, dry_run)


@click.command()
@click.argument("fact_id", metavar="ID")
@click.argument("object", required=False)
@click.option("--subject", metavar="NAME", help="Whom it is really about.")
@click.option("--predicate", metavar="WORD", help="What it really says of them.")
@click.option(
    "--from",
    "valid_from",
    metavar="DATE",
    callback=day,
    help="The day since which it is really so.",
)
@click.option(
    "--until",
    "valid_until",
    metavar="DATE",
    callback=day,
    help="The last day on which it is really so.",
)
@click.option(
    "--temporary/--lasting",
    default=None,
    help="Whether it holds for a while, or for good.",
)
@changing
@whose
@common
@click.pass_obj
def correct(
    context: Context,
    /,
    fact_id: str,
    scopes: list[str],
    dry_run: bool,
    source: "Source",
    **right: Any,
) -> int:
    """Put what is right in the place of the fact ID, which was wrong from the start: OBJECT, or what options name.

    What was right and is no more is ended with `invalidate`, or by `add-fact` with what is so now.
    """
    if all(value is None for value in right.values()):
        right["object"] = _ask_for("object")
    right = {
        name: _day(value) if name.startswith("valid_") else value
        for name, value in right.items()
    }
    with context.open() as memory:
        change = memory.correct_fact(
            fact_id,
            scopes=scopes or memory.scopes(),
            source=source,
            dry_run=dry_run,
            now=context.now,
            **right,
        )
    return _emit(context, change, dry_run)


@click.command()
@click.argument("fact_id", metavar="ID")
@changing
@whose
@common
@click.pass_obj
def invalidate(
    context: Context, fact_id: str, scopes: list[str], dry_run: bool, source: "Source"
) -> int:
    """Strike the fact ID through: it is no longer so. It stays for `timeline`."""
    return _by_id(context, "invalidate", fact_id, scopes, dry_run, source)


@click.command("delete-fact")
@click.argument("fact_id", metavar="ID")
@changing
@whose
@common
@click.pass_obj
def delete_fact(
    context: Context, fact_id: str, scopes: list[str], dry_run: bool, source: "Source"
) -> int:
    """Take the fact ID off its page: it was never so."""
    return _by_id(context, "delete", fact_id, scopes, dry_run, source)


@click.command()
@click.argument("fact_id", metavar="ID")
@changing
@whose
@common
@click.pass_obj
def confirm(
    context: Context, fact_id: str, scopes: list[str], dry_run: bool, source: "Source"
) -> int:
    """Say that the fact ID is so: it does not fade."""
    return _by_id(context, "confirm", fact_id, scopes, dry_run, source)


def _by_id(
    context: Context,
    call: str,
    fact_id: str,
    scopes: Sequence[str],
    dry_run: bool,
    source: "Source",
) -> int:
    with context.open() as memory:
        known = scopes or memory.scopes()
        change = getattr(memory.facts, call)(
            fact_id, scopes=known, source=source, dry_run=dry_run, now=context.now
        )
    return _emit(context, change, dry_run)


def _emit(context: Context, change: "FactChange", dry_run: bool) -> int:
    if context.json:
        context.emit(facts_json.of_change(change), str)
    else:
        context.line(f"{change.outcome}: {change.id} in {change.note}")
        emit_edit(context, change.edit, dry_run=dry_run)
    return exit_code_of(change.edit)


def _scope(memory: "VaultMemory", subject: str, scopes: Sequence[str]) -> str:
    """On whose page it goes; asked for on a terminal where that is not clear."""
    try:
        return memory.facts.scope_for(subject, scopes)
    except UsageError as error:
        candidates = error.details.get("candidates")
        if not sys.stdin.isatty() or not isinstance(candidates, list):
            raise
        answer: str = click.prompt(
            "On whose page", type=click.Choice(candidates), err=True
        )
        return answer


def _ask_for(what: str) -> str:
    if not sys.stdin.isatty():
        raise CannotAskFor(what)
    answer: str = click.prompt(what.capitalize(), err=True)
    return answer


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


def _listed(found: Sequence["Fact"]) -> str:
    return "\n".join(map(_line, found)) or "nothing is known"


def _line(fact: "Fact") -> str:
    ident = styled(fact.id if fact.text else "(follows)", dim=True)
    return f"{ident:<10}  {styled(fact.subject, bold=True)}  {fact.line()}"


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"
