"""Scans the server with as few requests as it allows: one when nothing changed, where folders have tags."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from vault_memory.remote.contract import Entry, Remote, RemoteListing
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    Refused,
    RemoteBusy,
    RemoteLocked,
    RemoteMissing,
)
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile, BaseNode, Dir, File, Node, Unknown, within

ROOT_TAG = "root_tag"
"""Key of the sync state: the tag of the whole tree, once it was listed and nothing in it was in doubt"""
LATEST = 16
"""How many files of a folder are fetched when its tag changed without a visible reason"""
_FOLDER_ERRORS = (RemoteMissing, Refused, RemoteLocked, NotUnderstood)
"""Errors that concern one folder; the others can still be listed"""


@dataclass(slots=True)
class RemoteScan:
    """The server as it was seen in one pass."""

    entries: dict[str, Entry]
    unknown: dict[str, str] = field(default_factory=dict)
    """folders that could not be listed, and why"""
    listed: bool = True
    """False: nothing had changed or nothing was asked, so `entries` are those of the last listing"""
    root: Entry | None = None
    """the remote's own folder; None when nothing was asked"""
    moved: bool = False
    """whether another device changed something since the last listing"""
    resized: frozenset[str] = frozenset()
    """files of another size under the same tag as in the last listing"""

    def add(self, listing: RemoteListing) -> None:
        self.entries[listing.folder.path] = listing.folder
        self.entries |= {entry.path: entry for entry in listing.entries}
        self.unknown |= listing.unknown


class RemoteScanner:
    """Scans one remote folder."""

    def __init__(self, remote: Remote, state: SyncState) -> None:
        self._remote = remote
        self._state = state

    def scan(self, *, recheck: frozenset[str] = frozenset()) -> RemoteScan:
        """List the server. The folders of the `recheck` paths are listed even if their tags are unchanged.

        Only these: in a tree of a hundred folders, one doubtful path must not cost a hundred requests.
        Raises RemoteError when the remote's own folder cannot be listed.
        """
        previous = self._state.entries()
        last_tag = str(self._state.meta(ROOT_TAG) or "")
        traits = self._remote.traits
        if traits.recursive_etags and last_tag and not recheck:
            root = self._remote.look("")
            if root.etag == last_tag:
                return RemoteScan(previous, listed=False, root=root)
        if traits.infinity:
            scan = RemoteScan({})
            scan.add(self._remote.list("", deep=True))
        else:
            scan = self._list_folders(previous, recheck)
        self._compare(scan, previous)
        self._store(scan, previous, last_tag)
        scan.root = scan.entries.pop("")
        return scan

    def last_scan(self) -> RemoteScan:
        """The server as it was last listed, without a request. Preconditions guard actions based on it."""
        return RemoteScan(self._state.entries(), listed=False)

    def _list_folders(self, previous: Mapping[str, Entry], recheck: frozenset[str]) -> RemoteScan:
        """List each folder that has no tag, another tag, or a path of `recheck`."""
        scan = RemoteScan({})
        queue = [""]
        while queue:
            path = queue.pop()
            try:
                listing = self._remote.list(path)
            except _FOLDER_ERRORS as error:
                if not path:
                    raise
                scan.unknown[path] = error.message
                continue
            except RemoteBusy as error:
                # Fault (E97): a server that is overloaded as a whole must not be asked
                # for each of its folders.
                if not path or error.everywhere:
                    raise
                scan.unknown[path] = error.message
                continue
            scan.add(listing)
            for entry in listing.entries:
                if not entry.is_folder:
                    continue
                if self._is_unchanged(entry, previous.get(entry.path), recheck):
                    scan.entries |= _below(entry.path, previous)
                else:
                    queue.append(entry.path)
        return scan

    def _is_unchanged(self, folder: Entry, last: Entry | None, recheck: frozenset[str]) -> bool:
        """Whether the tag of a folder proves that nothing below it changed."""
        if not self._remote.traits.recursive_etags or last is None:
            return False
        # Fault (E88): two missing tags are equal, and prove nothing.
        if not folder.etag or last.etag != folder.etag:
            return False
        return not any(within(path, folder.path) for path in recheck)

    def _compare(self, scan: RemoteScan, previous: Mapping[str, Entry]) -> None:
        """Note what changed since the last listing."""
        is_deleted = not previous.keys() <= scan.entries.keys()
        scan.moved = is_deleted or any(
            path and not entry.is_folder and _differs(entry, previous.get(path))
            for path, entry in scan.entries.items()
        )
        scan.resized = frozenset(
            path for path, entry in scan.entries.items() if _is_resized(entry, previous.get(path))
        )

    def _store(self, scan: RemoteScan, previous: Mapping[str, Entry], last_tag: str) -> None:
        """Record a listing, and which of its tags may hide other bytes."""
        base = self._state.base()
        doubtful = hidden_writes(previous, last_tag, scan.entries, base)
        is_certain = not scan.unknown and all(entry.confirmed for entry in scan.entries.values())
        root_tag = ""
        # Fault (E102): a tag that is younger than two seconds may stay the same after
        # another write. It must not stand for the whole tree.
        if is_certain and self._remote.traits.recursive_etags:
            root_tag = scan.entries[""].etag
        with self._state.transaction():
            # Fault (E85): an incomplete listing must not replace a complete one. What
            # it lacks would look new later.
            if not scan.unknown:
                self._state.store_listing(
                    {path: entry for path, entry in scan.entries.items() if path}
                )
            self._state.set_meta(ROOT_TAG, root_tag)
            self._state.mark_racy(doubtful)


def _below(folder: str, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    return {path: entry for path, entry in entries.items() if within(path, folder)}


# --- Writes that a tag hides ------------------------------------------------------------------


def hidden_writes(
    previous: Mapping[str, Entry],
    root_tag: str,
    entries: Mapping[str, Entry],
    base: Mapping[str, BaseNode],
) -> frozenset[str]:
    """Files that may have other bytes under the same tag.

    A write with the time and length of the one before keeps the file's tag. It removes the checksum
    of the earlier upload, and it changes the tags of the folders above without a visible reason.
    """
    last = {**previous, "": Entry("", True, root_tag)}
    unexplained = {path for path, entry in entries.items() if _has_new_tag(entry, last.get(path))}
    for path in entries.keys() | previous.keys():
        if path and _differs(entries.get(path), previous.get(path)):
            unexplained.discard(path.rpartition("/")[0])
    doubtful: set[str] = set()
    missing = {
        before.fileid: before
        for path, before in previous.items()
        if path not in entries and before.fileid
    }
    for path, entry in entries.items():
        # Fault: a file was also renamed. What is known of it has the old name until the move is repeated here.
        before = previous.get(path) or missing.get(entry.fileid)
        name = before.path if before else path
        if _lost_checksum(entry, before) or _came_back(entry, before, base.get(name)):
            doubtful.add(name)
    for folder in unexplained:
        doubtful |= _latest(folder, entries, base)
    return frozenset(doubtful)


def _has_new_tag(entry: Entry, last: Entry | None) -> bool:
    """Whether a folder has another tag than before."""
    if not entry.is_folder or last is None or not last.etag:
        return False
    return entry.etag != last.etag


def _differs(entry: Entry | None, last: Entry | None) -> bool:
    """Whether an entry is new, deleted, or has another tag. A folder that we wrote to has no known tag."""
    if entry is None or last is None:
        return True
    return entry.etag != last.etag


def _is_resized(entry: Entry, last: Entry | None) -> bool:
    if last is None or entry.is_folder or entry.etag != last.etag:
        return False
    return entry.size != last.size


def _lost_checksum(entry: Entry, last: Entry | None) -> bool:
    if last is None or not last.checksum or entry.etag != last.etag:
        return False
    return entry.checksum != last.checksum


def _came_back(entry: Entry, last: Entry | None, was: BaseNode | None) -> bool:
    """Whether a file has the tag of the base again: a write with the time of that text gives it, too."""
    if not isinstance(was, BaseFile) or (last is not None and entry.etag == last.etag):
        return False
    return entry.etag == was.tag and entry.checksum != was.hash


def _latest(folder: str, entries: Mapping[str, Entry], base: Mapping[str, BaseNode]) -> set[str]:
    """The latest files of a folder, without those whose checksum proves that they are unchanged."""
    files = [
        entry
        for path, entry in entries.items()
        if path.rpartition("/")[0] == folder and not entry.is_folder
    ]
    files.sort(key=lambda entry: entry.modified, reverse=True)
    unproven = []
    for entry in files:
        was = base.get(entry.path)
        if isinstance(was, BaseFile) and entry.checksum != was.hash:
            unproven.append(entry.path)
    return set(unproven[:LATEST])


# --- The tree for the planner -----------------------------------------------------------------


def nodes_of(
    scan: RemoteScan, base: Mapping[str, BaseNode], fetched: Mapping[str, tuple[str, str]]
) -> dict[str, Node]:
    """The tree for the planner, with hashes where the bytes behind a tag are known.

    `fetched`: path → tag and hash of the bytes that were fetched under it.
    """
    nodes: dict[str, Node] = {}
    for path, entry in scan.entries.items():
        if entry.is_folder:
            nodes[path] = Dir(entry.fileid)
        else:
            hashed = _known_hash(entry, base.get(path), fetched.get(path))
            nodes[path] = File(hashed, entry.etag, entry.fileid, entry.size)
    return nodes | {path: Unknown(reason) for path, reason in scan.unknown.items()}


def _known_hash(entry: Entry, was: BaseNode | None, fetched: tuple[str, str] | None) -> str | None:
    if fetched is not None and fetched[0] == entry.etag:
        return fetched[1]
    if isinstance(was, BaseFile) and was.tag == entry.etag:
        return was.hash
    if isinstance(was, BaseFile) and was.hash == entry.checksum:
        return was.hash
    return None
