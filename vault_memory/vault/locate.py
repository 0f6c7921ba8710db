"""Which folder is meant: the one named, else VAULT_MEMORY_VAULT, else the nearest marker upward."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from vault_memory.errors import NoVault, VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER


def locate(
    named: str | Path | None, environment: Mapping[str, str], *, start: Path
) -> Path:
    """The vault's folder. Raises NoVault when none is meant, VaultUnreachable when it is not there."""
    chosen = named or environment.get("VAULT_MEMORY_VAULT")
    if chosen:
        root = Path(os.path.expanduser(chosen))
        if reason := _no_folder(root):
            raise VaultUnreachable(
                f"the vault `{root}` {reason}",
                hint=f"`vault-memory init {root}` makes a vault there",
                path=str(root),
            )
        return root
    for folder in (start, *start.parents):
        if (folder / MARKER).is_file():
            return folder
    raise NoVault


def _no_folder(root: Path) -> str:
    """Why there is no folder at `root`; empty when there is one."""
    try:
        return "" if stat.S_ISDIR(os.stat(root).st_mode) else "is not a folder"
    except FileNotFoundError:
        return "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be reached: {getattr(error, 'strerror', None) or error}"
