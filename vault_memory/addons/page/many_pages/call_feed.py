"""Waits for changes of a vault whose upkeep is in this process, without a socket."""

from typing import TYPE_CHECKING

from vault_memory.api.daemon_changes import Changes
from vault_memory.daemon.client import ask

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory


class CallFeed:
    """Asks the calls of a vault in this process, as `ChangeFeed` asks a daemon."""

    def __init__(self, memory: "VaultMemory") -> None:
        self._socket = memory.vault.state.socket
        self._is_closed = False

    def ask(self, since: str = "", wait: float = 0.0) -> Changes | None:
        """Returns the changes after `since`; waits for one, at most `wait` seconds."""
        if self._is_closed:
            return None
        answer = ask(self._socket, "changes", {"since": since, "wait": wait})
        if answer is None:
            return None
        return Changes(answer["id"], tuple(answer["notes"]), answer["lost"])

    def close(self) -> None:
        """Lets each later call return None. A call that waits returns after its wait."""
        self._is_closed = True
