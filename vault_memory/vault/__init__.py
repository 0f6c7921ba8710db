"""The vault's folder: what lies in it, the bytes of a note, and when to look again."""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.vault.folder import LARGEST_PARSED, LARGEST_STORED, Folder, Identity, Note, NoteTooLarge
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.walk import DEEPEST, SUFFIXES, Listing, Stat

if TYPE_CHECKING:
    from vault_memory.vault.adding import add_file
    from vault_memory.vault.append import (
        Appended,
        Records,
        append_record,
        append_records,
        last_lines,
        lines_from_end,
        merge_records,
        read_records,
        sync_records,
    )
    from vault_memory.vault.attempt import make_folders
    from vault_memory.vault.copies import copy_name
    from vault_memory.vault.device import device_of, is_device, own_log
    from vault_memory.vault.erase import Erased, Eraser
    from vault_memory.vault.files import Files, RealFiles, move_between
    from vault_memory.vault.gate import HOLD, came_or_went, editor_locks, half_saved
    from vault_memory.vault.hints import Hints, Mark
    from vault_memory.vault.journal import By, Displaced, JournalUnavailable, Op
    from vault_memory.vault.means import Merge
    from vault_memory.vault.mounts import watchable
    from vault_memory.vault.settle import Settled, Settling, Verdict
    from vault_memory.vault.snapshots import Snapshots, Version, revision_of
    from vault_memory.vault.stale import distances, nearest, shows
    from vault_memory.vault.trash import Thrown
    from vault_memory.vault.watch import Watcher
    from vault_memory.vault.write import Writer, Written, real_path

__all__ = [
    "DEEPEST",
    "HOLD",
    "LARGEST_PARSED",
    "LARGEST_STORED",
    "MARKER",
    "SUFFIXES",
    "Appended",
    "By",
    "Displaced",
    "Erased",
    "Eraser",
    "Files",
    "Folder",
    "Hints",
    "Identity",
    "JournalUnavailable",
    "Listing",
    "Mark",
    "Marker",
    "Merge",
    "Note",
    "NoteTooLarge",
    "Op",
    "RealFiles",
    "Records",
    "Settled",
    "Settling",
    "Snapshots",
    "Stat",
    "Thrown",
    "VaultTooNew",
    "Verdict",
    "Version",
    "Watcher",
    "Writer",
    "Written",
    "add_file",
    "append_record",
    "append_records",
    "came_or_went",
    "copy_name",
    "device_of",
    "distances",
    "editor_locks",
    "ensure_marker",
    "half_saved",
    "is_device",
    "last_lines",
    "lines_from_end",
    "make_folders",
    "merge_records",
    "move_between",
    "nearest",
    "own_log",
    "read_marker",
    "read_records",
    "real_path",
    "revision_of",
    "shows",
    "sync_records",
    "watchable",
]

# What a search needs not is loaded when it is first asked for.
_WHEN_NEEDED = {
    "adding": ("add_file",),
    "append": (
        "Appended",
        "Records",
        "append_record",
        "append_records",
        "last_lines",
        "lines_from_end",
        "merge_records",
        "read_records",
        "sync_records",
    ),
    "attempt": ("make_folders",),
    "copies": ("copy_name",),
    "device": ("device_of", "is_device", "own_log"),
    "erase": ("Erased", "Eraser"),
    "files": ("Files", "RealFiles", "move_between"),
    "gate": ("HOLD", "came_or_went", "editor_locks", "half_saved"),
    "hints": ("Hints", "Mark"),
    "journal": ("By", "Displaced", "JournalUnavailable", "Op"),
    "means": ("Merge",),
    "mounts": ("watchable",),
    "settle": ("Settled", "Settling", "Verdict"),
    "snapshots": ("Snapshots", "Version", "revision_of"),
    "stale": ("distances", "nearest", "shows"),
    "trash": ("Thrown",),
    "watch": ("Watcher",),
    "write": ("Writer", "Written", "real_path"),
}
_HOME = {name: module for module, names in _WHEN_NEEDED.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"vault_memory.vault.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
