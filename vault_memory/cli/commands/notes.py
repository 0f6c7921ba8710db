"""`read` and `notes`: the notes themselves."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, NamedScopes, common, scoped
from vault_memory.cli.remarks import print_unknown_scopes
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
else:
    json_contract = lazy_module("vault_memory.api.json_contract")


@click.command()
@click.argument("note")
@click.option(
    "--revision",
    metavar="REVISION",
    help="Print this version from its `history` instead.",
)
@common
@click.pass_obj
def read(context: Context, note: str, revision: str | None) -> None:
    """Print NOTE as it is now, and its revision on stderr. NOTE is a path in the vault.

    \b
    Example:
      vault-memory read memory/electricity.md
    """
    with context.open() as memory:
        if revision:
            text = memory.edits.read_version(note, revision)
        else:
            text = memory.read(note)
    if context.json:
        context.emit(json_contract.of_note(text), str)
        return
    context.text(text.text)
    context.say(f"{text.note}  revision {text.revision}")


@click.command()
@scoped
@common
@click.pass_obj
def notes(context: Context, scopes: NamedScopes) -> None:
    """List the notes that search reads, with their kind and scope."""
    with context.open() as memory:
        listed = memory.notes(scopes.names() or None)
    width = max((len(note.note) for note in listed), default=0)

    def human() -> str:
        lines = [
            f"{note.note:<{width}}  {note.kind:<10}  {note.scope}" for note in listed
        ]
        return "\n".join(lines) or "no notes"

    answer = json_contract.of_notes(listed, listed.unknown_scopes)
    context.emit(answer, human)
    print_unknown_scopes(context, answer)
