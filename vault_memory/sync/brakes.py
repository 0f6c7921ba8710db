"""What stops a plan that looks too much like an accident. Told, and let go by a person, never by time alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from vault_memory.sync.actions import Action, DeleteRemote, RemoveLocalDir, RemoveRemoteDir, TrashLocal
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import Base, BaseFile, File, Node, Tree, View

FEW = 10
"""Deletes of one pass that need no asking (B1)..."""
SHARE = 0.2
"""... and what share of all files, whichever is more"""
SECTION = 4
"""A top-level directory with as many files does not lose all of them without asking (B1)"""
STORM = 5
"""As many files whose tags all moved at once look like a server that was restored or upgraded (B3)"""
REWRITES = 6
WITHIN = 60.0
"""More rewrites than that by writers in turns, in as many seconds, are a fight (B6)"""

DELETES = DeleteRemote | TrashLocal | RemoveRemoteDir | RemoveLocalDir


def halted(view: View, settings: Settings) -> str:
    """B2: one side is empty and the other is not, though both were in step. Says why, or nothing."""
    if settings.approve_deletes or not any(isinstance(was, BaseFile) for was in view.base.values()):
        return ""
    here, there = _any_file(view.local), _any_file(view.remote)
    if here == there:
        return ""
    return "the vault is empty, the server is not" if there else "the server is empty, the vault is not"


def _any_file(tree: Tree) -> bool:
    return any(isinstance(node, File) for node in tree.nodes.values())


def too_many(base: Base, actions: Iterable[Action], settings: Settings) -> str:
    """B1: why the deletes of this plan are not made, or nothing."""
    if settings.no_deletes:
        return settings.no_deletes
    if settings.approve_deletes:
        return ""
    gone = {action.path for action in actions if isinstance(action, DeleteRemote | TrashLocal)}
    files = [path for path, was in base.items() if isinstance(was, BaseFile)]
    if len(gone) > max(FEW, SHARE * len(files)):
        return f"{len(gone)} of {len(files)} files would be deleted at once"
    sections: dict[str, list[str]] = {}
    for path in files:
        sections.setdefault(path.partition("/")[0] if "/" in path else "", []).append(path)
    for section, held in sorted(sections.items()):
        if len(held) >= SECTION and gone.issuperset(held):
            return f"all {len(held)} files of {section or 'the top folder'} would be deleted at once"
    return ""


def storm(view: View) -> bool:
    """B3: every file of the server has another tag, and nobody knows yet whether one has other bytes."""
    seen = [
        (was, node)
        for path, was in view.base.items()
        if isinstance(was, BaseFile) and isinstance(node := view.remote.nodes.get(path), File)
    ]
    return len(seen) >= STORM and all(node.hash is None and node.tag != was.tag for was, node in seen)


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
        path for path, each in recent.items() if sum(one.by != two.by for one, two in pairwise(each)) >= REWRITES
    )


def stamp(now: datetime, last: datetime | None) -> str:
    """B7: the date in the names of copies, which a clock that was put back does not take back."""
    return max(now, last or now).strftime("%Y-%m-%d %H%M%S")


def missing(nodes: Mapping[str, Node], must_exist: Iterable[str]) -> frozenset[str]:
    """B4: notes that must exist and do not, whose absence the engine has to see twice, 60 s apart."""
    return frozenset(path for path in must_exist if path not in nodes)
