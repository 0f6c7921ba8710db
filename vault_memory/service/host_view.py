"""What a hosted vault asks of its host."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.config.sections import Watch
from vault_memory.service.turn_lane import TurnLane
from vault_memory.vault.watch.shared_watcher import SharedWatcher

if TYPE_CHECKING:
    from vault_memory.service.hosted_vault import HostedVault


@dataclass(frozen=True, slots=True)
class Lanes:
    """The threads of a host for each kind of turns."""

    upkeep: TurnLane
    sync: TurnLane
    nights: TurnLane
    embedding: TurnLane

    def all(self) -> tuple[TurnLane, ...]:
        """Returns all lanes."""
        return self.upkeep, self.sync, self.nights, self.embedding


@dataclass(frozen=True, slots=True)
class HostView:
    """What a vault asks of its host."""

    environment: dict[str, str]
    states: Path
    """The folder of all state folders"""
    lanes: Lanes
    watcher: SharedWatcher
    watching: Watch
    """How a closed vault is watched"""
    idle_seconds: float
    is_stopping: Callable[[], bool]
    note_opened: Callable[[], None]
    tell_reopening: Callable[["HostedVault"], None]
    """Called when an open vault has to be closed or opened again, once nobody uses it"""
    night_offset: Callable[["HostedVault"], float]
    """Seconds by which its nights begin later: those of all vaults are spread"""
