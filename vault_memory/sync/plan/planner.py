"""Plans one pass: the actions that make the vault and the server the same. Pure and total.

No list of tasks is stored. Each pass derives its actions from what it observes, so a crash loses none.
Each action names its preconditions and may fail without harm to the others. When all are done,
the next plan is empty.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from vault_memory.sync.actions import Action, ForgetBase, Merge, Refetch, changes
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.plan.action_order import in_order
from vault_memory.sync.plan.directories import remove_emptied, with_parents
from vault_memory.sync.plan.name_clashes import Clashes, find_clashes, same_form
from vault_memory.sync.plan.per_path import PathPlanner
from vault_memory.sync.plan.renames import Renames, plan_renames
from vault_memory.sync.plan.sync_exclusions import Exclusions, exclude, forgotten
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import Base, BaseFile, File, Tree, View, unchanged


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
