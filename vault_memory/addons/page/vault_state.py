"""The state of the vault in one line: what the status line of each view shows."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from vault_memory.api.daemon_client import DaemonRefused, ask

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.status_answers import SyncStatusJson

Level = Literal["good", "warn", "bad"]
MOST_NAMES = 3
"""Stale notes that the line names"""
SYNC_WORDS = {
    "ok": "sync ok",
    "working": "syncing",
    "waiting": "sync waits",
    "held": "sync holds deletions",
    "stopped": "sync stopped",
    "off": "sync off",
}


class VaultState(NamedTuple):
    """The state of the vault, for people."""

    level: Level
    text: str


class Counts(NamedTuple):
    """What waits for a person."""

    proposals: int
    conflicts: int


def describe(memory: "VaultMemory", stale_notes: Collection[str], counts: Counts) -> VaultState:
    """Returns the state; `stale_notes` are those that the session may see."""
    vitals = vitals_of(memory)
    sync = vitals["sync"] if vitals else memory.sync.status()
    facts = [
        "live" if vitals else "no daemon: the views read the vault themselves",
        f"search by meaning {_semantic(memory, vitals)}",
    ]
    if sync:
        facts.append(SYNC_WORDS[sync["state"]])
    troubles = [*_watcher_troubles(vitals), *_waiting_troubles(stale_notes, counts, sync)]
    level: Level = "good" if vitals else "warn"
    # Fault: a green line above a conflict says that nothing is to be done.
    if troubles:
        level = "bad"
    return VaultState(level, " · ".join([*facts, *troubles]))


def _semantic(memory: "VaultMemory", vitals: Any) -> str:
    if vitals:
        return str(vitals["semantic"])
    return memory.searcher.freshness().semantic


def _watcher_troubles(vitals: Any) -> list[str]:
    if not vitals or vitals["watcher"].get("healthy", True):
        return []
    return [f"the watcher has trouble: {vitals['watcher'].get('reason', '')}"]


def _waiting_troubles(
    stale_notes: Collection[str], counts: Counts, sync: "SyncStatusJson | None"
) -> list[str]:
    """Returns what waits for a person, or for the index."""
    troubles = []
    if stale_notes:
        troubles.append(f"not read yet: {_names(sorted(stale_notes))}")
    if sync and sync["held"]:
        troubles.append(f"{len(sync['held'])} deletions wait for you")
    if counts.conflicts:
        noun = "conflict" if counts.conflicts == 1 else "conflicts"
        troubles.append(f"{counts.conflicts} {noun}")
    return troubles


def vitals_of(memory: "VaultMemory") -> Any:
    """Returns what the daemon says of itself; None without one."""
    try:
        return ask(memory.vault.state.socket, "vitals", {})
    except DaemonRefused:
        # Fault: an older daemon refuses what it does not know. The page works without.
        return None


def _names(notes: list[str]) -> str:
    """Returns the names of some notes, and how many there are beside these."""
    text = ", ".join(notes[:MOST_NAMES])
    more = len(notes) - MOST_NAMES
    return f"{text} and {more} more" if more > 0 else text
