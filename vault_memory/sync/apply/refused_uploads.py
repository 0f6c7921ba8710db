"""Remembers new files and folders that the server refused for good, until they change or a day has passed.

Without this, one name that a server never accepts would fail each pass, and cost a request each time.
"""

from collections.abc import Mapping
from datetime import datetime

from vault_memory.sync.actions import Action, MakeRemoteDir, Upload
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import File, Node

LEFT_ALONE_SECONDS = 24 * 3600.0
_FACT = "refused "


def is_new_there(action: Action) -> bool:
    """Whether the action creates a file or folder on the server."""
    return isinstance(action, MakeRemoteDir) or (isinstance(action, Upload) and action.tag is None)


class Refusals:
    """The refusals in the sync state."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def note(self, action: Action, reason: str, now: datetime) -> None:
        """Record that the server refused this."""
        revision = action.hash if isinstance(action, Upload) else ""
        with self._state.transaction():
            self._state.set_meta(
                _FACT + action.path, {"hash": revision, "reason": reason, "at": now.timestamp()}
            )

    def lasting(self, nodes: Mapping[str, Node], now: float) -> dict[str, str]:
        """Paths that the server would refuse again, and why. Forgets the paths that have changed since."""
        lasting = {}
        for name, fact in self._state.metas_with_prefix(_FACT).items():
            path = name.removeprefix(_FACT)
            is_same = _hash_of(nodes.get(path)) == fact["hash"]
            if is_same and 0 <= now - fact["at"] < LEFT_ALONE_SECONDS:
                lasting[path] = str(fact["reason"])
            else:
                with self._state.transaction():
                    self._state.delete_meta(name)
        return lasting


def _hash_of(node: Node | None) -> str | None:
    """The hash of a file, "" for a folder; None for a missing path."""
    if node is None:
        return None
    return node.hash if isinstance(node, File) else ""
