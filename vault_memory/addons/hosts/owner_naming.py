"""Finds the person whom a bot serves, and names the owner of notes that have none."""

from typing import TYPE_CHECKING

import click

from vault_memory.admin import owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.cli.options import Context, displayed_path
from vault_memory.errors import UsageError
from vault_memory.search import scope_names

if TYPE_CHECKING:
    from vault_memory.addons.hosts.hosts_commands import InstallOptions


def name_owner(context: Context, options: "InstallOptions") -> None:
    """Make the person of a bot the owner of notes without a named owner, and say so."""
    user = options.user
    if not user or options.uninstall:
        return
    with VaultMemory.open(context.vault, context.config) as memory:
        if context.new or owner.has_owner(memory.vault):
            return
        memory.refresh()
        if not scope_names.sole_owner(memory.searcher):
            return
        root = memory.root
    # Fault: the notes would go on belonging to a name that nobody has.
    question = f"Are the notes in {displayed_path(root)} those of {user}?"
    if context.can_ask() and not click.confirm(question, default=True):
        return
    if options.dry_run:
        context.say(f"the notes would belong to {user}: nobody has named their owner")
        context.new = True
        return
    owner.set_owner(root, user)
    context.say(f"these notes belong to {user} from now on")


def only_person(memory: VaultMemory) -> str:
    """Return the one person that the vault knows. Raises UsageError when there are several."""
    prefix = "user:"
    people = [scope.removeprefix(prefix) for scope in memory.scopes() if scope.startswith(prefix)]
    if len(people) > 1:
        raise UsageError(
            f"the vault has several people: {', '.join(people)}",
            hint="name the person whom the bot serves with `--user NAME`",
        )
    return people[0] if people else memory.layout.user
