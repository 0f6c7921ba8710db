"""What becomes of one path: its state on the three trees, its row in the table, and the action for it."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

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
from vault_memory.sync.plan.decision_table import Now, Outcome, Was, cell
from vault_memory.sync.plan.name_clashes import copy_of
from vault_memory.sync.settings import MERGED, Settings
from vault_memory.sync.trees import (
    BaseDir,
    BaseFile,
    Dir,
    File,
    Node,
    Tree,
    View,
    unchanged,
)

WAITING = "absent once; believed when it is seen to be absent again"


@dataclass(slots=True)
class Decider:
    """Decides path by path, and keeps what was decided."""

    view: View
    settings: Settings
    taken: set[str]
    """names that no copy may have"""
    stays: frozenset[str] = frozenset()
    """what takes no part in this pass and is there, so that no directory above it goes"""
    actions: list[Action] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    emptied: list[tuple[str, str, Outcome]] = field(default_factory=list)
    """directories that go when all below them goes: path, row, which side"""
    origins: dict[tuple[str, str], str] = field(default_factory=dict)
    """the path in the base by side and id, once somebody has asked"""
    _keys: list[list[str]] = field(default_factory=list)

    def decide(self, path: str) -> None:
        """Find the path's cell, and do as it says."""
        was = self.view.base.get(path)
        here, there = self.view.local.nodes.get(path), self.view.remote.nodes.get(path)
        row, outcome = cell(_was(was), *self.states(path), equal=_equal(here, there))
        if action := self._action(path, row, outcome):
            self.actions.append(action)

    def states(self, path: str) -> tuple[Now, Now]:
        """How it is on the two sides, in the letters of the table."""
        was = self.view.base.get(path)
        here, there = self.view.local.nodes.get(path), self.view.remote.nodes.get(path)
        local, remote = state(was, here), state(was, there)
        if isinstance(was, BaseDir):
            local = (
                "≠"
                if local == "=" and self.changed_below(path, self.view.local)
                else local
            )
            remote = (
                "≠"
                if remote == "=" and self.changed_below(path, self.view.remote)
                else remote
            )
        return local, remote

    def below(self, top: str) -> Iterator[str]:
        """All paths under a directory."""
        paths = self.view.paths
        if len(self._keys) != len(paths):
            self._keys = [path.split("/") for path in paths]
        start = bisect_left(self._keys, top.split("/")) + 1
        for path in paths[start:]:
            if not path.startswith(top + "/"):
                return
            yield path

    def changed_below(self, top: str, side: Tree) -> bool:
        """Whether something under a directory is new or changed on one side, or not for us to touch."""
        if any(path.startswith(top + "/") for path in self.stays):
            return True
        return any(
            state(self.view.base.get(path), side.nodes.get(path)) in ("≠", "F", "D")
            for path in self.below(top)
        )

    def _action(self, path: str, row: str, outcome: Outcome) -> Action | None:
        view = self.view
        was, here, there = (
            view.base.get(path),
            view.local.nodes.get(path),
            view.remote.nodes.get(path),
        )
        if self._needs_look(path, outcome, there):
            assert isinstance(there, File)
            return Refetch(path=path, tag=there.tag, row=row)
        match outcome:
            case Outcome.NOTHING | Outcome.SKIP | Outcome.LEAVE:
                return None
            case Outcome.REFRESH | Outcome.ENTER:
                fresh = _record(here, there, was)
                return Refresh(path=path, base=fresh, row=row) if fresh != was else None
            case Outcome.ADOPT:
                return RecordInSync(path=path, base=_record(here, there, None), row=row)
            case Outcome.EMPTY_LOCAL | Outcome.EMPTY_REMOTE:
                self.emptied.append((path, row, outcome))
                return None
            case Outcome.FORGET | Outcome.DELETE_REMOTE | Outcome.TRASH_LOCAL:
                return self._ends(path, row, outcome)
            case Outcome.COPY_LOCAL | Outcome.COPY_REMOTE:
                return self._aside(path, row, outcome)
            case Outcome.MERGE:
                return self._merge(path, row)
            case _:
                return self._carried(path, row, outcome)

    def _needs_look(self, path: str, outcome: Outcome, there: Node | None) -> bool:
        """Whether only the tag of the server's file is known, and it takes its bytes to go on."""
        if not isinstance(there, File) or there.hash is not None:
            return False
        was = self.view.base.get(path)
        if outcome is Outcome.MERGE:
            return not path.endswith(MERGED)
        moved_only = isinstance(was, BaseFile) and not unchanged(was, there)
        return moved_only and outcome in (Outcome.BRING_BACK, Outcome.COPY_REMOTE)

    def _carried(self, path: str, row: str, outcome: Outcome) -> Action:
        """Bytes or directories that go from one side to the other."""
        here, there = self.view.local.nodes.get(path), self.view.remote.nodes.get(path)
        if outcome in (Outcome.CREATE_REMOTE, Outcome.PUT_BACK, Outcome.UPLOAD):
            if isinstance(here, Dir):
                return MakeRemoteDir(path=path, row=row)
            assert isinstance(here, File)
            note = (
                f"`{path}` was deleted on the server and changed here: the change is kept"
                if row == "10"
                else ""
            )
            tag = (
                there.tag
                if outcome is Outcome.UPLOAD and isinstance(there, File)
                else None
            )
            note = note or self._kept_by_rename(path, here.id, self.view.remote)
            return Upload(path=path, hash=here.hash or "", tag=tag, row=row, note=note)
        if isinstance(there, Dir):
            return MakeLocalDir(path=path, row=row)
        assert isinstance(there, File)
        note = (
            f"`{path}` was deleted here and changed on the server: the change is kept"
            if row == "9"
            else ""
        )
        hash = (
            here.hash
            if outcome is Outcome.DOWNLOAD and isinstance(here, File)
            else None
        )
        note = note or self._kept_by_rename(path, there.id, self.view.local)
        return Download(path=path, hash=hash, tag=there.tag, row=row, note=note)

    def _kept_by_rename(self, path: str, id: str, deleted_on: Tree) -> str:
        """What to say when one side renamed what the other deleted: a rename is an intent to keep (§5.4)."""
        if path in self.view.base or not id:
            return ""
        if not self.origins:
            for known, was in self.view.base.items():
                self.origins |= {
                    ("local", was.local_id): known,
                    ("remote", was.remote_id): known,
                }
        came = self.origins.get(
            ("local" if deleted_on is self.view.remote else "remote", id)
        )
        if (
            came is None
            or came in self.view.local.nodes
            or came in self.view.remote.nodes
        ):
            return ""
        return f"`{came}` was deleted on one side and renamed to `{path}` on the other: it is kept"

    def _ends(self, path: str, row: str, outcome: Outcome) -> Action | None:
        """Deletes, which need an absence that was seen twice."""
        view = self.view
        here, there = view.local.nodes.get(path), view.remote.nodes.get(path)
        absent_here = here is not None or view.local.surely_gone(path)
        absent_there = there is not None or view.remote.surely_gone(path)
        if not (absent_here and absent_there):
            self.waiting[path] = WAITING
            return None
        note = (
            f"`{path}` has to exist, and was removed or renamed"
            if path in self.settings.must_exist
            else ""
        )
        if outcome is Outcome.DELETE_REMOTE and isinstance(there, File):
            return DeleteRemote(path=path, tag=there.tag, row=row, note=note)
        if outcome is Outcome.TRASH_LOCAL and isinstance(here, File):
            return TrashLocal(path=path, hash=here.hash or "", row=row, note=note)
        return ForgetBase(path=path, row=row, note=note)

    def _aside(self, path: str, row: str, outcome: Outcome) -> Action | None:
        here, there = self.view.local.nodes.get(path), self.view.remote.nodes.get(path)
        if outcome is Outcome.COPY_REMOTE:
            assert isinstance(there, File)
            copy = self._copy(path, was_file=True)
            note = (
                f"`{path}` is a directory here; the file of the server is now `{copy}`"
            )
            return KeepBoth(
                path=path, side="remote", copy=copy, tag=there.tag, row=row, note=note
            )
        assert isinstance(here, File)
        if isinstance(there, Dir) and self._unsure_below(path):
            return None
        copy = self._copy(path, was_file=isinstance(there, Dir))
        what = "a directory" if isinstance(there, Dir) else "another text"
        note = f"`{path}` is {what} on the server; the local file is now `{copy}`"
        return KeepBoth(
            path=path, side="local", copy=copy, hash=here.hash, row=row, note=note
        )

    def _unsure_below(self, top: str) -> bool:
        """Whether something below has another tag, and it has to be seen first whether that means anything."""
        nodes, base = self.view.remote.nodes, self.view.base
        return any(
            isinstance(node := nodes.get(path), File)
            and node.hash is None
            and isinstance(was := base.get(path), BaseFile)
            and not unchanged(was, node)
            for path in self.below(top)
        )

    def _copy(self, path: str, *, was_file: bool = False) -> str:
        folder, slash, name = path.rpartition("/")
        original = folder + slash + (conflict_copy(name) or name)
        copy = copy_of(original, self.settings, self.taken, was_file=was_file)
        self.taken.add(copy)
        return copy

    def _merge(self, path: str, row: str) -> Action | None:
        here, there, was = (
            self.view.local.nodes[path],
            self.view.remote.nodes[path],
            self.view.base.get(path),
        )
        assert isinstance(here, File)
        assert isinstance(there, File)
        if not path.endswith(MERGED):
            return self._aside(path, row, Outcome.COPY_LOCAL)
        base = was.hash if isinstance(was, BaseFile) else None
        return Merge(
            path=path,
            hash=here.hash or "",
            tag=there.tag,
            base=base,
            copy=self._copy(path),
            row=row,
        )


def _was(was: BaseFile | BaseDir | None) -> Was:
    return "none" if was is None else "file" if isinstance(was, BaseFile) else "dir"


def state(was: BaseFile | BaseDir | None, node: Node | None) -> Now:
    """How a node stands to what was; of a directory, without a look at what is in it."""
    match node:
        case None:
            return "-"
        case File():
            return (
                ("=" if unchanged(was, node) else "≠")
                if isinstance(was, BaseFile)
                else "F"
            )
        case Dir():
            return "=" if isinstance(was, BaseDir) else "D"
        case _:
            return "?"


def _equal(here: Node | None, there: Node | None) -> bool:
    return (
        isinstance(here, File) and isinstance(there, File) and here.hash == there.hash
    )


def _record(
    here: Node | None, there: Node | None, was: BaseFile | BaseDir | None
) -> BaseFile | BaseDir:
    """What both sides hold, as it is to be recorded; ids that a side does not tell stay."""
    assert isinstance(here, File | Dir)
    assert isinstance(there, File | Dir)
    local_id = here.id or (was.local_id if was else "")
    remote_id = there.id or (was.remote_id if was else "")
    if isinstance(here, File) and isinstance(there, File):
        return BaseFile(here.hash or "", there.tag, local_id, remote_id)
    return BaseDir(local_id, remote_id)
