"""The server as it is now, with as few requests as it allows: one when nothing changed, where folders have tags."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from vault_memory.remote.contract import Entry, Listing, Remote
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
"""Under which the book keeps the tag of the whole tree, once it was listed and nothing in it was in doubt"""
LATEST = 16
"""So many files of a folder are read when its tag moved and nothing in it tells why"""
_PARTLY = (RemoteMissing, Refused, RemoteLocked, NotUnderstood)
"""What a server may say about one folder while the rest can be had"""


@dataclass(slots=True)
class RemoteScan:
    """One look at the server."""

    entries: dict[str, Entry]
    unknown: dict[str, str] = field(default_factory=dict)
    fresh: bool = True
    """False: nothing had changed, so nothing was listed"""
    root: Entry | None = None
    """the remote's own folder as it was just seen; None when nothing was asked"""
    moved: bool = False
    """whether somebody else has changed something since the last listing"""
    resized: frozenset[str] = frozenset()
    """files of another size under the tag that they had when they were listed last"""


class RemoteScanner:
    """One remote folder, for looking."""

    def __init__(self, remote: Remote, state: SyncState) -> None:
        self._remote, self._state = remote, state

    def look(self, *, again: frozenset[str] = frozenset()) -> RemoteScan:
        """All that is on the server. The folders of `again` are listed even if no tag says that something changed.

        Only these: in a tree of a hundred folders one doubtful path must not cost a hundred requests.

        Raises RemoteError when not even the folder itself can be listed.
        """
        known = self._state.entries()
        last = self._state.meta(ROOT_TAG)
        traits = self._remote.traits
        if traits.recursive_etags and last and not again:
            root = self._remote.look("")
            if root.etag == last:
                return RemoteScan(known, fresh=False, root=root)
        there = self._all() if traits.infinity else self._by_folders(known, again)
        there.resized = frozenset(
            path
            for path, one in there.entries.items()
            if _resized(one, known.get(path))
        )
        there.moved = (
            any(
                path and not entry.is_folder and _differs(entry, known.get(path))
                for path, entry in there.entries.items()
            )
            or not known.keys() <= there.entries.keys()
        )
        doubtful = hidden_writes(
            known, str(last or ""), there.entries, self._state.base()
        )
        sure = not there.unknown and all(
            entry.confirmed for entry in there.entries.values()
        )
        with self._state.transaction():
            if not there.unknown:
                self._state.store_listing(
                    {path: entry for path, entry in there.entries.items() if path}
                )
            self._state.set_meta(
                ROOT_TAG,
                there.entries[""].etag if sure and traits.recursive_etags else "",
            )
            self._state.mark_racy(doubtful)
        there.root = there.entries.pop("")
        return there

    def glance(self) -> RemoteScan:
        """The server as it was last listed, without asking: preconditions guard what is done upon it."""
        return RemoteScan(self._state.entries(), fresh=False)

    def _all(self) -> RemoteScan:
        listing = self._remote.list("", deep=True)
        return _taken(RemoteScan({}), listing)

    def _by_folders(
        self, known: Mapping[str, Entry], again: frozenset[str]
    ) -> RemoteScan:
        """One request for each folder with another tag or with a path of `again`; for each folder without tags."""
        there = RemoteScan({})
        todo = [""]
        while todo:
            path = todo.pop()
            try:
                listing = self._remote.list(path)
            except _PARTLY as error:
                if not path:
                    raise
                there.unknown[path] = error.message
                continue
            except RemoteBusy as error:
                if not path or error.everywhere:
                    raise
                there.unknown[path] = error.message
                continue
            _taken(there, listing)
            folders = (entry for entry in listing.entries if entry.is_folder)
            todo += [
                entry.path
                for entry in folders
                if not self._same_below(entry, known, again, there)
            ]
        return there

    def _same_below(
        self,
        entry: Entry,
        known: Mapping[str, Entry],
        again: frozenset[str],
        there: RemoteScan,
    ) -> bool:
        """Take what lies below a folder from the last listing, when its tag says that it is the same."""
        last = known.get(entry.path)
        if (
            not self._remote.traits.recursive_etags
            or last is None
            or not entry.etag
            or last.etag != entry.etag
        ):
            return False
        if any(within(path, entry.path) for path in again):
            return False
        there.entries |= {
            path: one for path, one in known.items() if within(path, entry.path)
        }
        return True


def hidden_writes(
    known: Mapping[str, Entry],
    root_tag: str,
    entries: Mapping[str, Entry],
    base: Mapping[str, BaseNode],
) -> frozenset[str]:
    """Files that may have other bytes under the tag that they had.

    A write with the time and the length of the one before leaves the file's tag as it was. It takes away the checksum
    of the sender before, and it moves the tags of the folders above, while nothing else in the folder explains that.
    """
    last = {**known, "": Entry("", True, root_tag)}
    restless = {
        path for path, entry in entries.items() if _moved(entry, last.get(path))
    }
    for path in entries.keys() | known.keys():
        if path and _differs(entries.get(path), known.get(path)):
            restless.discard(path.rpartition("/")[0])
    doubtful = {
        path
        for path, entry in entries.items()
        if _lost_checksum(entry, known.get(path))
    }
    doubtful |= {
        path
        for path, entry in entries.items()
        if _came_back(entry, known.get(path), base.get(path))
    }
    for folder in restless:
        doubtful |= _latest(folder, entries, base)
    return frozenset(doubtful)


def _moved(entry: Entry, last: Entry | None) -> bool:
    return (
        entry.is_folder
        and last is not None
        and bool(last.etag)
        and entry.etag != last.etag
    )


def _differs(entry: Entry | None, last: Entry | None) -> bool:
    """Whether something came, went, or has another tag. Of a folder that we wrote to, no tag is known."""
    if entry is None or last is None:
        return True
    return entry.etag != last.etag


def _lost_checksum(entry: Entry, last: Entry | None) -> bool:
    if last is None or not last.checksum or entry.etag != last.etag:
        return False
    return entry.checksum != last.checksum


def _came_back(entry: Entry, last: Entry | None, was: BaseNode | None) -> bool:
    """Whether a file has got back the tag of what was agreed on: a write with the time of that text gives it, too."""
    if not isinstance(was, BaseFile) or (last is not None and entry.etag == last.etag):
        return False
    return entry.etag == was.tag and entry.checksum != was.hash


def _latest(
    folder: str, entries: Mapping[str, Entry], base: Mapping[str, BaseNode]
) -> set[str]:
    """The files of a folder that were written last, without those whose checksum proves them to be as agreed on."""
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


def nodes_of(
    there: RemoteScan,
    base: Mapping[str, BaseNode],
    behind: Mapping[str, tuple[str, str]],
) -> dict[str, Node]:
    """The tree for the planner: where the bytes behind a tag are known, their hash is."""
    nodes: dict[str, Node] = {}
    for path, entry in there.entries.items():
        if entry.is_folder:
            nodes[path] = Dir(entry.fileid)
        else:
            nodes[path] = File(
                _hash(entry, base.get(path), behind.get(path)),
                entry.etag,
                entry.fileid,
                entry.size,
            )
    return nodes | {path: Unknown(reason) for path, reason in there.unknown.items()}


def _hash(
    entry: Entry, was: BaseNode | None, fetched: tuple[str, str] | None
) -> str | None:
    if fetched is not None and fetched[0] == entry.etag:
        return fetched[1]
    if isinstance(was, BaseFile) and (
        entry.etag == was.tag or entry.checksum == was.hash
    ):
        return was.hash
    return None


def _resized(entry: Entry, last: Entry | None) -> bool:
    return (
        last is not None
        and not entry.is_folder
        and entry.etag == last.etag
        and entry.size != last.size
    )


def _taken(there: RemoteScan, listing: Listing) -> RemoteScan:
    there.entries[listing.folder.path] = listing.folder
    there.entries |= {entry.path: entry for entry in listing.entries}
    there.unknown |= listing.unknown
    return there
