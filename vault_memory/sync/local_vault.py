"""The local side of a sync."""

from collections.abc import Callable
from dataclasses import dataclass

from vault_memory.sync.apply.session import Writing
from vault_memory.vault.reader import Folder


def _is_optional(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LocalVault:
    """The folder of a vault, and access to its writer."""

    folder: Folder
    writing: Writing
    """opens the vault's writer for one write"""
    must_exist: Callable[[str], bool] = _is_optional
    """whether a note must exist because its name is its role, e.g. USER.md"""
