"""Name clashes: names that differ in case or Unicode form only, and the names of copies.

Stored names are kept as they are.
"""

import unicodedata
from collections.abc import Container
from dataclasses import dataclass

from vault_memory.rules.paths.filenames import clashes
from vault_memory.sync.actions import KeepBoth, MoveLocal, MoveRemote
from vault_memory.sync.plan.sync_exclusions import LONGEST_NAME
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import BaseFile, File, Side, Tree, View, unchanged, within

MOVING = "memory move"
"""Part of the name that a file has between two renames; such a name never wins a clash"""


def beside(path: str, mark: str, used_names: Container[str]) -> str:
    """A free name next to `path` with `` (mark)`` before its ending.

    A long stem is shortened, a used name gets a number.
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    for number in range(1, 1_000_000):
        counter = f" {number}" if number > 1 else ""
        tail = f" ({mark}{counter}){dot}{ending}"
        room = LONGEST_NAME - len(tail.encode("utf-8", "surrogatepass"))
        candidate = folder + slash + _shortened(stem, room) + tail
        if candidate not in used_names:
            return candidate
    raise AssertionError("a million copies")


def _shortened(stem: str, size: int) -> str:
    """The beginning of a stem that fits into so many bytes of UTF-8."""
    # Fault (F109): a name grows by the mark. Cut inside a character, it would be no
    # text on other systems.
    cut = stem.encode("utf-8", "ignore")[: max(size, 0)]
    return cut.decode("utf-8", "ignore").rstrip()


def copy_of(
    path: str, settings: Settings, used_names: Container[str], *, was_file: bool = False
) -> str:
    """``a.md`` gives ``a (memory copy 2026-11-21 203312 laptop).md``, or ``… was a file)``."""
    why = "was a file" if was_file else settings.device
    return beside(path, f"memory copy {settings.stamp} {why}", used_names)


def moving(path: str) -> bool:
    """Whether it is the name of something between two renames."""
    return f" ({MOVING}" in path.rpartition("/")[2]


def composed(path: str) -> str:
    """The path in Unicode's form NFC."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)


# --- One name in two Unicode forms ------------------------------------------------------------


def same_form(view: View, settings: Settings) -> list[MoveLocal | MoveRemote]:
    """Rename files that one side stores in another Unicode form only (§5.5).

    A name in the base wins. A new name is composed where the server stores composed names.
    """
    base_names = {composed(path): path for path in view.base if not path.isascii()}
    moves: list[MoveLocal | MoveRemote] = []
    for path in view.paths:
        if path.isascii() or path in view.base:
            continue
        base_name = base_names.get(composed(path), "")
        move = _rename_to_base_form(path, base_name, view)
        if move is None and not base_name:
            move = _rename_to_composed_form(path, view, settings)
        if move is not None:
            moves.append(move)
    return moves


def _rename_to_base_form(path: str, base_name: str, view: View) -> MoveLocal | MoveRemote | None:
    match view.local.nodes.get(path), view.remote.nodes.get(path):
        case File() as local, None if _is_base_file(base_name, view, view.local, local):
            return MoveLocal(path=path, to=base_name, hash=local.hash, row="5.5")
        case None, File() as remote if _is_base_file(base_name, view, view.remote, remote):
            return MoveRemote(path=path, to=base_name, tag=remote.tag, row="5.5")
        case _:
            return None


def _rename_to_composed_form(path: str, view: View, settings: Settings) -> MoveLocal | None:
    if not settings.remote_names.folds_unicode:
        return None
    local, name = view.local.nodes.get(path), composed(path)
    if not isinstance(local, File) or path in view.remote.nodes:
        return None
    if name == path or name in view.local.nodes:
        return None
    return MoveLocal(path=path, to=name, hash=local.hash, row="5.5")


def _is_base_file(base_name: str, view: View, side: Tree, node: File) -> bool:
    """Whether the file is the one of the base, which its side has under no other name."""
    was = view.base.get(base_name)
    if not isinstance(was, BaseFile) or base_name in side.nodes:
        return False
    return unchanged(was, node)


# --- Two names that one side takes for one ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clashes:
    """What becomes of names that one side cannot hold beside each other."""

    renames: tuple[KeepBoth, ...] = ()
    """files that get another name"""
    waiting: frozenset[str] = frozenset()
    """paths that wait until another one is gone"""


def find_clashes(view: View, settings: Settings, used_names: set[str]) -> Clashes:
    """Find names that one side cannot hold beside each other.

    The name in the base stays; without one, the name that the weaker side has.
    """
    weaker = _weaker_side(view, settings)
    if weaker is None:
        return Clashes()
    renames: list[KeepBoth] = []
    waiting: set[str] = set()
    for group in clashes(view.paths):
        for path in _losers(group, view, weaker, waiting):
            waiting.update(below for below in view.paths if within(below, path))
            renames.extend(_rename(path, group, view, settings, used_names))
    return Clashes(tuple(renames), frozenset(waiting))


def _weaker_side(view: View, settings: Settings) -> tuple[Tree, Names] | None:
    """The side that cannot hold all names; the server where neither can."""
    for tree, names in ((view.remote, settings.remote_names), (view.local, settings.local_names)):
        if names.folds_case or names.folds_unicode:
            return tree, names
    return None


def _losers(
    group: tuple[str, ...], view: View, weaker: tuple[Tree, Names], waiting: set[str]
) -> list[str]:
    """The names of a group that have to change. Adds names to `waiting` that wait for a deletion."""
    tree, names = weaker
    clashing = [
        path
        for path in group
        if any(_is_same_name(path, rival, names) for rival in group if rival != path)
    ]
    if not clashing:
        return []
    # Fault (F108): a person renames `tee.md` to `Tee.md`. The new name must not become
    # a copy while the old one is still on the other side.
    if any(_is_leaving(path, view) for path in clashing):
        waiting.update(path for path in clashing if path not in view.base)
        return []
    winner = min(clashing, key=lambda path: (path not in view.base, path not in tree.nodes, path))
    return [path for path in clashing if path != winner and path not in view.base]


def _is_leaving(path: str, view: View) -> bool:
    """Whether both sides had the path, and one of them has deleted it."""
    is_on_both = path in view.local.nodes and path in view.remote.nodes
    return path in view.base and not is_on_both


def _is_same_name(first: str, second: str, names: Names) -> bool:
    """Whether a side with such names takes the two for one."""
    if composed(first) == composed(second):
        return names.folds_unicode
    if not names.folds_case:
        return False
    if names.folds_unicode:
        return True
    return composed(first).casefold() != composed(second) or first != second


def _rename(
    path: str, group: tuple[str, ...], view: View, settings: Settings, used_names: set[str]
) -> list[KeepBoth]:
    """Rename a file on each side that has it."""
    form = composed(path)
    rivals = (rival for rival in group if rival != path)
    unicode_only = any(composed(rival) == form for rival in rivals)
    mark = "unicode clash" if unicode_only else "case clash"
    copy = beside(path, f"{mark} {settings.stamp} {settings.device}", used_names)
    note = f"`{path}` differs from another name only in case or Unicode form; it is now `{copy}`"
    renames: list[KeepBoth] = []
    sides: tuple[Side, ...] = ("local", "remote")
    for side in sides:
        node = view.side(side).nodes.get(path)
        if not isinstance(node, File):
            continue
        used_names.add(copy)
        renames.append(
            KeepBoth(
                path=path, side=side, copy=copy, hash=node.hash, tag=node.tag, row="5.5", note=note
            )
        )
    return renames
