"""What a plan looks at: not what is excluded, too large, unreadable, or has a name the other side cannot hold.

None of that is ever taken for a deletion (rows 18 to 20 and 36).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import awkward, ignored, unreadable
from vault_memory.sync.settings import Names, Settings
from vault_memory.sync.trees import (
    Base,
    Dir,
    File,
    Link,
    Node,
    Special,
    Tree,
    Unknown,
    View,
    ancestors,
)

LONGEST_PATH = 4096
"""In bytes of UTF-8, which is what systems take."""
LONGEST_NAME = 255


@dataclass(slots=True)
class Exclusions:
    """Why paths, and all below them, take no part in this pass."""

    unknown: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    """of `skipped`, those whose record is to be forgotten: what happens to them meanwhile is no evidence"""

    def roots(self) -> frozenset[str]:
        """All the paths that are named here."""
        return frozenset(self.unknown.keys() | self.skipped.keys() | self.links.keys())


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    anchored = "/" in glob.rstrip("/")
    parts = re.split(r"(\*\*/?|\*|\?)", glob.strip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part) or re.escape(part) for part in parts)
    return re.compile(rf"(?s){'' if anchored else '(?:.*/)?'}{body}(?:/.*)?")


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a pattern names the path or a directory above it; one without ``/`` fits at any depth."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)


def junk(name: str) -> bool:
    """Temporaries, locks and hidden things of other programs. Conflict copies are no junk: they travel."""
    return ignored(name) and conflict_copy(name) is None


def unfit(path: str, names: Names) -> str | None:
    """Why one side cannot hold this path as it is."""
    name = path.rpartition("/")[2]
    if names.strict:
        return awkward(name)
    if not name or name in (".", ".."):
        return "it is no name for a file"
    if reason := unreadable(name):
        return reason
    if names.refuses and (reason := names.refuses(path)):
        return reason
    return (
        f"the name is longer than {LONGEST_NAME} bytes"
        if len(name.encode()) > LONGEST_NAME
        else None
    )


def look(
    base: Base, local: Tree, remote: Tree, settings: Settings
) -> tuple[View, Exclusions]:
    """The trees without what is apart, and what that is."""
    apart = Exclusions()
    passive: set[str] = set()
    for path in sorted({*base, *local.nodes, *remote.nodes}):
        here, there = local.nodes.get(path), remote.nodes.get(path)
        if reason := excluded(path, here, there, settings):
            if reason == PASSIVE:
                passive.add(path)
                continue
            apart.skipped[path] = reason
            apart.excluded.add(path)
        elif max(_size(here), _size(there)) > settings.largest:
            apart.skipped[path] = f"it is larger than {settings.largest} bytes"
        elif isinstance(here, Link | Special):
            apart.links[path] = (
                "a link is never followed"
                if isinstance(here, Link)
                else "it is no regular file"
            )
        elif reason := _untold(path, base, (local, remote), settings):
            apart.unknown[path] = reason
    return _view(base, local, remote, apart, frozenset(passive)), apart


PASSIVE = "only on the way"


def excluded(
    path: str, here: Node | None, there: Node | None, settings: Settings
) -> str:
    """Why a path is left out by its kind or by the configuration, or nothing."""
    if junk(path.rpartition("/")[2]) and path:
        return "files of this kind are never synced"
    if matches(path, settings.exclude):
        return "it is excluded"
    if settings.include and path and not matches(path, settings.include):
        return (
            PASSIVE
            if isinstance(here, Dir) or isinstance(there, Dir)
            else "it is not included"
        )
    return ""


def _size(node: Node | None) -> int:
    return node.size if isinstance(node, File) else 0


def _untold(path: str, base: Base, sides: tuple[Tree, Tree], settings: Settings) -> str:
    local, remote = sides
    if path in settings.fights:
        return "two programs keep rewriting it in turns"
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return "its path is too long"
    for tree, other, names in (
        (local, remote, settings.local_names),
        (remote, local, settings.remote_names),
    ):
        node = tree.nodes.get(path)
        if isinstance(node, Unknown):
            return node.reason
        if isinstance(node, Link | Special):
            return "it is neither a file nor a directory on the server"
        if isinstance(node, File) and tree is remote and not node.tag:
            return "the server gives no ETag for it"
        if (
            node is None
            and path not in base
            and path in other.nodes
            and (reason := unfit(path, names))
        ):
            return reason
        if (
            node is None
            and path in settings.must_exist
            and path in base
            and path not in tree.long_gone
        ):
            return (
                "it must exist, and is missing: not believed before a minute has passed"
            )
    return ""


def _view(
    base: Base, local: Tree, remote: Tree, apart: Exclusions, passive: frozenset[str]
) -> View:
    roots = apart.roots()
    dropped = {"": "" in roots}

    def kept(path: str) -> bool:
        passed = []
        while path not in dropped and path not in roots:
            passed.append(path)
            path = path.rpartition("/")[0]
        dropped.update(dict.fromkeys(passed, path in roots or dropped[path]))
        return path not in roots and not dropped[path]

    kept_base = {path: was for path, was in base.items() if kept(path)}
    kept_local = {path: node for path, node in local.nodes.items() if kept(path)}
    kept_remote = {path: node for path, node in remote.nodes.items() if kept(path)}
    return View(
        base=kept_base,
        local=Tree(kept_local, local.confirmed, local.long_gone),
        remote=Tree(kept_remote, remote.confirmed, remote.long_gone),
        passive=passive,
        paths=tuple(
            sorted(
                {*kept_base, *kept_local, *kept_remote},
                key=lambda path: path.split("/"),
            )
        ),
    )


def forgotten(base: Base, apart: Exclusions) -> list[str]:
    """Records of what is excluded now."""
    if not apart.excluded:
        return []
    return sorted(
        path
        for path, was in base.items()
        if path in apart.excluded or any(up in apart.excluded for up in ancestors(path))
    )
