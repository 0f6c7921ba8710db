"""The vault's folder: what lies in it, the bytes of a note, when to look again, and how to write without loss."""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.vault.folder import LARGEST_PARSED, LARGEST_STORED, Folder, Identity, Note, NoteTooLarge
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.walk import Listing, Stat

if TYPE_CHECKING:
    from vault_memory.vault.append import append_record
    from vault_memory.vault.files import RealFiles
    from vault_memory.vault.hints import Hints
    from vault_memory.vault.journal import JournalUnavailable
    from vault_memory.vault.journal import Op as WriteOp
    from vault_memory.vault.mounts import watchable
    from vault_memory.vault.settle import Settled, Settling, Verdict
    from vault_memory.vault.snapshots import Version, revision_of
    from vault_memory.vault.watch import Watcher
    from vault_memory.vault.write import Writer, Written, real_path

__all__ = [
    "LARGEST_PARSED",
    "LARGEST_STORED",
    "MARKER",
    "Folder",
    "Hints",
    "Identity",
    "JournalUnavailable",
    "Listing",
    "Marker",
    "Note",
    "NoteTooLarge",
    "RealFiles",
    "Settled",
    "Settling",
    "Stat",
    "VaultTooNew",
    "Verdict",
    "Version",
    "Watcher",
    "WriteOp",
    "Writer",
    "Written",
    "append_record",
    "ensure_marker",
    "read_marker",
    "real_path",
    "revision_of",
    "watchable",
]

_ON_DEMAND = {
    "Hints": "hints", "Settled": "settle", "Settling": "settle", "Verdict": "settle", "Watcher": "watch",
    "watchable": "mounts", "JournalUnavailable": "journal", "RealFiles": "files", "Version": "snapshots",
    "Writer": "write", "Written": "write", "append_record": "append", "real_path": "write", "revision_of": "snapshots",
}  # fmt: skip
"""For the daemon, or for whoever writes: a search does without them"""


def __getattr__(name: str) -> object:
    if name == "WriteOp":
        return import_module("vault_memory.vault.journal").Op
    if name in _ON_DEMAND:
        return getattr(import_module(f"vault_memory.vault.{_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
