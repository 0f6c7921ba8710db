"""Removes from the trees what takes no part in a pass: excluded, oversized, unreadable and misnamed paths.

None of that ever counts as a deletion (rows 18 to 20 and 36).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from vault_memory.rules.paths import globs
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
"""In bytes of UTF-8: the limit of operating systems"""
LONGEST_NAME = 255
"""In bytes of UTF-8"""
PASSIVE = "only on the way"
"""The reason for a directory that is not included, and may hold files that are"""


@dataclass(slots=True)
class Exclusions:
    """Why paths, and everything below them, take no part in this pass."""

    unknown: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    """those of `skipped` whose record is forgotten: changes in the meantime prove nothing"""

    def roots(self) -> frozenset[str]:
        """All paths that are named here."""
        return frozenset(self.unknown.keys() | self.skipped.keys() | self.links.keys())


# --- Patterns and names -----------------------------------------------------------------------


@lru_cache(maxsize=256)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    return globs.file_matcher(patterns)


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern names the path or a directory above it; one without ``/`` fits at any depth."""
    patterns = tuple(patterns)
    return bool(patterns) and _matcher(patterns)(path)


def junk(name: str) -> bool:
    """Whether it is a temporary, lock or hidden file of another program. Conflict copies are not: they travel."""
    return ignored(name) and conflict_copy(name) is None


def unfit(path: str, names: Names) -> str | None:
    """The reason why one side cannot hold this path; None when it can."""
    name = path.rpartition("/")[2]
    if names.strict:
        return awkward(name)
    if not name or name in (".", ".."):
        return "it is no name for a file"
    reason = unreadable(name)
    if not reason and names.refuses:
        reason = names.refuses(path)
    if reason:
        return reason
    if len(name.encode()) > LONGEST_NAME:
        return f"the name is longer than {LONGEST_NAME} bytes"
    return None


# --- What is excluded -------------------------------------------------------------------------


def exclude(base: Base, local: Tree, remote: Tree, settings: Settings) -> tuple[View, Exclusions]:
    """Return the trees without what is excluded, and the reasons."""
    exclusions = Exclusions()
    passive: set[str] = set()
    for path in sorted({*base, *local.nodes, *remote.nodes}):
        local_node, remote_node = local.nodes.get(path), remote.nodes.get(path)
        reason = excluded(path, local_node, remote_node, settings)
        if reason == PASSIVE:
            passive.add(path)
        elif reason:
            exclusions.skipped[path] = reason
            exclusions.excluded.add(path)
        elif max(_size(local_node), _size(remote_node)) > settings.largest:
            exclusions.skipped[path] = f"it is larger than {settings.largest} bytes"
        elif isinstance(local_node, Link):
            exclusions.links[path] = "a link is never followed"
        elif isinstance(local_node, Special):
            exclusions.links[path] = "it is not a regular file"
        else:
            unclear = _why_unclear(path, base, local, remote, settings)
            if unclear:
                exclusions.unknown[path] = unclear
    view = _without(exclusions.roots(), base, local, remote, frozenset(passive))
    return view, exclusions


def excluded(path: str, local: Node | None, remote: Node | None, settings: Settings) -> str:
    """The reason why a path is left out by its kind or by the configuration, or nothing."""
    if junk(path.rpartition("/")[2]) and path:
        return "files of this kind are never synced"
    if matches(path, settings.exclude):
        return "it is excluded"
    if settings.include and path and not matches(path, settings.include):
        is_folder = isinstance(local, Dir) or isinstance(remote, Dir)
        return PASSIVE if is_folder else "it is not included"
    return ""


def _size(node: Node | None) -> int:
    return node.size if isinstance(node, File) else 0


def _why_unclear(path: str, base: Base, local: Tree, remote: Tree, settings: Settings) -> str:
    """The reason why a path cannot be decided in this pass, or nothing."""
    if path in settings.fights:
        # Fault (D80): two programs overwrite each other's text without end (B6).
        return "two programs keep rewriting it in turns"
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return "its path is too long"
    for tree, opposite, names in (
        (local, remote, settings.local_names),
        (remote, local, settings.remote_names),
    ):
        reason = ""
        node = tree.nodes.get(path)
        if node is not None:
            reason = _why_node_is_unclear(node, needs_tag=tree is remote)
        elif path in base:
            reason = _why_absence_is_unclear(path, tree, settings)
        elif path in opposite.nodes:
            reason = unfit(path, names) or ""
        if reason:
            return reason
    return ""


def _why_node_is_unclear(node: Node, *, needs_tag: bool) -> str:
    match node:
        case Unknown(reason):
            return reason
        case Link() | Special():
            return "it is neither a file nor a directory on the server"
        case File() if needs_tag and not node.tag:
            # Fault (E88): without a tag no overwrite can be made conditional.
            return "the server gives no ETag for it"
        case _:
            return ""


def _why_absence_is_unclear(path: str, tree: Tree, settings: Settings) -> str:
    if path in settings.must_exist and path not in tree.long_gone:
        # Fault (C23): an editor removes a note for a moment while it saves (B4).
        return "it must exist, and is missing: not believed before a minute has passed"
    return ""


def _without(
    roots: frozenset[str], base: Base, local: Tree, remote: Tree, passive: frozenset[str]
) -> View:
    """The trees without the paths of `roots` and everything below them."""

    def is_included(path: str) -> bool:
        if not roots:
            return True
        return path not in roots and roots.isdisjoint(("", *ancestors(path)))

    base = {path: was for path, was in base.items() if is_included(path)}
    local_nodes = {path: node for path, node in local.nodes.items() if is_included(path)}
    remote_nodes = {path: node for path, node in remote.nodes.items() if is_included(path)}
    paths = {*base, *local_nodes, *remote_nodes}
    return View(
        base=base,
        local=Tree(local_nodes, local.confirmed, local.long_gone),
        remote=Tree(remote_nodes, remote.confirmed, remote.long_gone),
        passive=passive,
        paths=tuple(sorted(paths, key=lambda path: path.split("/"))),
    )


def forgotten(base: Base, exclusions: Exclusions) -> list[str]:
    """The paths of the base that are excluded now, or are below an excluded directory."""
    excluded_paths = exclusions.excluded
    if not excluded_paths:
        return []
    return sorted(path for path in base if not excluded_paths.isdisjoint((path, *ancestors(path))))
