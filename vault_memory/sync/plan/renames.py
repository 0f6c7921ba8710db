"""Renames: one file under a new name is moved, not deleted and sent again (§5.4).

Pairs are found by what stays through a rename. Moves of one side are brought to the other in an order in which none
stands in another's way; circles go through a name in between. What cannot be moved is left to the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vault_memory.sync.actions import Move, MoveBase, MoveLocal, MoveRemote, Side
from vault_memory.sync.plan.name_clashes import MOVING, beside, moving
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import (
    BaseDir,
    BaseFile,
    Dir,
    File,
    Node,
    Tree,
    View,
    ancestors,
    depth,
    unchanged,
    within,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """What was `src` is `dst` on one side now."""

    src: str
    dst: str


@dataclass(frozen=True, slots=True)
class Renames:
    """Moves in their order, and the paths that nothing else may touch in this pass."""

    moves: tuple[Move | MoveBase, ...] = ()
    busy: frozenset[str] = frozenset()
    """with all below them"""

    def holds(self, path: str) -> bool:
        """Whether a move is under way at the path, above it or, for a directory, below it."""
        return bool(self.busy) and (
            path in self.busy or any(step in self.busy for step in ancestors(path))
        )


def plan_renames(view: View, settings: Settings, taken: set[str]) -> Renames:
    """All moves of this pass. The server's go first; those that overlap with them come in the next one."""
    here = {} if settings.mode == "pull" else pairs(view, "local", settings)
    there = {} if settings.mode == "push" else pairs(view, "remote", settings)
    if not here and not there:
        return Renames()
    if undone := _circle(here, there, view):
        return Renames((undone,), frozenset({undone.path, undone.to}))
    every = {*here.items(), *there.items()}
    both, here, there = _met(here, there, view, taken)
    to_local = _brought(there, "local", view, settings, taken)
    arriving = {move.to for move in to_local}
    both = [
        move for move in both if not any(within(move.to, into) for into in arriving)
    ]
    met = {path for move in both for path in _ends(move)}
    blocked = met | {path for move in to_local for path in (move.path, move.to)}
    free = {src: dst for src, dst in here.items() if not _overlaps((src, dst), blocked)}
    to_remote = _brought(free, "remote", view, settings, taken)
    moves = (*both, *to_local, *to_remote)
    ends = {path for move in moves for path in _ends(move)}
    late = {
        path for src, dst in every if _overlaps((src, dst), ends) for path in (src, dst)
    }
    return Renames(moves, frozenset(ends | late) if moves else frozenset())


def _ends(move: Move | MoveBase) -> set[str]:
    record = set() if isinstance(move, MoveBase) else {move.record} - {""}
    return {move.path, move.to} | record


def pairs(view: View, side: Side, settings: Settings) -> dict[str, str]:
    """What one side has renamed, the old name to the new."""
    tree = view.local if side == "local" else view.remote
    now: dict[str, str | None] = {}
    for path, node in tree.nodes.items():
        if isinstance(node, File | Dir) and node.id:
            now[node.id] = None if node.id in now else path
    found: dict[str, str] = {}
    for src, was in view.base.items():
        id = was.local_id if side == "local" else was.remote_id
        dst = now.get(id) if id else None
        if (
            dst
            and dst != src
            and _left(was, tree.nodes.get(src))
            and _is(was, tree.nodes[dst], (src, dst), side, settings)
        ):
            found[src] = dst
    return _topmost(_onto_nothing(found, view))


def _left(was: BaseFile | BaseDir, node: Node | None) -> bool:
    """Whether the old place is empty, or has something else."""
    if isinstance(was, BaseDir):
        return not isinstance(node, Dir)
    return not (isinstance(node, File) and unchanged(was, node))


def _is(
    was: BaseFile | BaseDir,
    node: Node,
    pair: tuple[str, str],
    side: Side,
    settings: Settings,
) -> bool:
    """Whether it is the thing that left. An inode alone proves little, since they are used again."""
    if settings.must_exist.intersection(pair):
        return False
    if isinstance(was, BaseDir) or not isinstance(node, File):
        return isinstance(was, BaseDir) and isinstance(node, Dir)
    return side == "remote" or node.hash == was.hash or pair in settings.alike


def _onto_nothing(found: dict[str, str], view: View) -> dict[str, str]:
    """Without what replaced another note: that one was changed, not renamed."""
    while wrong := [
        src for src, dst in found.items() if dst in view.base and dst not in found
    ]:
        for src in wrong:
            del found[src]
    return found


def _topmost(found: dict[str, str]) -> dict[str, str]:
    """Without what went along with its directory; what was renamed in it as well comes in the next pass."""
    return {
        src: dst
        for src, dst in found.items()
        if not any(within(dst, found.get(step, "/")) for step in ancestors(src))
    }


def _circle(
    here: Mapping[str, str], there: Mapping[str, str], view: View
) -> MoveLocal | None:
    """A went into B here and B into A there: the server's move stands, ours is taken back first."""
    for src, dst in here.items():
        for other, into in there.items():
            if (
                within(dst, other)
                and within(into, src)
                and src != other
                and dst != into
            ):
                node = view.local.nodes[dst]
                hash = node.hash if isinstance(node, File) else None
                note = f"`{src}` and `{other}` were each moved into the other; it stays as the server has it"
                if src not in view.local.nodes:
                    return MoveLocal(path=dst, to=src, hash=hash, row="5.4", note=note)
    return None


def _met(
    here: dict[str, str], there: dict[str, str], view: View, taken: set[str]
) -> tuple[list[Move | MoveBase], dict[str, str], dict[str, str]]:
    """Renamed on both sides: alike, or the server's name wins. Returns what is left of each side."""
    found: list[Move | MoveBase] = []
    for src in sorted(here.keys() & there.keys()):
        mine, theirs = here[src], there[src]
        if mine == theirs:
            found.append(MoveBase(path=src, to=mine, row="5.4"))
            continue
        note = f"`{src}` was renamed twice, to `{mine}` here and to `{theirs}` on the server"
        if moving(theirs):  # our own move, cut short before it was recorded
            found.append(MoveBase(path=src, to=theirs, row="5.4"))
        elif _placeable(theirs, view.local):
            move = _as_move(
                Pair(mine, theirs), "local", view.local.nodes[mine], view.base[src]
            )
            if within(theirs, mine):
                found.append(replace(move, to=beside(mine, MOVING, taken), record=""))
            else:
                found.append(replace(move, record=src, note=note))
    settled = here.keys() & there.keys()
    return (
        found,
        {src: dst for src, dst in here.items() if src not in settled},
        {src: dst for src, dst in there.items() if src not in settled},
    )


def _placeable(path: str, tree: Tree) -> bool:
    """Whether something can be moved to this name: free, with no file in the way above it."""
    return path not in tree.nodes and all(
        isinstance(tree.nodes.get(up, Dir()), Dir) for up in ancestors(path)
    )


def _overlaps(ends: Iterable[str], taken: Iterable[str]) -> bool:
    return any(
        within(end, other) or within(other, end) for other in taken for end in ends
    )


def _brought(
    renamed: dict[str, str], to: Side, view: View, settings: Settings, taken: set[str]
) -> list[Move]:
    """The moves that one side has to make, in order."""
    tree, other = (
        (view.local, view.remote) if to == "local" else (view.remote, view.local)
    )
    names = settings.local_names if to == "local" else settings.remote_names
    able = {
        src: dst
        for src, dst in renamed.items()
        if _present(view.base[src], tree.nodes.get(src))
    }
    while stuck := [
        src for src, dst in able.items() if not _room(src, dst, able, tree, other)
    ]:
        for src in stuck:
            del able[src]
    steps = _ordered(
        [Pair(src, dst) for src, dst in sorted(able.items())],
        taken,
        fold=names.folds_case,
    )
    came_from: dict[str, str] = {}
    moves: list[Move] = []
    for step in steps:
        first = came_from.get(step.src, step.src)
        came_from[step.dst] = first
        moves.append(_as_move(step, to, tree.nodes.get(first), view.base.get(first)))
    return moves


def _present(was: BaseFile | BaseDir, node: Node | None) -> bool:
    return (
        isinstance(node, File) if isinstance(was, BaseFile) else isinstance(node, Dir)
    )


def _room(src: str, dst: str, able: Mapping[str, str], tree: Tree, other: Tree) -> bool:
    """Whether the name will be free, below directories that are there, come along, or can be made."""
    if dst in tree.nodes and dst not in able:
        return False
    if within(dst, src):
        return False
    arrivals = {into: came for came, into in able.items()}
    for up in ancestors(dst):
        if came := arrivals.get(up):
            comes_along = came + dst[len(up) :]
            return comes_along not in tree.nodes or comes_along in able
        node = tree.nodes.get(up)
        if (node is not None and not isinstance(node, Dir)) or up in able:
            return False
        if node is None and not isinstance(other.nodes.get(up), Dir):
            return False
    return True


def _ordered(waiting: list[Pair], taken: set[str], *, fold: bool) -> list[Pair]:
    """What has to leave goes before what comes in its place; a circle is opened with a name in between."""
    done: list[Pair] = []
    while waiting:
        ready = next(
            (
                pair
                for pair in waiting
                if not any(_before(each, pair) for each in waiting if each != pair)
            ),
            None,
        )
        pair = ready or max(waiting, key=lambda each: depth(each.src))
        waiting.remove(pair)
        if ready and not (fold and pair.src.casefold() == pair.dst.casefold()):
            done.append(pair)
            continue
        settled = not any(within(pair.dst, each.dst) for each in waiting)
        between = beside(pair.dst if settled else pair.src, MOVING, taken)
        taken.add(between)
        done.append(Pair(pair.src, between))
        waiting.append(Pair(between, pair.dst))
    return done


def _before(first: Pair, then: Pair) -> bool:
    """Whether one move has to be made before the other can be."""
    return (
        within(then.dst, first.src)
        or (within(then.dst, first.dst) and then.dst != first.dst)
        or (within(first.src, then.src) and first.src != then.src)
    )


def _as_move(
    step: Pair, to: Side, node: Node | None, was: BaseFile | BaseDir | None
) -> Move:
    file = node if isinstance(node, File) else None
    if to == "local":
        return MoveLocal(
            path=step.src,
            to=step.dst,
            hash=file.hash if file else None,
            record=step.src,
            row="5.4",
        )
    tag = file.tag if file and not moving(step.src) else ""
    unedited = file is None or (isinstance(was, BaseFile) and unchanged(was, file))
    return MoveRemote(
        path=step.src,
        to=step.dst,
        tag=tag,
        record=step.src,
        unedited=unedited,
        row="5.4",
    )
