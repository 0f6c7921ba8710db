"""Which old and new names belong together: found by ids that survive a rename."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import (
    Base,
    BaseDir,
    BaseFile,
    BaseNode,
    Dir,
    File,
    Side,
    Tree,
    View,
    ancestors,
    unchanged,
    within,
)

Renamed = dict[str, str]
"""Old name → new name, on one side"""


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
