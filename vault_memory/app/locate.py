"""Which folder is meant: the one named, else VAULT_MEMORY_VAULT, else the nearest marker upward."""

from collections.abc import Mapping
from pathlib import Path

from vault_memory.errors import NoVault, VaultUnreachable
from vault_memory.vault import MARKER


def locate(named: str | Path | None, environment: Mapping[str, str], *, start: Path) -> Path:
    """The vault's folder. Raises NoVault when none is meant, VaultUnreachable when it is not there."""
    chosen = named or environment.get("VAULT_MEMORY_VAULT")
    if chosen:
        root = Path(chosen).expanduser()
        if not root.is_dir():
            what = "is not a folder" if root.exists() else "does not exist"
            raise VaultUnreachable(
                f"the vault `{root}` {what}", hint=f"`vault-memory init {root}` makes a vault there", path=str(root)
            )
        return root
    for folder in (start, *start.parents):
        if (folder / MARKER).is_file():
            return folder
    raise NoVault
