"""The vault's folder: what lies in it, the bytes of a note, and when to look again."""

from vault_memory.vault.folder import (
    LARGEST_PARSED,
    LARGEST_STORED,
    Folder,
    Identity,
    Note,
    NoteTooLarge,
)
from vault_memory.vault.marker import Marker, VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.walk import Listing, Stat

__all__ = [
    "LARGEST_PARSED",
    "LARGEST_STORED",
    "Folder",
    "Identity",
    "Listing",
    "Marker",
    "Note",
    "NoteTooLarge",
    "Stat",
    "VaultTooNew",
    "ensure_marker",
    "read_marker",
]
