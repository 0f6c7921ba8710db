"""Safety limits (B1 to B9): stop a plan that looks like an accident.

A limit reports why it stops something. A person approves it; time alone never does.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    Merge,
    MoveLocal,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.settings import MERGED, Settings
from vault_memory.sync.trees import (
    Base,
    BaseFile,
    File,
    Node,
    Tree,
    Unknown,
    View,
    ancestors,
    unchanged,
)

FEW = 10
"""Deletions of one pass that need no approval (B1) …"""
SHARE = 0.2
"""… or this share of all files, if that is more"""
SECTION = 4
"""A top-level directory with so many files does not lose all of them without approval (B1)"""
STORM = 5
"""When all tags of so many files change at once, the server was restored or upgraded (B3)"""
BACK = 3
"""So many notes that return to earlier texts, or vanish together with one, are not a person's edit (B9)"""
OLDER = "as on a server that was restored from a backup"
"""How the reason ends for what B9 holds"""
OLDER_HERE = "as after older files were copied into the vault"
"""The same where the vault has the earlier texts"""
REWRITES = 6
"""More rewrites than that by writers in turns are a fight (B6) …"""
WITHIN = 60.0
"""… within so many seconds"""

DELETES = DeleteRemote | TrashLocal | RemoveRemoteDir | RemoveLocalDir
FROM_BACKUP = TrashLocal | RemoveLocalDir | MoveLocal
"""What a plan does here when the server was set back to an earlier state"""


def halted(view: View, settings: Settings) -> str:
    """B2: the reason to do nothing, since one side is empty and both were in step; or nothing."""
    # Fault (C57, E95): a disk is not mounted, or the server's folder was replaced by an
    # empty one.
    had_files = any(isinstance(was, BaseFile) for was in view.base.values())
    if settings.approve_deletes or not had_files:
        return ""
    has_local, has_remote = _has_files(view.local), _has_files(view.remote)
    if has_remote and not has_local:
        return "the vault is empty, the server is not"
    if has_local and not has_remote:
        return "the server is empty, the vault is not"
    if _was_replaced(view):
        return "the server has other files, and none of the vault's"
    return ""


def _was_replaced(view: View) -> bool:
    """Whether the server has other files, and nothing of what the vault and the server had in common."""
    # Fault (E95): another home has the same address. S3 gives a home no id, and its
    # files would hide from B1 that all files of the vault are gone.
    files = {path: was for path, was in view.base.items() if isinstance(was, BaseFile)}
    vanished = vanished_there(view.base, view.local, view.remote)
    remote = view.remote.nodes
    if not vanished or any(isinstance(remote.get(path), Unknown) for path in files):
        return False
    same_names = list(_remote_files(view.base, view.remote))
    if any(unchanged(was, node) or _has_id(was, node) for _, was, node in same_names):
        return False
    others = [node for path, node in remote.items() if isinstance(node, File) and path not in files]
    # A person edits one note and deletes another. Most homes share a name such as `USER.md`.
    if not others and len(same_names) >= len(vanished):
        return False
    return not _are_moved([files[path] for path in vanished], others)


def _has_id(was: BaseFile, node: File) -> bool:
    """Whether a file on the server has the id of one of the base."""
    return bool(was.remote_id) and was.remote_id == node.id


def _are_moved(vanished: Sequence[BaseFile], others: Sequence[File]) -> bool:
    """Whether other files on the server are vanished ones under new names.

    One id proves that. Texts prove it when there are all of them: two homes may share some.
    """
    ids = {node.id for node in others} - {""}
    if any(was.remote_id in ids for was in vanished):
        return True
    tags = {node.tag for node in others} - {""}
    hashes = {node.hash for node in others}
    return all(was.hash in hashes or was.tag in tags for was in vanished)


def _has_files(tree: Tree) -> bool:
    return any(isinstance(node, File) for node in tree.nodes.values())


def too_many(base: Base, actions: Iterable[Action], settings: Settings) -> str:
    """B1: the reason why the deletions of this plan are not made, or nothing."""
    if settings.no_deletes:
        return settings.no_deletes
    if settings.approve_deletes:
        return ""
    deleted = {action.path for action in actions if isinstance(action, DeleteRemote | TrashLocal)}
    files = [path for path, was in base.items() if isinstance(was, BaseFile)]
    # Fault (E95): a wrong folder on one side looks like many deletions on the other.
    if len(deleted) > max(FEW, SHARE * len(files)):
        return f"{len(deleted)} of {len(files)} files would be deleted at once"
    for section, paths in sorted(_by_section(files).items()):
        # Fault (E96): a revoked share or an unmounted storage is one folder, and few of
        # all files.
        if len(paths) >= SECTION and deleted.issuperset(paths):
            where = section or "the top folder"
            return f"all {len(paths)} files of {where} would be deleted at once"
    return ""


def _by_section(files: Iterable[str]) -> dict[str, list[str]]:
    """The files by their top-level directory; an empty name for those in none."""
    sections: dict[str, list[str]] = defaultdict(list)
    for path in files:
        section, slash, _ = path.partition("/")
        sections[section if slash else ""].append(path)
    return sections


def _remote_files(base: Base, remote: Tree) -> Iterator[tuple[str, BaseFile, File]]:
    """Yield the files of the base that the server has, with what it has."""
    for path, was in base.items():
        node = remote.nodes.get(path)
        if isinstance(was, BaseFile) and isinstance(node, File):
            yield path, was, node


def storm(view: View) -> bool:
    """B3: whether all files of the server have new tags, and the bytes of none are known."""
    files = list(_remote_files(view.base, view.remote))
    if len(files) < STORM:
        return False
    return all(node.hash is None and node.tag != was.tag for _, was, node in files)


def changed_there(base: Base, remote: Tree) -> list[str]:
    """The notes and logs whose bytes on the server differ from the base, judged by hash or tag."""
    return [
        path
        for path, was, node in _remote_files(base, remote)
        if path.endswith(MERGED) and not unchanged(was, node)
    ]


def vanished_there(base: Base, local: Tree, remote: Tree) -> list[str]:
    """The files that the vault has and the server has lost, seen once or twice."""

    def is_readable(path: str) -> bool:
        above = ("", *ancestors(path))
        return not any(isinstance(remote.nodes.get(top), Unknown) for top in above)

    return [
        path
        for path, was in base.items()
        if isinstance(was, BaseFile)
        and path in local.nodes
        and path not in remote.nodes
        and is_readable(path)
    ]


def may_be_restored(changed: int, vanished: int) -> bool:
    """Whether enough differs on the server to find out whether texts returned to earlier versions."""
    return changed > 0 and changed + vanished >= BACK


def restored(view: View, settings: Settings) -> str:
    """B9: the reason why earlier texts and deletions of the server are not taken over, or nothing."""
    # Fault (E94): a server is restored from a backup and does not report it. To take
    # that over would undo all edits since. A person restores only one or two notes at
    # once.
    if settings.approve_restore:
        return ""
    if not (settings.gone_back or settings.restored_before):
        return ""
    changed = changed_there(view.base, view.remote)
    reverted = settings.gone_back.intersection(changed)
    vanished = vanished_there(view.base, view.local, view.remote)
    if not _looks_restored(settings, len(changed), len(reverted), len(vanished)):
        return ""
    notes = "1 note" if len(reverted) == 1 else f"{len(reverted)} notes"
    deletions = f" and {len(vanished)} would be deleted here" if vanished else ""
    return f"{notes} would go back to earlier texts{deletions}, {OLDER}"


def _looks_restored(settings: Settings, changed: int, reverted: int, vanished: int) -> bool:
    """Whether so many notes were reverted or lost that a person must answer."""
    # Fault (E94): another device edits one of the notes while they wait. The others
    # must still wait.
    if settings.restored_before and reverted + vanished > 0:
        return True
    # Fault: a small folder is restored, and its notes are too few to count.
    if settings.folder_gone_back:
        return True
    is_most = 2 * reverted >= changed
    return is_most and may_be_restored(reverted, vanished)


def older_here(settings: Settings) -> str:
    """B9 for the vault: the reason why its earlier texts are not uploaded, or nothing."""
    # Fault: a person restores older files over the vault of one device. Uploaded, they
    # would remove the newer lines on all devices.
    if settings.approve_restore or not settings.older_here:
        return ""
    count = len(settings.older_here)
    notes = "1 note" if count == 1 else f"{count} notes"
    return f"{notes} would go back to earlier texts on the server, {OLDER_HERE}"


def is_from_older_files(action: Action, settings: Settings) -> bool:
    """Whether B9 holds this action, since the vault has earlier texts."""
    if isinstance(action, Upload | Merge):
        return action.path in settings.older_here
    return isinstance(action, DeleteRemote | RemoveRemoteDir)


def is_from_backup(action: Action, settings: Settings) -> bool:
    """Whether B9 holds this action."""
    if isinstance(action, Download) and _is_picture(action):
        # Fault: pictures have no stored versions. So it is unknown whether this one was reverted, and
        # the local one would be lost.
        return True
    if isinstance(action, Download | Merge):
        return action.path in settings.gone_back
    return isinstance(action, FROM_BACKUP)


@dataclass(frozen=True, slots=True)
class HoldReasons:
    """Why a plan is stopped in part; empty where it is not."""

    braked: str
    """B1"""
    restored: str
    """B9"""
    older_here: str
    """B9 for the vault"""

    def why_held(self, action: Action, settings: Settings) -> str:
        """The reason why an action is not done, or nothing."""
        if self.restored and is_from_backup(action, settings):
            return self.restored
        if self.older_here and is_from_older_files(action, settings):
            return self.older_here
        return self.braked if isinstance(action, DELETES) else ""


def _is_picture(action: Download) -> bool:
    """Whether a download replaces a file that is neither a note nor a log."""
    return action.hash is not None and not action.path.endswith(MERGED)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One change of the bytes of a path."""

    path: str
    at: float
    """in seconds, on a clock that only goes forward"""
    by: str
    """the writer: `us`, or `them` for what came from the server"""


def fights(rewrites: Sequence[Rewrite], now: float) -> frozenset[str]:
    """B6: paths that writers in turns rewrote more than six times within a minute."""
    recent: dict[str, list[Rewrite]] = defaultdict(list)
    for rewrite in sorted(rewrites, key=lambda rewrite: rewrite.at):
        if now - WITHIN <= rewrite.at <= now:
            recent[rewrite.path].append(rewrite)
    return frozenset(path for path, history in recent.items() if _turns(history) >= REWRITES)


def _turns(history: Sequence[Rewrite]) -> int:
    """How often the writer changed."""
    return sum(first.by != second.by for first, second in pairwise(history))


def stamp(now: datetime, last: datetime | None) -> str:
    """B7: the date in the names of copies."""
    # Fault (B50): the clock goes back. A new copy would seem older than the last one.
    return max(now, last or now).strftime("%Y-%m-%d %H%M%S")


def missing(nodes: Mapping[str, Node], must_exist: Iterable[str]) -> frozenset[str]:
    """B4: notes that must exist and do not; the engine has to see that twice, 60 s apart."""
    return frozenset(path for path in must_exist if path not in nodes)
