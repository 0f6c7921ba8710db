"""Keeps room on the disk of the scratches: those of the vaults that were longest unused go.

A scratch that is gone costs the next visit of its vault a download, and loses nothing. One with
changes that the home lacks stays, however full the disk is.
"""

import logging
import shutil
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from uuid import UUID

from vault_memory.addons.fleet.scratch import ASIDE, RECORD, Scratch

logger = logging.getLogger(__name__)

LARGEST_RESERVE = 1 << 30
"""Bytes of the disk that stay free"""
RESERVED_SHARE = 0.05
"""The share of the disk that stays free, where that is less"""


class ScratchRoom:
    """The scratches of one host. Any thread may call it."""

    def __init__(
        self, folder: Path, guard: threading.Condition, vaults_in_use: Callable[[], Collection[str]]
    ) -> None:
        """`vaults_in_use` returns the ids of open vaults; they change under `guard` only."""
        self._folder = folder
        self._guard = guard
        self._vaults_in_use = vaults_in_use
        self._lock = threading.Lock()

    def make(self) -> list[str]:
        """Erase scratches until the disk has room. Returns the ids of their vaults."""
        if not self._is_needed():
            return []
        erased: list[str] = []
        with self._lock:
            self._erase_aside()
            for scratch in self._oldest_first():
                if not self._is_needed():
                    break
                if self._erase(scratch):
                    erased.append(str(UUID(scratch.vault)))
        logger.warning("the disk is full: %d scratches are erased", len(erased))
        return erased

    def _is_needed(self) -> bool:
        if not self._folder.exists():
            return False
        usage = shutil.disk_usage(self._folder)
        return usage.free < min(LARGEST_RESERVE, RESERVED_SHARE * usage.total)

    def _erase_aside(self) -> None:
        """Delete what was set aside: the ledger or the home has its changes."""
        for folder in self._folder.glob(f"*.{ASIDE}"):
            shutil.rmtree(folder, ignore_errors=True)

    def _oldest_first(self) -> list[Scratch]:
        """Return all scratches, the longest unused first."""
        records = {
            record.parent.name: record.stat().st_mtime
            for record in self._folder.glob(f"*/{RECORD}")
            if record.parent.suffix != f".{ASIDE}"
        }
        names = sorted(records, key=lambda name: (records[name], name))
        return [Scratch(self._folder, name) for name in names]

    def _erase(self, scratch: Scratch) -> bool:
        """Delete a scratch that no visit uses and that has nothing of its own."""
        with self._guard:
            in_use = {vault.replace("-", "") for vault in self._vaults_in_use()}
            # Fault: the only copy of a change would be lost.
            if scratch.vault in in_use or scratch.record().is_dirty:
                return False
            # Fault: a request opens the vault at this moment. It finds all or nothing.
            aside = scratch.set_aside()
        shutil.rmtree(aside, ignore_errors=True)
        return True
