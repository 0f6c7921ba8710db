"""The vault's folder: what lies in it, the bytes of a note, and when to look again."""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.vault.folder import LARGEST_PARSED, LARGEST_STORED, Folder, Identity, Note, NoteTooLarge
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.walk import Listing, Stat

if TYPE_CHECKING:
    from vault_memory.vault.hints import Hints
    from vault_memory.vault.mounts import watchable
    from vault_memory.vault.settle import Settled, Settling, Verdict
    from vault_memory.vault.watch import Watcher

__all__ = [
    "LARGEST_PARSED",
    "LARGEST_STORED",
    "MARKER",
    "Folder",
    "Hints",
    "Identity",
    "Listing",
    "Marker",
    "Note",
    "NoteTooLarge",
    "Settled",
    "Settling",
    "Stat",
    "VaultTooNew",
    "Verdict",
    "Watcher",
    "ensure_marker",
    "read_marker",
    "watchable",
]

_DAEMON_ONLY = {
    "Hints": "hints", "Settled": "settle", "Settling": "settle", "Verdict": "settle", "Watcher": "watch",
    "watchable": "mounts",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _DAEMON_ONLY:
        return getattr(import_module(f"vault_memory.vault.{_DAEMON_ONLY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
