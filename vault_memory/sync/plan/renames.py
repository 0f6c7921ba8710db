"""Renames: a file or directory with a new name is moved, not deleted and sent again (§5.4).

Pairs of an old and a new name are found by ids that survive a rename. Moves of one side are repeated
on the other in an order in which none is in another's way; cycles go through a temporary name.
Everything that cannot be moved is left to the decision table.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from vault_memory.sync.actions import Move, MoveBase, MoveLocal, MoveRemote
from vault_memory.sync.plan.name_clashes import MOVING, beside, moving
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import (
    Base,
    BaseDir,
    BaseFile,
    BaseNode,
    Dir,
    File,
    Node,
    Side,
    Tree,
    View,
    ancestors,
    depth,
    unchanged,
    within,
    within_any,
)

Renamed = dict[str, str]
"""Old name → new name, on one side"""


# --- Rename pairs ---

# Which old and new names belong together: found by ids that survive a rename.


@dataclass(frozen=True, slots=True)
class Pair:
    """An old name and the new one."""

    src: str
    dst: str


def pairs(view: View, side: Side, settings: Settings) -> Renamed:
    """Find what one side has renamed."""
    tree = view.side(side)
    by_id = _paths_by_id(tree)
    renamed: Renamed = {}
    for src, was in view.base.items():
        id = _id_on(side, was)
        dst = by_id.get(id) if id else None
        if not dst or dst == src or not _has_left(src, view, side):
            continue
        if _is_same_thing(Pair(src, dst), view, side, settings):
            renamed[src] = dst
    if side == "local":
        renamed |= _saved_under_new_names(renamed, view, settings)
    return _topmost(_onto_nothing(renamed, view))


def _saved_under_new_names(renamed: Renamed, view: View, settings: Settings) -> Renamed:
    """Find the notes that have another name and another inode, by their texts.

    Many programs save a new file in place of the old one. Of several notes that are alike, none counts.
    """
    # Fault: a note may be left out after its text was compared.
    known = view.local.nodes.keys() - renamed.values()
    alike = {
        (src, dst)
        for src, dst in settings.alike
        if src not in renamed and src in view.base and dst in known
    }
    olds = Counter(src for src, _ in alike)
    news = Counter(dst for _, dst in alike)
    return {
        src: dst
        for src, dst in sorted(alike)
        if olds[src] == news[dst] == 1 and _is_same_thing(Pair(src, dst), view, "local", settings)
    }


def _paths_by_id(tree: Tree) -> dict[str, str | None]:
    """The path of each id; None for an id that several paths have."""
    paths: dict[str, str | None] = {}
    for path, node in tree.nodes.items():
        if isinstance(node, File | Dir) and node.id:
            # Fault: hard links share an inode. Which of the names was renamed is
            # unknown, so none counts.
            paths[node.id] = None if node.id in paths else path
    return paths


def _has_left(src: str, view: View, side: Side) -> bool:
    """Whether the old name is free, or has something else."""
    was, node = view.base[src], view.side(side).nodes.get(src)
    if isinstance(was, BaseFile):
        return not (isinstance(node, File) and unchanged(was, node))
    if not isinstance(node, Dir):
        return True
    # Two folders have changed places, or a new one has the old name.
    return node.id != _id_on(side, was) and not any(
        _is_in_place(path, view, side) for path in files_below(src, view.base)
    )


def _is_in_place(path: str, view: View, side: Side) -> bool:
    """Whether a file of the base is still under its name, with its bytes."""
    was, node = view.base[path], view.side(side).nodes.get(path)
    return isinstance(was, BaseFile) and isinstance(node, File) and unchanged(was, node)


def _id_on(side: Side, was: BaseNode) -> str:
    return was.local_id if side == "local" else was.remote_id


def files_below(top: str, base: Base) -> Iterator[str]:
    """Yield the files of the base below a directory."""
    for path, was in base.items():
        if isinstance(was, BaseFile) and path.startswith(top + "/"):
            yield path


def _is_same_thing(pair: Pair, view: View, side: Side, settings: Settings) -> bool:
    """Whether what has the new name is what left the old one."""
    was, node = view.base[pair.src], view.side(side).nodes[pair.dst]
    # Fault: a move would take away a note that the bot needs at this path, such as
    # USER.md.
    if any(within(path, pair.src) or within(path, pair.dst) for path in settings.must_exist):
        return False
    match was, node:
        case (BaseFile(), File()) | (BaseDir(), Dir()) if side == "remote":
            return True
        # Fault: a file system reuses inodes. An inode alone does not prove a rename.
        case BaseFile(), File():
            return node.hash == was.hash or (pair.src, pair.dst) in settings.alike
        case BaseDir(), Dir():
            return settings.has_folders and _has_brought_a_file(pair, view)
        case _:
            return False


def _has_brought_a_file(pair: Pair, view: View) -> bool:
    """Whether a directory has a file of the one that left, by its inode or its bytes."""
    # Fault: a new directory gets the inode of a deleted one. Moved, it would take over
    # the shares and tags of the deleted one.
    for path in files_below(pair.src, view.base):
        was = view.base[path]
        node = view.local.nodes.get(pair.dst + path.removeprefix(pair.src))
        if not isinstance(was, BaseFile) or not isinstance(node, File):
            continue
        if node.id == was.local_id or node.hash == was.hash:
            return True
    return False


def _onto_nothing(renamed: Renamed, view: View) -> Renamed:
    """Drop pairs whose new name was another note: that note was changed, not renamed."""
    while wrong := [src for src, dst in renamed.items() if dst in view.base and dst not in renamed]:
        for src in wrong:
            del renamed[src]
    return renamed


def _topmost(renamed: Renamed) -> Renamed:
    """Drop pairs that moved along with their directory.

    What was renamed inside a moved directory comes in the next pass.
    """
    return {
        src: dst
        for src, dst in renamed.items()
        if not any(within(dst, renamed.get(top, "/")) for top in ancestors(src))
    }


# --- The renames of a pass ---


@dataclass(frozen=True, slots=True)
class Renames:
    """Moves in their order, and the paths that nothing else may touch in this pass."""

    moves: tuple[Move | MoveBase, ...] = ()
    busy: frozenset[str] = frozenset()
    """with everything below them"""

    def holds(self, path: str) -> bool:
        """Whether a move concerns the path or a directory above it."""
        return within_any(path, self.busy)


def plan_renames(view: View, settings: Settings, used_names: set[str]) -> Renames:
    """Plan all moves of this pass.

    The server's moves come first. Local moves that overlap with them come in the next pass.
    """
    local = {} if settings.mode == "pull" else pairs(view, "local", settings)
    remote = {} if settings.mode == "push" else pairs(view, "remote", settings)
    if not local and not remote:
        return Renames()
    undo = _undo_of_mutual_move(local, remote, view)
    if undo is not None:
        return Renames((undo,), frozenset({undo.path, undo.to}))
    planner = _MovePlanner(view, settings, used_names)
    moves = planner.plan_both(local, remote)
    if not moves:
        return Renames()
    ends = _all_ends(moves)
    renamed = {*local.items(), *remote.items()}
    late = {path for pair in renamed if _overlaps(pair, ends) for path in pair}
    return Renames(moves, frozenset(ends | late))


def _not_below(moves: list[Move | MoveBase], arrivals: Collection[str]) -> list[Move | MoveBase]:
    """Drop the moves that end in a directory that another move brings."""
    return [move for move in moves if not any(within(move.to, arrival) for arrival in arrivals)]


def _clear_of(blocked: Collection[str], renamed: Renamed) -> Renamed:
    """What was renamed without touching a blocked path."""
    return {src: dst for src, dst in renamed.items() if not _overlaps((src, dst), blocked)}


def _without(renamed: Renamed, opposite: Renamed) -> Renamed:
    """What only this side has renamed."""
    return {src: dst for src, dst in renamed.items() if src not in opposite}


def _all_ends(moves: Iterable[Move | MoveBase]) -> set[str]:
    """All paths that moves concern."""
    ends: set[str] = set()
    for move in moves:
        ends |= {move.path, move.to}
        if not isinstance(move, MoveBase) and move.record:
            ends.add(move.record)
    return ends


# --- Renames of both sides --------------------------------------------------------------------


def _undo_of_mutual_move(local: Renamed, remote: Renamed, view: View) -> MoveLocal | None:
    """Undo a local move of A into B while the server moved B into A: the server's move stays."""
    for src, dst in local.items():
        for remote_src, remote_dst in remote.items():
            # Fault (F105): carried out on both sides, the two moves would put each
            # directory into the other, and both would be unreachable.
            is_mutual = within(dst, remote_src) and within(remote_dst, src)
            if not is_mutual or src == remote_src or dst == remote_dst:
                continue
            if src in view.local.nodes:
                continue
            node = view.local.nodes[dst]
            return MoveLocal(
                path=dst,
                to=src,
                hash=node.hash if isinstance(node, File) else None,
                row="5.4",
                note=f"`{src}` and `{remote_src}` were each moved into the other;"
                " it stays as the server has it",
            )
    return None


def _moves_of_doubles(
    local: Renamed, remote: Renamed, view: View, used_names: set[str]
) -> list[Move | MoveBase]:
    """The moves for what both sides renamed: to the same name, or the server's name wins."""
    moves: list[Move | MoveBase] = []
    for src in sorted(local.keys() & remote.keys()):
        local_name, remote_name = local[src], remote[src]
        if local_name == remote_name:
            moves.append(MoveBase(path=src, to=local_name, row="5.4"))
        elif moving(remote_name):
            # Fault (B33): a crash between a move of ours and its record.
            moves.append(MoveBase(path=src, to=remote_name, row="5.4"))
        elif _is_placeable(remote_name, view.local):
            pair = Pair(local_name, remote_name)
            node = view.local.nodes[local_name]
            move = _as_move(pair, "local", node, view.base[src])
            if within(remote_name, local_name):
                between = beside(local_name, MOVING, used_names)
                moves.append(replace(move, to=between, record=""))
            else:
                note = (
                    f"`{src}` was renamed twice, to `{local_name}` here"
                    f" and to `{remote_name}` on the server"
                )
                moves.append(replace(move, record=src, note=note))
    return moves


def _is_placeable(path: str, tree: Tree) -> bool:
    """Whether something can be moved to this name: it is free, and no file is above it."""
    if path in tree.nodes:
        return False
    return all(isinstance(tree.nodes.get(up, Dir()), Dir) for up in ancestors(path))


def _overlaps(ends: Collection[str], paths: Iterable[str]) -> bool:
    """Whether a path is below one of the ends, or the other way round."""
    return any(within(end, path) or within(path, end) for path in paths for end in ends)


# --- The moves that one side repeats ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _MovePlanner:
    """Plans the moves with which one side follows the renames of the other."""

    view: View
    settings: Settings
    used_names: set[str]

    def plan_both(self, local: Renamed, remote: Renamed) -> tuple[Move | MoveBase, ...]:
        """The moves of both sides, those of the server first."""
        doubles = _moves_of_doubles(local, remote, self.view, self.used_names)
        to_local = self.plan(_without(remote, local), "local")
        doubles = _not_below(doubles, {move.to for move in to_local})
        blocked = _all_ends(doubles)
        blocked.update(path for move in to_local for path in (move.path, move.to))
        only_local = _clear_of(blocked, _without(local, remote))
        to_remote = self.plan(only_local, "remote")
        return (*doubles, *to_local, *to_remote)

    def plan(self, renamed: Renamed, to: Side) -> list[Move]:
        """The moves that a side has to make, in order."""
        tree, settings = self.view.side(to), self.settings
        names = settings.local_names if to == "local" else settings.remote_names
        movable = self._movable(renamed, to)
        waiting = [Pair(src, dst) for src, dst in sorted(movable.items())]
        steps = _ordered(waiting, self.used_names, fold=names.folds_case)
        origins: dict[str, str] = {}
        moves: list[Move] = []
        for step in steps:
            origin = origins.get(step.src, step.src)
            origins[step.dst] = origin
            node, was = tree.nodes.get(origin), self.view.base.get(origin)
            moves.append(_as_move(step, to, node, was))
        return moves

    def _movable(self, renamed: Renamed, to: Side) -> Renamed:
        """The renames that a side can repeat."""
        tree = self.view.side(to)
        opposite = self.view.side("remote" if to == "local" else "local")
        movable = {
            src: dst
            for src, dst in renamed.items()
            if _is_same_kind(self.view.base[src], tree.nodes.get(src))
        }
        while stuck := [
            src
            for src, dst in movable.items()
            if not _has_room(Pair(src, dst), movable, tree, opposite)
        ]:
            for src in stuck:
                del movable[src]
        return movable


def _is_same_kind(was: BaseNode, node: Node | None) -> bool:
    return isinstance(node, File if isinstance(was, BaseFile) else Dir)


def _has_room(pair: Pair, movable: Mapping[str, str], tree: Tree, opposite: Tree) -> bool:
    """Whether the new name will be free, below directories that exist, move along or can be made."""
    src, dst = pair.src, pair.dst
    if (dst in tree.nodes and dst not in movable) or within(dst, src):
        return False
    origins = {arrival: origin for origin, arrival in movable.items()}
    for parent in ancestors(dst):
        origin = origins.get(parent)
        if origin:
            along = origin + dst[len(parent) :]
            return along not in tree.nodes or along in movable
        if parent in movable or not _is_possible_dir(parent, tree, opposite):
            return False
    return True


def _is_possible_dir(path: str, tree: Tree, opposite: Tree) -> bool:
    """Whether a side has this directory, or can make it since the other side has it."""
    node = tree.nodes.get(path)
    if node is None:
        node = opposite.nodes.get(path)
    return isinstance(node, Dir)


def _ordered(waiting: list[Pair], used_names: set[str], *, fold: bool) -> list[Pair]:
    """Order moves so that a name is left before it is taken; a temporary name breaks a cycle.

    `fold`: names that differ only in case are one file on that side.
    """
    ordered: list[Pair] = []
    while waiting:
        ready = _next_ready(waiting)
        pair = ready or max(waiting, key=lambda each: depth(each.src))
        waiting.remove(pair)
        # Fault (F108): a server that folds case takes both names for one file, and
        # refuses to move it onto itself.
        is_case_only = fold and pair.src.casefold() == pair.dst.casefold()
        if ready and not is_case_only:
            ordered.append(pair)
            continue
        is_placed = not any(within(pair.dst, each.dst) for each in waiting)
        between = beside(pair.dst if is_placed else pair.src, MOVING, used_names)
        used_names.add(between)
        ordered.append(Pair(pair.src, between))
        waiting.append(Pair(between, pair.dst))
    return ordered


def _next_ready(waiting: list[Pair]) -> Pair | None:
    """The first move that no other one has to precede; None in a cycle."""
    for pair in waiting:
        if not any(_precedes(each, pair) for each in waiting if each != pair):
            return pair
    return None


def _precedes(first: Pair, second: Pair) -> bool:
    """Whether one move has to be made before another one can be."""
    if within(second.dst, first.src):
        return True
    if within(second.dst, first.dst) and second.dst != first.dst:
        return True
    return within(first.src, second.src) and first.src != second.src


def _as_move(pair: Pair, to: Side, node: Node | None, was: BaseNode | None) -> Move:
    file = node if isinstance(node, File) else None
    if to == "local":
        return MoveLocal(
            path=pair.src, to=pair.dst, hash=file.hash if file else None, record=pair.src, row="5.4"
        )
    is_unedited = isinstance(was, BaseFile) and file is not None and unchanged(was, file)
    return MoveRemote(
        path=pair.src,
        to=pair.dst,
        tag=file.tag if file and not moving(pair.src) else "",
        record=pair.src,
        unedited=file is None or is_unedited,
        row="5.4",
    )
