"""Directories: empty ones are removed, and missing ones are made first (rows 21, 22 and 28 to 34)."""

from collections.abc import Collection, Iterable
from typing import assert_never

from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Move,
    MoveBase,
    MoveLocal,
    MoveRemote,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan.decision_table import Decision
from vault_memory.sync.plan.per_path import WAITING, PathPlanner
from vault_memory.sync.trees import Dir, Side, Tree, ancestors, depth, within

PARENT_MISSING = "its directory cannot be made yet"


def remove_emptied(planner: PathPlanner, busy: Collection[str]) -> list[Action]:
    """Remove directories whose complete content is deleted, the deepest first. All others stay."""
    deleted: dict[Side, set[str]] = {
        "remote": _paths_of(planner, DeleteRemote),
        "local": _paths_of(planner, TrashLocal),
    }
    pinned = (*planner.immovable, *busy)
    removals: list[Action] = []
    for path, row, outcome in sorted(planner.emptied, key=_deepest_first):
        side: Side = "remote" if outcome is Decision.EMPTY_REMOTE else "local"
        # Fault (F111): an excluded file is invisible to the plan, and would go with its
        # directory.
        if any(within(pin, path) for pin in pinned):
            continue
        # Fault (F106): a note below was changed while the other side removed the
        # directory. It survives.
        if _has_remaining(planner, path, side, deleted[side]):
            continue
        opposite = planner.view.side("local" if side == "remote" else "remote")
        if path not in opposite.nodes and not opposite.surely_gone(path):
            # Fault (E89): a listing leaves out a directory for a moment.
            planner.waiting[path] = WAITING
            continue
        deleted[side].add(path)
        removals.append(_remove_dir(path, side, row))
    return removals


def _paths_of(planner: PathPlanner, kind: type[DeleteRemote | TrashLocal]) -> set[str]:
    return {action.path for action in planner.actions if isinstance(action, kind)}


def _deepest_first(emptied: tuple[str, str, Decision]) -> int:
    return -depth(emptied[0])


def _has_remaining(planner: PathPlanner, top: str, side: Side, deleted: Collection[str]) -> bool:
    nodes = planner.view.side(side).nodes
    return any(path in nodes and path not in deleted for path in planner.below(top))


def with_parents(planner: PathPlanner, moves: Iterable[Move | MoveBase]) -> list[Action]:
    """Return all actions, preceded by the directories they need.

    A path whose directory cannot be made yet waits.
    """
    moves = list(moves)
    arrivals = {move.to for move in moves}
    made: dict[Side, dict[str, Action]] = {"local": {}, "remote": {}}
    later: list[Action] = []
    for action in (*planner.actions, *moves):
        place = _new_name(action)
        if place is None:
            later.append(action)
            continue
        side, path = place
        missing = _missing_parents(path, planner.view.side(side), arrivals, made[side])
        if missing is None:
            planner.waiting[path] = PARENT_MISSING
            continue
        for parent in missing:
            made[side].setdefault(parent, _make_dir(parent, side))
        if isinstance(action, MakeLocalDir | MakeRemoteDir):
            made[side][path] = action
        else:
            later.append(action)
    return [*made["local"].values(), *made["remote"].values(), *later]


def _new_name(action: Action) -> tuple[Side, str] | None:
    """The side and path where an action makes a new name; None if it makes none."""
    match action:
        case Upload(tag=None) | MakeRemoteDir():
            return "remote", action.path
        case Download(hash=None) | MakeLocalDir():
            return "local", action.path
        case MoveLocal():
            return "local", action.to
        case MoveRemote():
            return "remote", action.to
        case KeepBoth():
            return action.side, action.copy
        case _:
            return None


def _missing_parents(
    path: str, tree: Tree, arrivals: Collection[str], made: Collection[str]
) -> list[str] | None:
    """The directories above a path that have to be made; None when that has to wait."""
    missing: list[str] = []
    for parent in ancestors(path):
        node = tree.nodes.get(parent)
        if parent in arrivals:
            # A move brings this directory; what is missing below it is made in the next pass.
            return None if missing else missing
        if isinstance(node, Dir) or parent in made:
            break
        if node is not None:
            return None
        missing.append(parent)
    return missing


def _make_dir(path: str, side: Side) -> Action:
    match side:
        case "local":
            return MakeLocalDir(path=path, row="29")
        case "remote":
            return MakeRemoteDir(path=path, row="31")
        case _:
            assert_never(side)


def _remove_dir(path: str, side: Side, row: str) -> Action:
    match side:
        case "local":
            return RemoveLocalDir(path=path, row=row)
        case "remote":
            return RemoveRemoteDir(path=path, row=row)
        case _:
            assert_never(side)
