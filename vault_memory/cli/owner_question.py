"""Asks whose notes a vault has."""

from typing import TYPE_CHECKING

import click

from vault_memory.admin import owner
from vault_memory.cli.options import Context
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.search.open_vault import OpenVault


def owner_of_new_notes(
    context: Context, vault: "OpenVault", named: str | None, *, is_new: bool
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
