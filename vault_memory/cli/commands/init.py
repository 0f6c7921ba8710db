"""`init`: creates a vault."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, displayed_path
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.admin import init_vault
    from vault_memory.contract.setup_answers import InitJson
    from vault_memory.vault import marker as vault_marker
else:
    init_vault = lazy_module("vault_memory.admin.init_vault")
    vault_marker = lazy_module("vault_memory.vault.marker")


@click.command()
@click.argument("path", required=False)
@click.option("--empty", is_flag=True, help="Write no example notes.")
@click.option(
    "--copied",
    is_flag=True,
    help="This folder is a copy of another vault: give it a new id.",
)
@click.option(
    "--moved",
    is_flag=True,
    help="This folder is a vault that was moved here: keep its id.",
)
@common
@click.pass_obj
def init(
    context: Context,
    path: str | None,
    empty: bool,
    copied: bool,
    moved: bool,
) -> None:
    """Create a vault at PATH (default: --vault, else the current folder).

    A new or empty folder gets example notes. A folder with files in it stays as it is,
    apart from the marker `.vault-memory`.

    \b
    Example:
      vault-memory init ~/vault
    """
    if copied and moved:
        raise UsageError(
            "`--copied` and `--moved` exclude each other",
            hint="give `--copied` if the other folder is still in use, else `--moved`",
        )
    root = _root(context, path)
    if copied or moved:
        init_vault.settle_copy(root, "moved" if moved else "copied", os.environ)
        count = 0
    else:
        count = init_vault.make_vault(root, empty=empty)
    marker = vault_marker.ensure_marker(root)
    answer: InitJson = {
        "vault": str(root.resolve()),
        "id": marker.vault,
        "notes_written": count,
    }
    name = displayed_path(root)
    examples = f" with {count} example files" if count else ""
    context.emit(answer, lambda: f"made a vault at {name}{examples}")
    command = f"vault-memory --vault {name}"
    context.say(f"next: {command} search …, or {command} run")


def _root(
    context: Context,
    path: str | None,
) -> Path:
    """Return the folder that the command means."""
    named = path or context.vault or os.environ.get("VAULT_MEMORY_VAULT") or "."
    return Path(named).expanduser()
