"""Plans one pass: the actions that make the vault and the server the same. Pure and total.

No list of tasks is stored. Each pass derives its actions from what it observes, so a crash loses none.
Each action names its preconditions and may fail without harm to the others. When all are done,
the next plan is empty.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    Move,
    MoveBase,
    MoveLocal,
    MoveRemote,
    Refetch,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
    changes,
)
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.plan.decision_table import Decision
from vault_memory.sync.plan.name_clashes import Clashes, find_clashes, same_form
from vault_memory.sync.plan.per_path import WAITING, PathPlanner
from vault_memory.sync.plan.renames import Renames, plan_renames
from vault_memory.sync.plan.sync_exclusions import Exclusions, exclude, forgotten
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import (
    Base,
    BaseFile,
    Dir,
    File,
    Side,
    Tree,
    View,
    ancestors,
    depth,
    unchanged,
    within,
)

RECORDS, DIRECTORIES, FILES, RENAMES, DELETES, EMPTIED = range(6)
PARENT_MISSING = "its directory cannot be made yet"


@dataclass(frozen=True, slots=True)
class HeldAction:
    """An action that is not done."""

    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRemark:
    """Information for a person about a path that needs no action."""

    path: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The actions of one pass, and the reasons for what is not done."""

    actions: tuple[Action, ...] = ()
    """in an order in which they can be done; `action_order.batches` groups independent ones"""
    held: tuple[HeldAction, ...] = ()
    """actions stopped by a safety limit or by the mode"""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """paths that the next pass decides about, and why"""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """paths that could not be read, with all below them, and why"""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """paths that are not synced, with all below them, and why"""
    notes: tuple[PlanRemark, ...] = ()
    halted: str = ""
    """why nothing at all is done (B2)"""
    braked: str = ""
    """why no deletions are made (B1); `approve_deletes` allows them"""
    restored: str = ""
    """why earlier texts of the server are not taken over (B9); `approve_restore` allows them"""
    older_here: str = ""
    """why earlier texts of the vault are not uploaded (B9); `approve_restore` allows them"""


def plan(base: Base, local: Tree, remote: Tree, settings: Settings | None = None) -> SyncPlan:
    """Compare the three trees and plan how both sides become the same without losing a text."""
    settings = settings or Settings()
    view, exclusions = exclude(base, local, remote, settings)
    empty = SyncPlan(
        unknown={**exclusions.unknown, **exclusions.links},
        skipped=exclusions.skipped,
        notes=_notes(base, exclusions),
    )
    halted = safety_limits.halted(view, settings)
    if halted:
        return replace(empty, halted=halted)
    actions: list[Action] = [
        ForgetBase(path=path, row="36") for path in forgotten(base, exclusions)
    ]
    waiting: dict[str, str] = {}
    if safety_limits.storm(view):
        # Fault (E90): a server that was restored or upgraded gives every file a new tag
        # (B3).
        actions += _refetch_changed(view)
    else:
        used_names = {*base, *local.nodes, *remote.nodes}
        existing = {*local.nodes, *remote.nodes}
        immovable = exclusions.roots() & existing
        planner = PathPlanner(view, settings, used_names, immovable)
        actions += _decide(planner)
        waiting = planner.waiting
    limits = safety_limits.HoldReasons(
        braked=safety_limits.too_many(base, actions, settings),
        restored=safety_limits.restored(view, settings),
        older_here=safety_limits.older_here(settings),
    )
    allowed, stopped = _split(actions, settings, limits)
    has_stopped_deletes = any(isinstance(entry.action, safety_limits.DELETES) for entry in stopped)
    return replace(
        empty,
        actions=in_order(allowed),
        held=tuple(stopped),
        waiting=waiting,
        braked=limits.braked if has_stopped_deletes else "",
        restored=limits.restored,
        older_here=limits.older_here,
    )


def _decide(planner: PathPlanner) -> list[Action]:
    """All actions that the trees need. The planner collects the paths that have to wait."""
    view, settings = planner.view, planner.settings
    forms = same_form(view, settings)
    renames, clashes = Renames(), Clashes()
    if not forms:
        renames = plan_renames(view, settings, planner.used_names)
        clashes = find_clashes(view, settings, planner.used_names)
    copies = [copy for copy in clashes.renames if not renames.holds(copy.path)]
    planner.actions += copies
    busy = set(clashes.waiting)
    for move in forms:
        busy |= {move.path, move.to}
    untouchable = busy | view.passive
    for path in view.paths:
        if path not in untouchable and not renames.holds(path):
            planner.decide(path)
    for path in sorted(clashes.waiting - {copy.path for copy in copies}):
        planner.waiting[path] = "its name clashes with another"
    actions = with_parents(planner, (*forms, *renames.moves))
    return actions + remove_emptied(planner, busy | renames.busy)


def _refetch_changed(view: View) -> list[Action]:
    """B3: fetch the files whose tags changed, before anything is changed on either side."""
    refetches: list[Action] = []
    for path, was in sorted(view.base.items()):
        node = view.remote.nodes.get(path)
        if not isinstance(was, BaseFile) or not isinstance(node, File):
            continue
        if not unchanged(was, node):
            refetches.append(Refetch(path=path, tag=node.tag, row="B3"))
    return refetches


def _split(
    actions: Iterable[Action], settings: Settings, limits: safety_limits.HoldReasons
) -> tuple[list[Action], list[HeldAction]]:
    """Separate the allowed actions from those that the mode or a safety limit stops."""
    allowed: list[Action] = []
    stopped: list[HeldAction] = []
    for action in actions:
        if settings.mode == "pull" and isinstance(action, Merge):
            action = replace(action, upload=False)
        reason = _forbidden_by_mode(action, settings) or limits.why_held(action, settings)
        if reason:
            stopped.append(HeldAction(action, reason))
        else:
            allowed.append(action)
    return allowed, stopped


def _forbidden_by_mode(action: Action, settings: Settings) -> str:
    """The reason why the mode forbids an action, or nothing."""
    match settings.mode:
        case "read-only":
            return "nothing is written in read-only mode"
        case "pull" if "remote" in changes(action):
            return "the server is only read"
        case "push" if "local" in changes(action):
            return "the vault is only read"
        case _:
            return ""


def _notes(base: Base, exclusions: Exclusions) -> tuple[PlanRemark, ...]:
    return tuple(
        PlanRemark(path, "20", f"`{path}` was a note and is not one now: {reason}")
        for path, reason in sorted(exclusions.links.items())
        if isinstance(base.get(path), BaseFile)
    )


# --- Action order ---

# Orders the actions of a plan in batches. Within a batch, the order does not matter.
#
# Records come first, then directories from the top, files, renames one by one, deletions, and
# emptied directories from the bottom. A failed action harms no other: its dependants find a
# broken precondition.


def batches(actions: Sequence[Action]) -> tuple[tuple[Action, ...], ...]:
    """Group the actions into batches that are done one after the other."""
    by_place: dict[tuple[int, int], list[Action]] = {}
    for number, action in enumerate(actions):
        by_place.setdefault(_place(action, number), []).append(action)
    return tuple(tuple(by_place[place]) for place in sorted(by_place))


def _place(action: Action, number: int) -> tuple[int, int]:
    """The batch of an action: its kind, and its place among batches of that kind."""
    match action:
        case MakeLocalDir() | MakeRemoteDir():
            return DIRECTORIES, depth(action.path)
        case MoveLocal() | MoveRemote():
            return RENAMES, number
        case DeleteRemote() | TrashLocal():
            return DELETES, 0
        case RemoveLocalDir() | RemoveRemoteDir():
            return EMPTIED, -depth(action.path)
        case _:
            return (FILES if changes(action) else RECORDS), 0


def in_order(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions in the order of their batches."""
    return tuple(action for batch in batches(actions) for action in batch)


# --- Directories ---

# Directories: empty ones are removed, and missing ones are made first (rows 21, 22 and 28 to
# 34).


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
