"""A bot's memory as a folder of Markdown that people edit by hand."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.app import VaultMemory as VaultMemory

__all__ = ["VaultMemory"]


def __getattr__(name: str) -> object:
    if name == "VaultMemory":
        from vault_memory.app import VaultMemory

        return VaultMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
