"""The three trees that a plan compares: the vault, the server, and the base (what both last had).

A path that a tree lacks counts as absent. Therefore a tree has `Unknown` at the top of everything that
could not be read.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

Side = Literal["local", "remote"]


@dataclass(frozen=True, slots=True)
class File:
    """A regular file."""

    hash: str | None
    """of its bytes; None on the server until the bytes behind this tag were fetched"""
    tag: str = ""
    """the ETag; empty on disk"""
    id: str = ""
    """what survives a rename: the inode on disk, the file id on the server; may be empty"""
    size: int = 0
    """in bytes"""


@dataclass(frozen=True, slots=True)
class Dir:
    """A directory."""

    id: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link: never followed, never replaced."""


@dataclass(frozen=True, slots=True)
class Special:
    """A pipe, a socket, a device."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A path that could not be read, with everything below it."""

    reason: str


Node = File | Dir | Link | Special | Unknown


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A file as it was when both sides had the same bytes."""

    hash: str
    tag: str = ""
    local_id: str = ""
    remote_id: str = ""


@dataclass(frozen=True, slots=True)
class BaseDir:
    """A directory that was on both sides."""

    local_id: str = ""
    remote_id: str = ""


BaseNode = BaseFile | BaseDir


def hash_of(node: BaseNode | None) -> str:
    """The hash of a file of the base; empty where there was no file."""
    return node.hash if isinstance(node, BaseFile) else ""


Base = Mapping[str, BaseNode]


@dataclass(frozen=True, slots=True)
class Tree:
    """One side as it was seen in this pass."""

    nodes: Mapping[str, Node]
    """by relative path with ``/``; ``""`` only when the whole tree is unknown"""
    confirmed: frozenset[str] = frozenset()
    """absent now and in an observation at least 3 s ago"""
    long_gone: frozenset[str] = frozenset()
    """absent in two passes at least 60 s apart; needed for notes that must exist"""

    def surely_gone(self, path: str) -> bool:
        """Whether its absence was seen twice, or a file has the name of a directory above it."""
        if path in self.confirmed:
            return True
        return any(
            above in self.confirmed or isinstance(self.nodes.get(above), File)
            for above in ancestors(path)
        )


@dataclass(frozen=True, slots=True)
class View:
    """The three trees, without what is excluded from this pass."""

    base: Mapping[str, BaseNode]
    local: Tree
    remote: Tree
    passive: frozenset[str] = frozenset()
    """directories that only lead to files that are synced"""
    paths: tuple[str, ...] = ()
    """all paths of the three trees, a directory before its contents"""

    def side(self, side: Side) -> Tree:
        """The tree of one side."""
        return self.local if side == "local" else self.remote


def ancestors(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first, without the root."""
    while (slash := path.rfind("/")) > 0:
        path = path[:slash]
        yield path


def within(path: str, top: str) -> bool:
    """Whether the path is `top` or below it."""
    return path == top or path.startswith(top + "/")


def within_any(path: str, tops: Set[str]) -> bool:
    """Whether the path is one of `tops` or below one of them."""
    return path in tops or not tops.isdisjoint(ancestors(path))


def depth(path: str) -> int:
    """The number of directories above a path."""
    return path.count("/")


def unchanged(was: BaseFile, node: File) -> bool:
    """Whether a file has the bytes of the base, judged by hash, or by tag when they were not fetched."""
    if node.hash is None:
        return node.tag == was.tag
    return node.hash == was.hash
