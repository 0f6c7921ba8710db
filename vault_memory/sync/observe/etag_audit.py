"""Looks at notes of which nothing says that they changed: servers have been seen to keep a tag for other bytes."""

from collections.abc import Set

from vault_memory.sync.actions import Refetch
from vault_memory.sync.observe.remote_scan import RemoteScan
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import Base, BaseFile

EVERY_SECONDS = 3600.0
QUIET_SECONDS = 24 * 3600.0
"""The same while the tag of the whole tree says that nothing changed, so that an idle pass is one request"""
SAMPLE = 8
"""Notes that are looked at each time, in turns"""
NEXT, LAST = "sweep_next", "swept"


def sweep(
    state: SyncState, there: RemoteScan, base: Base, busy: Set[str], at: float
) -> tuple[Refetch, ...]:
    """Those of another size under the same tag, and each hour a few more; each day while the tree has one tag."""
    every = EVERY_SECONDS if there.fresh else QUIET_SECONDS
    chosen = {
        *there.resized,
        *(_sample(state, base) if _is_due(state, at, every) else ()),
    } - busy
    looks = []
    for path in sorted(chosen):
        was, entry = base.get(path), there.entries.get(path)
        if isinstance(was, BaseFile) and entry is not None and entry.etag == was.tag:
            looks.append(Refetch(path=path, tag=was.tag, row="sweep"))
    return tuple(looks)


def _is_due(state: SyncState, at: float, every: float) -> bool:
    last = state.meta(LAST)
    if isinstance(last, float) and 0 <= at - last < every:
        return False
    with state.transaction():
        state.set_meta(LAST, at)
    return isinstance(last, float)


def _sample(state: SyncState, base: Base) -> list[str]:
    files = sorted(path for path, was in base.items() if isinstance(was, BaseFile))
    start = str(state.meta(NEXT) or "")
    turn = [path for path in files if path >= start] + [
        path for path in files if path < start
    ]
    with state.transaction():
        state.set_meta(NEXT, turn[SAMPLE] if len(turn) > SAMPLE else "")
    return turn[:SAMPLE]
