"""Plans single paths: the state of a path in the three trees, its row of the table, and the action."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    RecordInSync,
    Refetch,
    Refresh,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan.decision_table import Decision, Now, Was, cell
from vault_memory.sync.plan.name_clashes import copy_of
from vault_memory.sync.settings import MERGED, Settings
from vault_memory.sync.trees import (
    BaseDir,
    BaseFile,
    BaseNode,
    Dir,
    File,
    Node,
    Tree,
    View,
    unchanged,
)

WAITING = "absent once; believed when it is seen to be absent again"


@dataclass(slots=True)
class PathPlanner:
    """Plans path by path, and collects the actions."""

    view: View
    settings: Settings
    used_names: set[str]
    """names that no copy may have"""
    immovable: frozenset[str] = frozenset()
    """existing paths outside this pass: no directory above them may go"""
    actions: list[Action] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    """paths that a later pass decides about, and why"""
    emptied: list[tuple[str, str, Decision]] = field(default_factory=list)
    """directories that go when everything below them goes: path, row, outcome"""
    _base_by_id: dict[tuple[str, str], str] = field(default_factory=dict)
    """the path in the base by side and id; filled when first needed"""
    _keys: list[list[str]] = field(default_factory=list)
    """the parts of each path of the view, in its order; filled when first needed"""

    def decide(self, path: str) -> None:
        """Plan one path by its cell of the table."""
        was = self.view.base.get(path)
        is_equal = _holds_same_bytes(*self._nodes(path))
        row, outcome = cell(_was(was), *self.states(path), equal=is_equal)
        action = self._action(path, row, outcome)
        if action is not None:
            self.actions.append(action)

    def states(self, path: str) -> tuple[Now, Now]:
        """The states of a path on the vault and on the server, in the letters of the table."""
        was = self.view.base.get(path)
        local_node, remote_node = self._nodes(path)
        local, remote = state(was, local_node), state(was, remote_node)
        if not isinstance(was, BaseDir):
            return local, remote
        if local == "=" and self.changed_below(path, self.view.local):
            local = "≠"
        if remote == "=" and self.changed_below(path, self.view.remote):
            remote = "≠"
        return local, remote

    def below(self, top: str) -> Iterator[str]:
        """Yield all paths below a directory."""
        paths = self.view.paths
        if len(self._keys) != len(paths):
            self._keys = [path.split("/") for path in paths]
        start = bisect_left(self._keys, top.split("/")) + 1
        for path in paths[start:]:
            if not path.startswith(top + "/"):
                return
            yield path

    def changed_below(self, top: str, side: Tree) -> bool:
        """Whether a path below a directory is new, changed or immovable on one side."""
        # Fault (F111): what takes no part in the pass still needs its directory.
        if any(path.startswith(top + "/") for path in self.immovable):
            return True
        base = self.view.base
        return any(
            state(base.get(path), side.nodes.get(path)) in ("≠", "F", "D")
            for path in self.below(top)
        )

    def _nodes(self, path: str) -> tuple[Node | None, Node | None]:
        return self.view.local.nodes.get(path), self.view.remote.nodes.get(path)

    def _action(self, path: str, row: str, outcome: Decision) -> Action | None:
        local, remote = self._nodes(path)
        if self._needs_fetch(path, outcome, remote):
            assert isinstance(remote, File)
            return Refetch(path=path, tag=remote.tag, row=row)
        match outcome:
            case Decision.NOTHING | Decision.SKIP | Decision.LEAVE:
                return None
            case Decision.REFRESH | Decision.ENTER:
                return self._refresh(path, row)
            case Decision.ADOPT:
                base = _record(local, remote, None)
                return RecordInSync(path=path, base=base, row=row)
            case Decision.EMPTY_LOCAL | Decision.EMPTY_REMOTE:
                self.emptied.append((path, row, outcome))
                return None
            case Decision.FORGET | Decision.DELETE_REMOTE | Decision.TRASH_LOCAL:
                return self._remove(path, row, outcome)
            case Decision.COPY_LOCAL:
                return self._copy_local(path, row)
            case Decision.COPY_REMOTE:
                return self._copy_remote(path, row)
            case Decision.MERGE:
                return self._merge(path, row)
            case Decision.CREATE_REMOTE | Decision.PUT_BACK | Decision.UPLOAD:
                return self._send(path, row, outcome)
            case Decision.CREATE_LOCAL | Decision.BRING_BACK | Decision.DOWNLOAD:
                return self._receive(path, row, outcome)
            case _:
                assert_never(outcome)

    def _needs_fetch(self, path: str, outcome: Decision, remote: Node | None) -> bool:
        """Whether the decision needs the bytes of the server's file, and only its tag is known."""
        if not isinstance(remote, File) or remote.hash is not None:
            return False
        if outcome is Decision.MERGE:
            return not path.endswith(MERGED)
        if outcome not in (Decision.BRING_BACK, Decision.COPY_REMOTE):
            return False
        was = self.view.base.get(path)
        return isinstance(was, BaseFile) and not unchanged(was, remote)

    def _refresh(self, path: str, row: str) -> Refresh | None:
        """Record a new tag or id; None when the record is up to date."""
        was = self.view.base.get(path)
        current = _record(*self._nodes(path), was)
        if current == was:
            return None
        return Refresh(path=path, base=current, row=row)

    def _send(self, path: str, row: str, outcome: Decision) -> Action:
        """Bring a local file or directory to the server."""
        local, remote = self._nodes(path)
        if isinstance(local, Dir):
            return MakeRemoteDir(path=path, row=row)
        assert isinstance(local, File)
        if row == "10":
            note = f"`{path}` was deleted on the server and changed here: the change is kept"
        else:
            note = self._note_of_kept_rename(path, local.id, self.view.remote)
        tag = None
        if outcome is Decision.UPLOAD and isinstance(remote, File):
            tag = remote.tag
        return Upload(path=path, hash=local.hash or "", tag=tag, row=row, note=note)

    def _receive(self, path: str, row: str, outcome: Decision) -> Action:
        """Bring a file or directory of the server to the vault."""
        local, remote = self._nodes(path)
        if isinstance(remote, Dir):
            return MakeLocalDir(path=path, row=row)
        assert isinstance(remote, File)
        if row == "9":
            note = f"`{path}` was deleted here and changed on the server: the change is kept"
        else:
            note = self._note_of_kept_rename(path, remote.id, self.view.local)
        local_hash = None
        if outcome is Decision.DOWNLOAD and isinstance(local, File):
            local_hash = local.hash
        return Download(path=path, hash=local_hash, tag=remote.tag, row=row, note=note)

    def _note_of_kept_rename(self, path: str, id: str, deleted_on: Tree) -> str:
        """A note when one side renamed what the other side deleted, or nothing.

        A rename shows the intent to keep (§5.4).
        """
        if path in self.view.base or not id:
            return ""
        side = "local" if deleted_on is self.view.remote else "remote"
        origin = self._path_by_id(side, id)
        if origin is None or any(node is not None for node in self._nodes(origin)):
            return ""
        return (
            f"`{origin}` was deleted on one side and renamed to `{path}` on the other: it is kept"
        )

    def _path_by_id(self, side: str, id: str) -> str | None:
        """The path in the base of the file that has this id on one side."""
        if not self._base_by_id:
            for path, was in self.view.base.items():
                self._base_by_id["local", was.local_id] = path
                self._base_by_id["remote", was.remote_id] = path
        return self._base_by_id.get((side, id))

    def _remove(self, path: str, row: str, outcome: Decision) -> Action | None:
        """Delete or forget a path whose absence was seen twice; else it waits."""
        local, remote = self._nodes(path)
        if not self._is_absence_certain(path):
            # Fault (E89): a listing that leaves out a file for a moment must not delete
            # it.
            self.waiting[path] = WAITING
            return None
        note = ""
        if path in self.settings.must_exist:
            note = f"`{path}` has to exist, and was removed or renamed"
        if outcome is Decision.DELETE_REMOTE and isinstance(remote, File):
            return DeleteRemote(path=path, tag=remote.tag, row=row, note=note)
        if outcome is Decision.TRASH_LOCAL and isinstance(local, File):
            return TrashLocal(path=path, hash=local.hash or "", row=row, note=note)
        return ForgetBase(path=path, row=row, note=note)

    def _is_absence_certain(self, path: str) -> bool:
        """Whether each side has the path, or has lost it for certain."""
        for side in (self.view.local, self.view.remote):
            if side.nodes.get(path) is None and not side.surely_gone(path):
                return False
        return True

    def _copy_remote(self, path: str, row: str) -> KeepBoth:
        """Rename the server's file to a copy: the vault has a directory of that name."""
        _, remote = self._nodes(path)
        assert isinstance(remote, File)
        copy = self._reserve_copy(path, was_file=True)
        note = f"`{path}` is a directory here; the file of the server is now `{copy}`"
        return KeepBoth(path=path, side="remote", copy=copy, tag=remote.tag, row=row, note=note)

    def _copy_local(self, path: str, row: str) -> KeepBoth | None:
        """Rename the local file to a copy; None until the server's directory is understood."""
        local, remote = self._nodes(path)
        assert isinstance(local, File)
        is_folder = isinstance(remote, Dir)
        # Fault (F107): the file must not make way for a directory whose contents are
        # still unknown.
        if is_folder and self._has_unfetched_below(path):
            return None
        copy = self._reserve_copy(path, was_file=is_folder)
        rival = "a directory" if is_folder else "another text"
        note = f"`{path}` is {rival} on the server; the local file is now `{copy}`"
        return KeepBoth(path=path, side="local", copy=copy, hash=local.hash, row=row, note=note)

    def _has_unfetched_below(self, top: str) -> bool:
        """Whether a file below has a new tag, and its bytes are not known yet."""
        nodes, base = self.view.remote.nodes, self.view.base
        for path in self.below(top):
            node, was = nodes.get(path), base.get(path)
            if not isinstance(node, File) or not isinstance(was, BaseFile):
                continue
            if node.hash is None and not unchanged(was, node):
                return True
        return False

    def _reserve_copy(self, path: str, *, was_file: bool = False) -> str:
        """A free name for a copy; of a copy, the name of the original is used."""
        folder, slash, name = path.rpartition("/")
        # Fault (D71): the copy of a copy would get a longer name in each pass.
        original = folder + slash + (conflict_copy(name) or name)
        copy = copy_of(original, self.settings, self.used_names, was_file=was_file)
        self.used_names.add(copy)
        return copy

    def _merge(self, path: str, row: str) -> Action | None:
        """Merge two texts; of other kinds of files both copies stay."""
        if not path.endswith(MERGED):
            return self._copy_local(path, row)
        local, remote = self._nodes(path)
        was = self.view.base.get(path)
        assert isinstance(local, File)
        assert isinstance(remote, File)
        return Merge(
            path=path,
            hash=local.hash or "",
            tag=remote.tag,
            base=was.hash if isinstance(was, BaseFile) else None,
            copy=self._reserve_copy(path),
            row=row,
        )


def _was(was: BaseNode | None) -> Was:
    match was:
        case None:
            return "none"
        case BaseFile():
            return "file"
        case BaseDir():
            return "dir"
        case _:
            assert_never(was)


def state(was: BaseNode | None, node: Node | None) -> Now:
    """Compare a node with the base; of a directory, without its contents."""
    match node:
        case None:
            return "-"
        case File():
            if not isinstance(was, BaseFile):
                return "F"
            return "=" if unchanged(was, node) else "≠"
        case Dir():
            return "=" if isinstance(was, BaseDir) else "D"
        case _:
            return "?"


def _holds_same_bytes(local: Node | None, remote: Node | None) -> bool:
    if not isinstance(local, File) or not isinstance(remote, File):
        return False
    return local.hash == remote.hash


def _record(local: Node | None, remote: Node | None, was: BaseNode | None) -> BaseFile | BaseDir:
    """The new base of a path; an id that a side does not report stays as it was."""
    assert isinstance(local, File | Dir)
    assert isinstance(remote, File | Dir)
    local_id = local.id or (was.local_id if was else "")
    remote_id = remote.id or (was.remote_id if was else "")
    if isinstance(local, File) and isinstance(remote, File):
        return BaseFile(local.hash or "", remote.tag, local_id, remote_id)
    return BaseDir(local_id, remote_id)
