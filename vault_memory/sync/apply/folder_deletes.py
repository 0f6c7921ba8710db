"""Deletes whole folders of the server: one request for a folder that goes with everything in it.

Only where the tag of a folder shows every change below it, and where the server has a trash. A note
that another device makes between the last look and the request is then in that trash.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from vault_memory.remote.remote_errors import NotUnderstood, Refused, RemoteLocked
from vault_memory.sync.actions import Action, DeleteRemote, RemoveRemoteDir
from vault_memory.sync.apply.session import SyncSession
from vault_memory.sync.trees import ancestors, within

Removal = DeleteRemote | RemoveRemoteDir


@dataclass(frozen=True, slots=True)
class FolderDeletion:
    """A folder that goes, and the actions that delete what is in it."""

    path: str
    contents: tuple[Removal, ...]
    """in their order; the folder itself is the last"""

    @property
    def files(self) -> list[DeleteRemote]:
        return [action for action in self.contents if isinstance(action, DeleteRemote)]


def folder_deletions(actions: Iterable[Action]) -> dict[str, FolderDeletion]:
    """The topmost folders that go with at least one file in them, by each path that goes along."""
    removals = [action for action in actions if isinstance(action, Removal)]
    folders = {each.path for each in removals if isinstance(each, RemoveRemoteDir)}
    tops = [path for path in folders if folders.isdisjoint(ancestors(path))]
    deletions: dict[str, FolderDeletion] = {}
    for top in tops:
        contents = tuple(each for each in removals if within(each.path, top))
        deletion = FolderDeletion(top, contents)
        if deletion.files:
            deletions |= dict.fromkeys((each.path for each in contents), deletion)
    return deletions


class FolderDeletes:
    """The whole folders of one pass."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session
        self._by_path: dict[str, FolderDeletion] = {}
        self._in_parent: Counter[str] = Counter()
        """how many whole folders are in a folder"""
        self._tags: dict[str, str] = {}
        """the tags of folders from the look of this pass"""

    def begin(self, actions: Iterable[Action]) -> None:
        """Find the whole folders among the actions of a pass."""
        traits = self._session.remote.traits
        is_able = traits.recursive_etags and traits.trash
        self._by_path = folder_deletions(actions) if is_able else {}
        tops = {deletion.path for deletion in self._by_path.values()}
        self._in_parent = Counter(map(_parent, tops))
        self._tags.clear()

    def of(self, action: Action) -> FolderDeletion | None:
        """The whole folder that an action belongs to."""
        return self._by_path.get(action.path) if isinstance(action, Removal) else None

    def delete(self, deletion: FolderDeletion, now: datetime) -> bool:
        """Delete a folder with everything in it. False: it has to go file by file.

        Raises ActionOutdated.
        """
        session = self._session
        for action in deletion.files:
            session.check_unchanged(action.path, action.tag, now)
        # Fault (F106): another device made or edited a note in the folder since the listing.
        if not self._is_as_listed(deletion.path):
            return False
        try:
            session.remote.rmtree(deletion.path)
        except (Refused, RemoteLocked, NotUnderstood):
            return False  # one of the files is locked, or has to stay
        session.forget_deleted(each.path for each in deletion.contents)
        return True

    def _is_as_listed(self, path: str) -> bool:
        """Whether a folder still has the tag of the listing that the plan is based on."""
        listed = self._session.state.entry_of(path)
        if listed is None or not listed.etag:
            return False
        return self._current_tag(path) == listed.etag

    def _current_tag(self, path: str) -> str:
        """The tag of a folder. One look serves all whole folders of one parent."""
        if path in self._tags:
            return self._tags[path]
        if self._in_parent[_parent(path)] == 1:
            return self._session.remote.look(path).etag
        listing = self._session.remote.list(_parent(path))
        self._tags |= {entry.path: entry.etag for entry in listing.entries}
        return self._tags.get(path, "")


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
