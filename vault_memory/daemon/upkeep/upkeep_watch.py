"""What the upkeep of one vault needs from a watcher."""

from typing import TYPE_CHECKING, Protocol

from vault_memory.vault.watch.change_queue import QueueMarker
from vault_memory.vault.watch.watcher import Mode

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import WatcherJson


class WatchState(Protocol):
    """What people and programs are told of a watcher."""

    @property
    def mode(self) -> Mode:
        """Whether events report changes, or the vault is polled."""

    @property
    def healthy(self) -> bool:
        """False while changes may be found later than promised."""

    @property
    def reason(self) -> str:
        """Why the vault is polled, or the last trouble; "" without trouble."""


class UpkeepWatch(WatchState, Protocol):
    """The part of a watcher that is not the taking of hints: its owner does that.

    `Watcher` is one. A host has one for each vault, over a single instance of inotify.
    """

    def mark(self) -> QueueMarker:
        """Returns a marker that comes among the hints after everything that happened so far."""

    def wake(self) -> None:
        """Makes the owner take hints soon, although nothing happened. Any thread may call it."""

    def note_missed(self, path: str) -> None:
        """Notes that a sweep found a change of this note, whose event should have come."""


def watcher_status(watch: WatchState, trouble: str) -> "WatcherJson":
    """Returns the state of a watcher, a part of the `status` of a vault.

    `trouble` is why the vault cannot be read now; empty when it can.
    """
    return {
        "mode": watch.mode,
        "healthy": watch.healthy and not trouble,
        "reason": trouble or watch.reason,
    }
