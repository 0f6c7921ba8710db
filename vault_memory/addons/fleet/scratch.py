"""The scratch of a vault: a host's local copy of the vault and its state, which outlives the lease.

A scratch is clean while all that it has is in the home, too. Before a change it is marked as dirty.
After a crash, a dirty scratch serves only the next lease of the vault: once another host has held
the vault, the acknowledged operations come from the ledger, and the scratch is set aside.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.sync.state_db import FILE as SYNC_STATE
from vault_memory.vault.devices import FILE as DEVICE
from vault_memory.vault.marker import ensure_marker, read_marker

RECORD = "visit.json"
ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class ScratchRecord:
    """What a host knows about its scratch of one vault."""

    epoch: int = 0
    """Of the last lease under which it was used"""
    is_dirty: bool = False
    """Whether it may have something that the home does not have yet"""
    bundle_etag: str = ""
    """Version of the bundle in the home that the state folder comes from, or became"""
    bundle_modified: int = 0
    fingerprint: str = ""
    """Of the bundle's files"""


class Scratch:
    """The folder of one vault on this host: `vault` and `state` in it, and the record."""

    def __init__(self, folder: Path, vault: str) -> None:
        """`vault` is the vault's id: 32 hex digits."""
        self.vault = vault
        self.folder = folder / vault
        self.root = self.folder / "vault"
        self.state_root = self.folder / "state"
        self.state = self.state_root / vault

    def prepare(self) -> None:
        """Make the folders, the marker and the name of the device, where they are missing."""
        places.make_private(self.root)
        places.make_private(self.state)
        if read_marker(self.root) is None:
            # Fault: the folder was deleted, and its notes are in the home. The state of a sync
            # would take their absence for deletions.
            for file in self.state.glob(f"{SYNC_STATE}*"):
                file.unlink()
            ensure_marker(self.root, self.vault)
        for leftover in self.state.glob(".copy-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        # Fault: each host would be a device of its own. A replayed turn would be in two logs.
        device = f"fleet-{self.vault[:12]}\n"
        file = self.state / DEVICE
        if not file.exists() or file.read_text(encoding="ascii") != device:
            state_file.write(file, device)

    def record(self) -> ScratchRecord:
        """Return what is known about the scratch; a new record for a new or damaged one."""
        fields = state_file.read_json(self.folder / RECORD)
        if not isinstance(fields, dict):
            return ScratchRecord()
        try:
            return ScratchRecord(**fields)
        except TypeError:
            # Fault: another version of the program wrote the record.
            return ScratchRecord(is_dirty=True)

    def write_record(self, record: ScratchRecord) -> None:
        """Replace the record, durably."""
        state_file.write(self.folder / RECORD, json.dumps(asdict(record)), durable=True)

    def set_aside(self) -> Path:
        """Move the scratch out of the way, in place of an earlier one. Returns its new folder."""
        target = self.folder.with_name(f"{self.vault}.{ASIDE}")
        shutil.rmtree(target, ignore_errors=True)
        os.rename(self.folder, target)
        return target

    def erase(self) -> None:
        """Delete the scratch, and one that was set aside."""
        with suppress(FileNotFoundError):
            # Fault: killed in the middle, half of the notes would count as deleted.
            self.set_aside()
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder.with_name(f"{self.vault}.{ASIDE}"))

    def has_index(self) -> bool:
        """Whether the vault was read on this host before."""
        return (self.state / "index").exists()

    def is_complete(self) -> bool:
        """Whether an earlier visit has brought it to the state of its home and of its bundle."""
        # Fault: killed while a bundle was installed, the state is a mixture of two.
        has_bundle = bool(self.record().bundle_etag)
        # Fault: a folder that was emptied would look like a vault without notes.
        return has_bundle and self.has_index() and read_marker(self.root) is not None
