"""`about`: what is known of a person or a thing."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.api import facts_json
from vault_memory.cli import screen as screens
from vault_memory.cli.options import Context, NamedScopes, common, scoped
from vault_memory.cli.rendering import print_unknown_scopes
from vault_memory.cli.terminal import escaped, styled
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.cli.screen import Screen
    from vault_memory.contract.about_answers import AboutJson
    from vault_memory.contract.answers import FactJson

INDENT = "  "


@click.command()
@click.argument("name", required=False)
@scoped
@common
@click.pass_obj
def about(context: Context, name: str | None, scopes: NamedScopes) -> None:
    """Show what is known of a person or a thing: USER.md, rules, facts, and what is recent.

    NAME may be left out when the vault has one person.

    \b
    Example:
      vault-memory about mira
    """
    with context.open() as memory:
        # Without a daemon, the index lacks what was saved since the last command.
        if not memory.vault.state.socket.exists():
            memory.refresh(briefly=True)
        names = scopes.names() or memory.scopes()
        whom = name or _only_person(names)
        known = memory.facts.about(whom, scopes=names, now=context.now)
    answer = facts_json.of_known(known)
    context.emit(answer, lambda: _text(answer, None), view=lambda screen: _text(answer, screen))
    print_unknown_scopes(context, answer)


def _only_person(scopes: Sequence[str]) -> str:
    """Return the name of the only person. Raises UsageError."""
    people = [scope[5:] for scope in scopes if scope.startswith("user:")]
    if len(people) == 1:
        return people[0]
    raise UsageError(
        "it is not clear whom to show",
        hint=f"name a person or a thing: {', '.join(people) or 'no person has notes'}",
    )


def _text(answer: "AboutJson", screen: "Screen | None") -> str:
    aliases = ", ".join(answer["aliases"])
    title = f"{answer['name']}: {answer['type'] or 'unknown'}"
    blocks = [styled(f"{title} (also {aliases})" if aliases else title, bold=True)]
    blocks += filter(None, [answer["summary"]])
    for note in answer["notes"]:
        blocks.append(_block(note["note"], note["text"].splitlines(), screen))
    if answer["facts"]:
        blocks.append(_block("Facts", map(_fact_line, answer["facts"]), screen))
    for note in answer["recent"]:
        blocks.append(_block(note["note"], note["text"].splitlines(), screen))
    # The title alone is no answer.
    if len(blocks) == 1:
        blocks.append("nothing is known: `vault-memory facts` lists what is")
    return "\n\n".join(blocks)


def _fact_line(fact: "FactJson") -> str:
    return f"- {fact['subject']} · {fact['predicate']}: {fact['object']}"


def _block(heading: str, lines: "Iterator[str] | Sequence[str]", screen: "Screen | None") -> str:
    """Return lines under a heading; empty lines and the title of a note are left out."""
    block = [styled(heading, bold=True)]
    for line in lines:
        if line.strip() and not line.startswith("# "):
            block += _fitted(line, screen)
    return "\n".join(block)


def _fitted(line: str, screen: "Screen | None") -> list[str]:
    if screen is None:
        return [INDENT + line]
    plain = escaped(line).replace("\t", INDENT)
    return screens.wrapped(plain, screen.prose, first=INDENT, indent=INDENT * 2)
