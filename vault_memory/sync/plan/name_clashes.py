"""Names that clash, or have another Unicode form, and the names of copies. Stored names are kept as they were found."""

import unicodedata
from collections.abc import Container

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import clashes
from vault_memory.sync.actions import KeepBoth, MoveLocal, MoveRemote, Side
from vault_memory.sync.plan.sync_exclusions import LONGEST_NAME
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import BaseFile, File, Tree, View, unchanged, within

MOVING = "memory move"
"""Stands in the name a file has between two renames; such a name never wins against another"""


def beside(path: str, mark: str, taken: Container[str]) -> str:
    """A free name next to `path` with `` (mark)`` before its ending; a long stem is cut, a taken name numbered."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    for number in range(1, 1_000_000):
        tail = f" ({mark}{f' {number}' if number > 1 else ''}){dot}{ending}"
        room = LONGEST_NAME - len(tail.encode("utf-8", "surrogatepass"))
        wanted = (
            folder
            + slash
            + stem.encode("utf-8", "ignore")[: max(room, 0)]
            .decode("utf-8", "ignore")
            .rstrip()
            + tail
        )
        if wanted not in taken:
            return wanted
    raise AssertionError("a million copies")


def copy_of(
    path: str, settings: Settings, taken: Container[str], *, was_file: bool = False
) -> str:
    """``a.md`` gives ``a (memory copy 2026-11-21 203312 laptop).md``, or ``… was a file)``."""
    why = "was a file" if was_file else settings.device
    return beside(path, f"memory copy {settings.stamp} {why}", taken)


def moving(path: str) -> bool:
    """Whether it is the name of something between two renames."""
    return f" ({MOVING}" in path.rpartition("/")[2]


def composed(path: str) -> str:
    """In Unicode's form NFC."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def same_form(view: View, settings: Settings) -> list[MoveLocal | MoveRemote]:
    """Renames of files that one machine or server has in another Unicode form only (§5.5).

    A name in the base wins; a new one is composed where the server keeps composed names.
    """
    found: list[MoveLocal | MoveRemote] = []
    bases = {composed(path): path for path in view.base if not path.isascii()}
    for path in view.paths:
        if path.isascii() or path in view.base:
            continue
        here, there = view.local.nodes.get(path), view.remote.nodes.get(path)
        known = bases.get(composed(path), "")
        if isinstance(here, File) and there is None:
            if _stands_for(known, view, view.local, here):
                found.append(MoveLocal(path=path, to=known, hash=here.hash, row="5.5"))
            elif (
                not known
                and settings.remote_names.folds_unicode
                and _free(composed(path), path, view.local)
            ):
                found.append(
                    MoveLocal(path=path, to=composed(path), hash=here.hash, row="5.5")
                )
        elif (
            isinstance(there, File)
            and here is None
            and _stands_for(known, view, view.remote, there)
        ):
            found.append(MoveRemote(path=path, to=known, tag=there.tag, row="5.5"))
    return found


def _stands_for(known: str, view: View, side: Tree, node: File) -> bool:
    """Whether the file is the one of the base, which its side has under no other name."""
    was = view.base.get(known)
    return (
        isinstance(was, BaseFile) and known not in side.nodes and unchanged(was, node)
    )


def _free(wanted: str, path: str, side: Tree) -> bool:
    return wanted != path and wanted not in side.nodes


def clashing(
    view: View, settings: Settings, taken: set[str]
) -> tuple[list[KeepBoth], set[str]]:
    """Files that one side cannot hold beside each other: who goes aside, and who waits for another to be gone.

    The one in the base keeps the name, else the one that the weaker side has.
    """
    weak = [
        (tree, names)
        for tree, names in (
            (view.remote, settings.remote_names),
            (view.local, settings.local_names),
        )
        if names.folds_case or names.folds_unicode
    ]
    aside: list[KeepBoth] = []
    waiting: set[str] = set()
    if not weak:
        return aside, waiting
    for group in clashes(view.paths):
        for path in _losers(group, view, weak, waiting):
            waiting.update(each for each in view.paths if within(each, path))
            aside.extend(_aside(path, group, view, settings, taken))
    return aside, waiting


def _losers(
    group: tuple[str, ...],
    view: View,
    weak: list[tuple[Tree, Names]],
    waiting: set[str],
) -> list[str]:
    tree, names = weak[0]
    meant = [
        path
        for path in group
        if any(_folds(path, other, names) for other in group if other != path)
    ]
    if not meant:
        return []
    leaving = [
        path
        for path in meant
        if path in view.base
        and (path not in view.local.nodes or path not in view.remote.nodes)
    ]
    if leaving:
        waiting.update(path for path in meant if path not in view.base)
        return []
    keeps = min(
        meant, key=lambda path: (path not in view.base, path not in tree.nodes, path)
    )
    return [path for path in meant if path != keeps and path not in view.base]


def _folds(one: str, other: str, names: Names) -> bool:
    """Whether a side with such names takes the two for one."""
    if composed(one) == composed(other):
        return names.folds_unicode
    return names.folds_case and (
        names.folds_unicode
        or composed(one).casefold() != composed(other)
        or one != other
    )


def _aside(
    path: str, group: tuple[str, ...], view: View, settings: Settings, taken: set[str]
) -> list[KeepBoth]:
    unicode_only = any(
        other != path and composed(other) == composed(path) for other in group
    )
    mark = "unicode clash" if unicode_only else "case clash"
    found: list[KeepBoth] = []
    copy = beside(path, f"{mark} {settings.stamp} {settings.device}", taken)
    sides: tuple[tuple[Side, Tree], ...] = (
        ("local", view.local),
        ("remote", view.remote),
    )
    for side, tree in sides:
        node = tree.nodes.get(path)
        if isinstance(node, File):
            taken.add(copy)
            note = f"`{path}` differs from another name in its letters' case or form only; it is now `{copy}`"
            found.append(
                KeepBoth(
                    path=path,
                    side=side,
                    copy=copy,
                    hash=node.hash,
                    tag=node.tag,
                    row="5.5",
                    note=note,
                )
            )
    return found


def is_copy(path: str) -> bool:
    """Whether some sync program, or we, named it a copy of another."""
    return conflict_copy(path.rpartition("/")[2]) is not None
