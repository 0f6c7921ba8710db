"""`read` and `notes`: the notes themselves."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
else:
    json_contract = lazy_module("vault_memory.api.json_contract")


@click.command()
@click.argument("note")
@click.option(
    "--revision", metavar="REVISION", help="As it was in this version of its history."
)
@common
@click.pass_obj
def read(context: Context, note: str, revision: str | None) -> None:
    """Print NOTE (a path relative to the vault) as it is now; its revision goes to stderr."""
    with context.open() as memory:
        found = (
            memory.edits.read_version(note, revision) if revision else memory.read(note)
        )
    if context.json:
        context.emit(json_contract.of_note(found), str)
        return
    context.text(found.text)
    context.say(f"{found.note}  revision {found.revision}")


@click.command()
@scoped
@common
@click.pass_obj
def notes(
    context: Context,
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
) -> None:
    """List the notes that search reads."""
    scopes = named_scopes(users, channels, groups)
    with context.open() as memory:
        found = memory.notes(scopes or None)
    width = max((len(note.note) for note in found), default=0)
    context.emit(
        json_contract.of_notes(found) | json_contract.of_unknown_scopes(found),
        lambda: (
            "\n".join(
                f"{note.note:<{width}}  {note.kind:<10}  {note.scope}" for note in found
            )
            or "no notes"
        ),
    )
