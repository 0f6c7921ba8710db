"""What stops a plan that looks too much like an accident. Told, and let go by a person, never by time alone."""

from collections.abc import Iterable, Mapping, Sequence
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
"""Deletes of one pass that need no asking (B1)..."""
SHARE = 0.2
"""... and what share of all files, whichever is more"""
SECTION = 4
"""A top-level directory with as many files does not lose all of them without asking (B1)"""
STORM = 5
"""As many files whose tags all moved at once look like a server that was restored or upgraded (B3)"""
BACK = 3
"""As many notes that go back to earlier texts, or vanish beside one that does, are no act of a person (B9)"""
OLDER = "as on a server that was restored from a backup"
"""How the reason ends for what B9 holds"""
REWRITES = 6
WITHIN = 60.0
"""More rewrites than that by writers in turns, in as many seconds, are a fight (B6)"""

DELETES = DeleteRemote | TrashLocal | RemoveRemoteDir | RemoveLocalDir
FROM_BACKUP = TrashLocal | RemoveLocalDir | MoveLocal
"""What follows here when a server forgets what happened to it since a backup"""


def halted(view: View, settings: Settings) -> str:
    """B2: one side is empty and the other is not, though both were in step. Says why, or nothing."""
    if settings.approve_deletes or not any(
        isinstance(was, BaseFile) for was in view.base.values()
    ):
        return ""
    here, there = _any_file(view.local), _any_file(view.remote)
    if here == there:
        return ""
    return (
        "the vault is empty, the server is not"
        if there
        else "the server is empty, the vault is not"
    )


def _any_file(tree: Tree) -> bool:
    return any(isinstance(node, File) for node in tree.nodes.values())


def too_many(base: Base, actions: Iterable[Action], settings: Settings) -> str:
    """B1: why the deletes of this plan are not made, or nothing."""
    if settings.no_deletes:
        return settings.no_deletes
    if settings.approve_deletes:
        return ""
    gone = {
        action.path
        for action in actions
        if isinstance(action, DeleteRemote | TrashLocal)
    }
    files = [path for path, was in base.items() if isinstance(was, BaseFile)]
    if len(gone) > max(FEW, SHARE * len(files)):
        return f"{len(gone)} of {len(files)} files would be deleted at once"
    sections: dict[str, list[str]] = {}
    for path in files:
        sections.setdefault(path.partition("/")[0] if "/" in path else "", []).append(
            path
        )
    for section, held in sorted(sections.items()):
        if len(held) >= SECTION and gone.issuperset(held):
            return f"all {len(held)} files of {section or 'the top folder'} would be deleted at once"
    return ""


def storm(view: View) -> bool:
    """B3: every file of the server has another tag, and nobody knows yet whether one has other bytes."""
    seen = [
        (was, node)
        for path, was in view.base.items()
        if isinstance(was, BaseFile)
        and isinstance(node := view.remote.nodes.get(path), File)
    ]
    return len(seen) >= STORM and all(
        node.hash is None and node.tag != was.tag for was, node in seen
    )


def changed_there(base: Base, remote: Tree) -> list[str]:
    """The notes and logs that have other bytes on the server than both sides last held, as far as it tells."""
    nodes = remote.nodes
    return [
        path
        for path, was in base.items()
        if path.endswith(MERGED)
        and isinstance(was, BaseFile)
        and isinstance(node := nodes.get(path), File)
        and not unchanged(was, node)
    ]


def vanished_there(base: Base, local: Tree, remote: Tree) -> list[str]:
    """The files that are here and were on the server, and are in no listing of it now, seen twice or not."""
    return [
        path
        for path, was in base.items()
        if isinstance(was, BaseFile)
        and path in local.nodes
        and path not in remote.nodes
        and not any(
            isinstance(remote.nodes.get(above), Unknown)
            for above in ("", *ancestors(path))
        )
    ]


def may_be_restored(changed: int, vanished: int) -> bool:
    """Whether so much is other on the server that it is worth finding out whether texts go back."""
    return changed > 0 and changed + vanished >= BACK


def restored(view: View, settings: Settings) -> str:
    """B9: why the earlier texts of the server are not taken over, nor what vanished deleted here; or nothing.

    One or two notes that go back are a person's act. Many at once are a server that was restored from
    a backup and does not say so: taking that over would undo what everybody wrote since.
    """
    if settings.approve_restore or not (settings.gone_back or settings.restored_before):
        return ""
    changed = changed_there(view.base, view.remote)
    back = settings.gone_back.intersection(changed)
    vanished = vanished_there(view.base, view.local, view.remote)
    enough = 2 * len(back) >= len(changed) and may_be_restored(len(back), len(vanished))
    if not enough and not (settings.restored_before and (back or vanished)):
        return ""
    notes = "1 note" if len(back) == 1 else f"{len(back)} notes"
    gone = f" and {len(vanished)} would be deleted here" if vanished else ""
    return f"{notes} would go back to earlier texts{gone}, {OLDER}"


def is_from_backup(action: Action, settings: Settings) -> bool:
    """Whether B9 holds this action."""
    if isinstance(action, Download | Merge):
        # Of a picture no earlier version is kept: whether it goes back cannot be told, and it would be gone.
        is_picture = (
            isinstance(action, Download)
            and action.hash is not None
            and not action.path.endswith(MERGED)
        )
        return is_picture or action.path in settings.gone_back
    return isinstance(action, FROM_BACKUP)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One time a path got other bytes."""

    path: str
    at: float
    """seconds, on a clock that only goes forward"""
    by: str
    """who wrote: us, or what came from elsewhere"""


def fights(rewrites: Sequence[Rewrite], now: float) -> frozenset[str]:
    """B6: paths rewritten more than six times within a minute by writers in turns."""
    recent: dict[str, list[Rewrite]] = {}
    for rewrite in sorted(rewrites, key=lambda one: one.at):
        if now - WITHIN <= rewrite.at <= now:
            recent.setdefault(rewrite.path, []).append(rewrite)
    return frozenset(
        path
        for path, each in recent.items()
        if sum(one.by != two.by for one, two in pairwise(each)) >= REWRITES
    )


def stamp(now: datetime, last: datetime | None) -> str:
    """B7: the date in the names of copies, which a clock that was put back does not take back."""
    return max(now, last or now).strftime("%Y-%m-%d %H%M%S")


def missing(nodes: Mapping[str, Node], must_exist: Iterable[str]) -> frozenset[str]:
    """B4: notes that must exist and do not, whose absence the engine has to see twice, 60 s apart."""
    return frozenset(path for path in must_exist if path not in nodes)
