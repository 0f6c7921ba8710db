"""Asks whose notes a vault has, and names their owner."""

from typing import TYPE_CHECKING

import click

from vault_memory.admin import owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.cli.options import Context, displayed_path
from vault_memory.errors import UsageError
from vault_memory.search import scope_names

if TYPE_CHECKING:
    from vault_memory.cli.commands.hosts import InstallOptions
    from vault_memory.search.open_vault import OpenVault


def owner_of_new_notes(
    context: Context,
    vault: "OpenVault",
    named: str | None,
    *,
    is_new: bool,
) -> str:
    """Return the owner to write into the marker; "" where it is known, or stays unknown."""
    if named is not None:
        if not named.strip():
            raise UsageError("`--user` needs a name", hint="write `--user NAME`")
        return named.strip()
    if owner.has_owner(vault):
        return ""
    login = owner.login_name()
    if context.can_ask() and not context.quiet:
        answer: str = click.prompt("Whose notes are these?", default=login)
        return answer.strip()
    # Fault: a vault that is in use without a name must not get one unasked.
    return login if is_new else ""


def owner_text(name: str, previous: str) -> str:
    """Return who owns the notes now, and who no longer does."""
    is_changed = previous not in ("", name)
    before = f", no longer to {previous}" if is_changed else ""
    return f"these notes belong to {name}{before}"


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
