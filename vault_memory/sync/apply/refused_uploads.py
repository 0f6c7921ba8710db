"""New files and folders that the server refused for good: left alone until they change, or a day has passed.

Without this, one name that a server never takes makes each pass fail, and costs a request each time.
"""

from collections.abc import Mapping
from datetime import datetime

from vault_memory.sync.actions import Action, MakeRemoteDir, Upload
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import File, Node

LEFT_ALONE_SECONDS = 24 * 3600.0
_FACT = "refused "


def is_new_there(action: Action) -> bool:
    """Whether the action makes something on the server where nothing is."""
    return isinstance(action, MakeRemoteDir) or (
        isinstance(action, Upload) and action.tag is None
    )


class Refusals:
    """What is remembered of them, in the book."""

    def __init__(self, state: SyncState) -> None:
        self._state = state

    def note(self, action: Action, reason: str, now: datetime) -> None:
        """The server refused this."""
        revision = action.hash if isinstance(action, Upload) else ""
        with self._state.transaction():
            self._state.set_meta(
                _FACT + action.path,
                {"hash": revision, "reason": reason, "at": now.timestamp()},
            )

    def lasting(self, nodes: Mapping[str, Node], now: float) -> dict[str, str]:
        """Paths that the server would refuse again, and why; what has changed since is forgotten."""
        lasting = {}
        for name, fact in self._state.metas_with_prefix(_FACT).items():
            path = name.removeprefix(_FACT)
            node = nodes.get(path)
            is_same = (
                node is not None
                and (node.hash if isinstance(node, File) else "") == fact["hash"]
            )
            if is_same and 0 <= now - fact["at"] < LEFT_ALONE_SECONDS:
                lasting[path] = str(fact["reason"])
            else:
                with self._state.transaction():
                    self._state.delete_meta(name)
        return lasting
