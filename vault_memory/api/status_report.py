"""The state of a vault for `status`: index, sync, night, inbox, conflict copies and pending writes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.errors import VaultMemoryError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory


def status(memory: "VaultMemory") -> dict[str, object]:
    """The status without a daemon, with the keys of the contract; the daemon replaces its own part."""
    vault = memory.vault
    index = vault.indexing.index()
    freshness = memory.searcher.freshness()
    notes, chunks = index.counts()
    return {
        "vault": str(vault.root),
        "index": {
            "notes": notes,
            "chunks": chunks,
            "stale_files": list(freshness.stale_files),
            "generation": vault.indexing.generations.current,
            "parked": {path: reason for path, (reason, _) in index.parked().items()},
        },
        "semantic": freshness.semantic,
        "reason": freshness.reason,
        "watcher": {"mode": "off", "healthy": False, "reason": "no daemon"},
        "sync": memory.sync.status(),
        "night": _night(memory),
        "inbox_open": _open_proposals(memory),
        "conflicts": _conflicts(memory),
        "pending": _pending(memory),
        "daemon": {"running": False, "pid": None},
        "state_folder": str(vault.state.path),
        "drop_folder": str(memory.conversations.drop_folder.make()),
    }


# When the vault is unreachable or the disk is full, one part of the status is unknown, and the others still count.


def _night(memory: "VaultMemory") -> Mapping[str, object] | None:
    """The last and the next night; None when the vault is unreachable."""
    try:
        return memory.learning.status()
    except VaultMemoryError:
        return None


def _open_proposals(memory: "VaultMemory") -> int:
    """How many proposals wait; 0 when the vault is unreachable."""
    try:
        return len(memory.edits.inbox())
    except VaultMemoryError:
        return 0


def _pending(memory: "VaultMemory") -> list[dict[str, object]]:
    """The writes that wait; none when the journal cannot be opened."""
    from dataclasses import asdict  # here: each start of a hook would load it

    try:
        return [asdict(write) for write in memory.edits.waiting()]
    except VaultMemoryError:
        return []


def _conflicts(memory: "VaultMemory") -> int:
    """How many conflict copies there are; 0 when the vault is unreachable."""
    try:
        return memory.conflicts.count()
    except VaultMemoryError:
        return 0
