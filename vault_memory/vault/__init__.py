"""The vault's folder: what lies in it, the bytes of a note, and when to look again."""

from vault_memory.vault.folder import (
    LARGEST_PARSED,
    LARGEST_STORED,
    Folder,
    Identity,
    Note,
    NoteTooLarge,
)
from vault_memory.vault.hints import Hints
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.mounts import watchable
from vault_memory.vault.settle import Settled, Settling, Verdict
from vault_memory.vault.walk import Listing, Stat
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
