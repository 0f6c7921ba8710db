"""Waits for changes of a vault whose upkeep is in this process, without a socket."""

from vault_memory.api.daemon_changes import Changes
from vault_memory.daemon.changes.change_ring import ChangeRing


class RingFeed:
    """Asks the ring of a vault, as `ChangeFeed` asks a daemon."""

    def __init__(self, ring: ChangeRing) -> None:
        self._ring = ring
        self._is_closed = False

    def ask(
        self,
        since: str = "",
        wait: float = 0.0,
    ) -> Changes | None:
        """Returns the changes after `since`; waits for one, at most `wait` seconds."""
        if self._is_closed:
            return None
        answer = self._ring.answer({"since": since, "wait": wait})
        return Changes(answer["id"], tuple(answer["notes"]), answer["lost"])

    def close(self) -> None:
        """Lets each later call return None. A call that waits returns after its wait."""
        self._is_closed = True
