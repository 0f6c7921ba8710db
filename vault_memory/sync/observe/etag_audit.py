"""Fetches files whose tag may hide other bytes: servers sometimes keep a tag for other bytes."""

from collections.abc import Mapping

from vault_memory.remote.contract import Entry
from vault_memory.sync.actions import Refetch
from vault_memory.sync.observe.remote_scan import RemoteScan
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import Base, BaseFile, File, Node

EVERY_SECONDS = 3600.0
QUIET_SECONDS = 24 * 3600.0
"""The same while the tag of the whole tree stays the same, so that an idle pass takes one request"""
SAMPLE = 8
"""Notes that are fetched each time, in rotation"""
NEXT, LAST = "sweep_next", "swept"
"""Keys of the sync state: the path that comes next, and when the last audit was"""


def recheck_racy(
    state: SyncState,
    local_nodes: Mapping[str, Node],
    remote_scan: RemoteScan,
    base: Base,
    *,
    keeps_checksums: bool,
) -> tuple[Refetch, ...]:
    """Check racy tags: mark the proven ones as safe, and fetch the other files."""
    # Fault (E102): a tag was recorded within the second of its write. A second write
    # may have the same tag.
    own_files = state.racy_creations(unsigned=keeps_checksums)
    proven, refetches = [], []
    for path in sorted(state.racy()):
        was, entry = base.get(path), remote_scan.entries.get(path)
        if (
            not isinstance(was, BaseFile)
            or entry is None
            or not entry.confirmed
            or entry.etag != was.tag
        ):
            continue
        if _is_proven(was, entry, local_nodes.get(path), is_own=path in own_files):
            proven.append(path)
        else:
            refetches.append(Refetch(path=path, tag=entry.etag, row="racy"))
    if proven:
        with state.transaction():
            state.clear_racy_all(proven)
    return tuple(refetches)


def _is_proven(was: BaseFile, entry: Entry, local: Node | None, *, is_own: bool) -> bool:
    """Whether the server's file has the bytes of the base, judged by checksum or by size."""
    if entry.checksum == was.hash:
        return True
    # Fault (E91): another client stored other bytes of the same size. So the size
    # proves only a file that this device created, and of which the server keeps no
    # checksum.
    if not is_own or entry.checksum or not isinstance(local, File):
        return False
    return local.hash == was.hash and local.size == entry.size


def sweep(state: SyncState, remote_scan: RemoteScan, base: Base, at: float) -> tuple[Refetch, ...]:
    """Fetch files that have another size under the same tag, and a sample of all files.

    The sample is due each hour, or each day while the tag of the whole tree stays the same.
    """
    # Fault (E91): a write with the time of the one before keeps the tag, and nothing
    # else shows it.
    every = EVERY_SECONDS if remote_scan.listed else QUIET_SECONDS
    suspects = set(remote_scan.resized)
    if _is_due(state, at, every):
        suspects.update(_sample(state, base))
    refetches = []
    for path in sorted(suspects):
        was, entry = base.get(path), remote_scan.entries.get(path)
        if isinstance(was, BaseFile) and entry is not None and entry.etag == was.tag:
            refetches.append(Refetch(path=path, tag=was.tag, row="sweep"))
    return tuple(refetches)


def _is_due(state: SyncState, at: float, every: float) -> bool:
    last = state.meta(LAST)
    # Fault (B50): a clock that was set back would put the next audit off until the old
    # time is reached.
    if isinstance(last, float) and 0 <= at - last < every:
        return False
    with state.transaction():
        state.set_meta(LAST, at)
    return isinstance(last, float)


def _sample(state: SyncState, base: Base) -> list[str]:
    """The next paths of the rotation."""
    files = sorted(path for path, was in base.items() if isinstance(was, BaseFile))
    start = str(state.meta(NEXT) or "")
    rotation = sorted(files, key=lambda path: (path < start, path))
    with state.transaction():
        state.set_meta(NEXT, rotation[SAMPLE] if len(rotation) > SAMPLE else "")
    return rotation[:SAMPLE]
