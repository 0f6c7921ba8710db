"""Directories: those that are emptied go, those that are needed are made first (rows 21, 22 and 28 to 34)."""

from collections.abc import Collection, Iterable

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
from vault_memory.sync.plan.decision_table import Outcome
from vault_memory.sync.plan.per_path import WAITING, Decider
from vault_memory.sync.trees import Dir, Tree, ancestors, depth, within

IN_THE_WAY = "its directory cannot be made yet"


def emptied(decider: Decider, busy: Collection[str]) -> list[Action]:
    """Directories that go with all that is in them, the deepest first. One that keeps anything stays."""
    view = decider.view
    gone_remote = {
        action.path for action in decider.actions if isinstance(action, DeleteRemote)
    }
    gone_local = {
        action.path for action in decider.actions if isinstance(action, TrashLocal)
    }
    found: list[Action] = []
    for path, row, outcome in sorted(decider.emptied, key=lambda each: -depth(each[0])):
        on_server = outcome is Outcome.EMPTY_REMOTE
        side, other, gone = (
            (view.remote, view.local, gone_remote)
            if on_server
            else (view.local, view.remote, gone_local)
        )
        if any(within(each, path) for each in (*decider.stays, *busy)):
            continue
        if any(
            below in side.nodes and below not in gone for below in decider.below(path)
        ):
            continue
        if path not in other.nodes and not other.surely_gone(path):
            decider.waiting[path] = WAITING
            continue
        gone.add(path)
        found.append(
            RemoveRemoteDir(path=path, row=row)
            if on_server
            else RemoveLocalDir(path=path, row=row)
        )
    return found


def with_parents(decider: Decider, moves: Iterable[Move | MoveBase]) -> list[Action]:
    """All actions, with the directories made that they need. What cannot have its directory yet waits."""
    view = decider.view
    moves = list(moves)
    arrivals = {move.to for move in moves}
    made: dict[str, dict[str, Action]] = {"local": {}, "remote": {}}
    kept: list[Action] = []
    for action in (*decider.actions, *moves):
        place = _place(action)
        if place is None:
            kept.append(action)
            continue
        side, path = place
        missing = _missing(
            path, view.local if side == "local" else view.remote, arrivals, made[side]
        )
        if missing is None:
            decider.waiting[path] = IN_THE_WAY
            continue
        for up in missing:
            made[side].setdefault(
                up, _make(up, side, "29" if side == "local" else "31")
            )
        if isinstance(action, MakeLocalDir | MakeRemoteDir):
            made[side][path] = action
        else:
            kept.append(action)
    return [*made["local"].values(), *made["remote"].values(), *kept]


def _place(action: Action) -> tuple[str, str] | None:
    """Where an action makes a name that was not there."""
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


def _missing(
    path: str, side: Tree, arrivals: Collection[str], made: Collection[str]
) -> list[str] | None:
    """The directories above it that have to be made; None when that has to wait for something else."""
    found: list[str] = []
    for up in ancestors(path):
        node = side.nodes.get(up)
        if up in arrivals and found:
            return None
        if isinstance(node, Dir) or up in arrivals or up in made:
            break
        if node is not None:
            return None
        found.append(up)
    return found


def _make(path: str, side: str, row: str) -> Action:
    return (
        MakeLocalDir(path=path, row=row)
        if side == "local"
        else MakeRemoteDir(path=path, row=row)
    )
