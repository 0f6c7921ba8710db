"""The plan of one pass: what has to be done so that the vault and the server are the same again. Pure, and total.

Work is never remembered, it is found anew from what is seen: a crash can lose no task. Each action rests on what it
names, each may fail without harm to the others, and doing them all and planning again ends with nothing to do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from vault_memory.sync.actions import Action, ForgetBase, Merge, Refetch, changes
from vault_memory.sync.plan import safety_limits
from vault_memory.sync.plan.action_order import in_order
from vault_memory.sync.plan.directories import emptied, with_parents
from vault_memory.sync.plan.name_clashes import clashing, same_form
from vault_memory.sync.plan.per_path import Decider
from vault_memory.sync.plan.renames import Renames, plan_renames
from vault_memory.sync.plan.sync_exclusions import Exclusions, forgotten, look
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import Base, BaseFile, File, Tree, View, unchanged


@dataclass(frozen=True, slots=True)
class Held:
    """What would be done, and is not."""

    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the person to know, which asks for no action of ours."""

    path: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do in this pass, and what not and why."""

    actions: tuple[Action, ...] = ()
    """in an order they can be done in; `order.batches` tells which may be done at once"""
    held: tuple[Held, ...] = ()
    """by a brake or by the mode"""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """paths that the next pass decides about, and why"""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """paths that could not be seen, with all below them, and why"""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """paths that are not synced, with all below them, and why"""
    notes: tuple[Note, ...] = ()
    halted: str = ""
    """why nothing at all is done (B2)"""
    braked: str = ""
    """why no deletes are made (B1); `approve_deletes` lets them go"""
    restored: str = ""
    """why earlier texts of the server are not taken over (B9); `approve_restore` lets them come"""


def plan(
    base: Base, local: Tree, remote: Tree, settings: Settings | None = None
) -> Plan:
    """Compare the three trees, and say what makes both sides the same without losing a text."""
    settings = settings or Settings()
    view, apart = look(base, local, remote, settings)
    told = Plan(
        unknown={**apart.unknown, **apart.links},
        skipped=apart.skipped,
        notes=_notes(base, apart),
    )
    if why := safety_limits.halted(view, settings):
        return replace(told, halted=why)
    actions: list[Action] = [
        ForgetBase(path=path, row="36") for path in forgotten(base, apart)
    ]
    waiting: dict[str, str] = {}
    if safety_limits.storm(view):
        actions += _looks(view)
    else:
        decided, waiting = _decided(base, local, remote, view, apart, settings)
        actions += decided
    braked = safety_limits.too_many(base, actions, settings)
    restored = safety_limits.restored(view, settings)
    allowed, held = _allowed(actions, settings, braked, restored)
    return replace(
        told,
        actions=in_order(allowed),
        held=tuple(held),
        waiting=waiting,
        braked=braked
        if any(isinstance(each.action, safety_limits.DELETES) for each in held)
        else "",
        restored=restored,
    )


def _decided(
    base: Base,
    local: Tree,
    remote: Tree,
    view: View,
    apart: Exclusions,
    settings: Settings,
) -> tuple[list[Action], dict[str, str]]:
    """All actions that the trees call for."""
    taken = {*base, *local.nodes, *remote.nodes}
    stays = frozenset(
        path for path in apart.roots() if path in local.nodes or path in remote.nodes
    )
    decider = Decider(view, settings, taken, stays)
    forms = same_form(view, settings)
    renames = plan_renames(view, settings, taken) if not forms else Renames()
    asides, late = clashing(view, settings, taken) if not forms else ([], set[str]())
    ends = {path for move in forms for path in (move.path, move.to)}
    asides = [aside for aside in asides if not renames.holds(aside.path)]
    decider.actions += asides
    for path in view.paths:
        if not (
            path in view.passive or path in late or path in ends or renames.holds(path)
        ):
            decider.decide(path)
    decider.waiting.update(
        dict.fromkeys(
            sorted(late - {aside.path for aside in asides}),
            "its name clashes with another",
        )
    )
    busy = {*late, *ends, *renames.busy}
    moves = (*forms, *renames.moves)
    return [*with_parents(decider, moves), *emptied(decider, busy)], decider.waiting


def _looks(view: View) -> list[Action]:
    """B3: all tags moved at once, so the bytes are looked at before anything is moved."""
    return [
        Refetch(path=path, tag=node.tag, row="B3")
        for path, was in sorted(view.base.items())
        if isinstance(was, BaseFile)
        and isinstance(node := view.remote.nodes.get(path), File)
        and not unchanged(was, node)
    ]


def _allowed(
    actions: Iterable[Action], settings: Settings, braked: str, restored: str
) -> tuple[list[Action], list[Held]]:
    """Part the actions by the mode, by the brake on earlier texts and by the one on deletes."""
    allowed: list[Action] = []
    held: list[Held] = []
    for action in actions:
        if settings.mode == "pull" and isinstance(action, Merge):
            action = replace(action, upload=False)
        if settings.mode == "read-only":
            held.append(Held(action, "nothing is written in read-only mode"))
        elif settings.mode == "pull" and "remote" in changes(action):
            held.append(Held(action, "the server is only read"))
        elif settings.mode == "push" and "local" in changes(action):
            held.append(Held(action, "the vault is only read"))
        elif restored and safety_limits.is_from_backup(action, settings):
            held.append(Held(action, restored))
        elif braked and isinstance(action, safety_limits.DELETES):
            held.append(Held(action, braked))
        else:
            allowed.append(action)
    return allowed, held


def _notes(base: Base, apart: Exclusions) -> tuple[Note, ...]:
    return tuple(
        Note(path, "20", f"`{path}` was a note and is none now: {reason}")
        for path, reason in sorted(apart.links.items())
        if isinstance(base.get(path), BaseFile)
    )
