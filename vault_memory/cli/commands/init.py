"""`init`: makes a vault."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, where
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.admin import init_vault
    from vault_memory.vault import marker as vault_marker
else:
    init_vault = lazy_module("vault_memory.admin.init_vault")
    vault_marker = lazy_module("vault_memory.vault.marker")


@click.command()
@click.argument("path", required=False)
@click.option("--empty", is_flag=True, help="No example notes.")
@click.option(
    "--copied",
    is_flag=True,
    help="This folder is a copy of another vault: give it an id of its own.",
)
@click.option(
    "--moved",
    is_flag=True,
    help="This folder is another vault that was moved here: keep its id.",
)
@common
@click.pass_obj
def init(
    context: Context, path: str | None, empty: bool, copied: bool, moved: bool
) -> None:
    """Make a vault at PATH (default: --vault, else the current folder).

    An empty or new folder gets example notes. A folder with files in it is taken as it is: only the marker
    `.vault-memory` is written.
    """
    if copied and moved:
        raise UsageError(
            "`--copied` and `--moved` exclude each other",
            hint="say which of the two it is",
        )
    root = Path(
        path or context.vault or os.environ.get("VAULT_MEMORY_VAULT") or "."
    ).expanduser()
    if copied or moved:
        init_vault.settle_copy(root, "moved" if moved else "copied", os.environ)
        written = 0
    else:
        written = init_vault.make_vault(root, empty=empty)
    marker = vault_marker.ensure_marker(root)
    answer = {
        "vault": str(root.resolve()),
        "id": marker.vault,
        "notes_written": written,
    }
    shown = where(root)
    told = f"made a vault at {shown}" + (
        f" with {written} example files" if written else ""
    )
    context.emit(answer, lambda: told)
    context.say(
        f"next: vault-memory --vault {shown} search …, or vault-memory --vault {shown} run"
    )
