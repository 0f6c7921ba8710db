"""Finds the vault: the named path, else VAULT_MEMORY_VAULT, else the nearest marker above."""

import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from vault_memory.errors import NoVault, VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER

OBSIDIAN = ".obsidian"
"""The folder of settings at the top of a vault of Obsidian"""


def locate(named: str | Path | None, environment: Mapping[str, str], *, start: Path) -> Path:
    """Returns the vault's folder.

    Raises NoVault when no vault is named or found, VaultUnreachable when its folder is missing.
    """
    chosen = named or environment.get("VAULT_MEMORY_VAULT")
    if not chosen:
        return _nearest(start)
    root = Path(os.path.expanduser(chosen))
    if reason := _reason_it_is_no_folder(root):
        raise VaultUnreachable(
            f"the vault `{root}` {reason}",
            hint=f"`vault-memory init {root}` makes a vault there",
            path=str(root),
        )
    return root


def _nearest(start: Path) -> Path:
    for folder in (start, *start.parents):
        if (folder / MARKER).is_file():
            return folder
    for folder in (start, *start.parents):
        if (folder / OBSIDIAN).is_dir():
            path = "." if folder == start else shlex.quote(str(folder))
            raise NoVault(path)
    raise NoVault


def _reason_it_is_no_folder(root: Path) -> str:
    """Returns why there is no folder at `root`; "" when there is one."""
    try:
        return "" if stat.S_ISDIR(os.stat(root).st_mode) else "is not a folder"
    except FileNotFoundError:
        return "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be reached: {getattr(error, 'strerror', None) or error}"
