"""Refuses a misspelt name of a person, channel or group, and reports a new name."""

from typing import TYPE_CHECKING

import click

from vault_memory.cli import search_text
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli.options import Context
    from vault_memory.search import scope_names
else:
    scope_names = lazy_module("vault_memory.search.scope_names")


def check_names(context: "Context", memory: "VaultMemory", *, makes_names: bool) -> None:
    """Check the names that the options of a command give. Raises NameUnclear, NotesBelongTo.

    `memory` is closed then.
    """
    # Fault: a wrong letter opens the memory of a person who does not exist, and what is
    # said lands there.
    if context.new:
        return
    try:
        unknown = _unknown_names(context, memory, may_ask=makes_names)
    except BaseException:
        memory.close()
        raise
    if not unknown or context.json:
        return
    if makes_names:
        for scope in unknown:
            kind, _, name = scope.partition(":")
            context.say(f"new {scope_names.NOUNS[kind]}: {name}")
            if kind == "user" and scope_names.sole_owner(memory.searcher):
                context.say(
                    "nobody has named the owner of the notes at the top:"
                    f" `vault-memory init --user {name}`, if they are those of {name}"
                )
        return
    for line in search_text.unknown_scope_texts({"unknown_scopes": unknown}):
        context.say(line)
    context.told_unknown = True


def _unknown_names(context: "Context", memory: "VaultMemory", *, may_ask: bool) -> list[str]:
    """Return the new names. A person at a terminal may accept a second person."""
    try:
        return scope_names.unknown_names(memory.searcher, context.named)
    except scope_names.NotesBelongTo as refusal:
        if not (may_ask and context.can_ask()):
            raise
        context.line(refusal.message)
        if not click.confirm(f"Add {refusal.name} as a second person?"):
            raise
        return [f"user:{refusal.name}"]
