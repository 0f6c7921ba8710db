"""What is known of each path: on disk, on the server, and when both were last the same.

A path that is in no tree is absent, and that takes evidence: whoever builds a tree puts `Unknown` at the top of
everything that could not be seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Side = Literal["local", "remote"]


@dataclass(frozen=True, slots=True)
class File:
    """A regular file."""

    hash: str | None
    """of its bytes; None on the server until somebody has fetched what this tag stands for"""
    tag: str = ""
    """the ETag, on the server"""
    id: str = ""
    """what stays through a rename: device and inode on disk, file id on the server; empty where there is none"""
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
    """It cannot be told what is here, nor below."""

    reason: str


Node = File | Dir | Link | Special | Unknown


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A file as it was when both sides held the same bytes."""

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
    """The hash of a file that both sides held; empty where there was no file."""
    return node.hash if isinstance(node, BaseFile) else ""


Base = Mapping[str, BaseNode]


@dataclass(frozen=True, slots=True)
class Tree:
    """One side as it was seen in this pass."""

    nodes: Mapping[str, Node]
    """by path, relative, with ``/``; ``""`` only to say that all of it is unknown"""
    confirmed: frozenset[str] = frozenset()
    """absent now and in an observation at least 3 s ago"""
    long_gone: frozenset[str] = frozenset()
    """absent in two passes at least 60 s apart; asked for the notes that must exist"""

    def surely_gone(self, path: str) -> bool:
        """Whether its absence was seen twice, or something else stands in its place."""
        return any(
            step in self.confirmed
            or (step != path and isinstance(self.nodes.get(step), File))
            for step in (path, *ancestors(path))
        )


@dataclass(frozen=True, slots=True)
class View:
    """The three trees without what is left alone in this pass."""

    base: Mapping[str, BaseNode]
    local: Tree
    remote: Tree
    passive: frozenset[str] = frozenset()
    """directories that are only on the way to files that travel"""
    paths: tuple[str, ...] = ()
    """all of them, sorted by their parts, a directory before what is in it"""

    def side(self, side: Side) -> Tree:
        """The tree of one side."""
        return self.local if side == "local" else self.remote


def ancestors(path: str) -> Iterator[str]:
    """The directories that hold it, the nearest first, without the root."""
    while (slash := path.rfind("/")) > 0:
        path = path[:slash]
        yield path


def within(path: str, top: str) -> bool:
    """Whether the path is `top` or lies below it."""
    return path == top or path.startswith(top + "/")


def depth(path: str) -> int:
    """How many directories hold it."""
    return path.count("/")


def unchanged(was: BaseFile, node: File) -> bool:
    """Whether it has the bytes of the base: by their hash, or by the tag where nobody has fetched them since."""
    return node.hash == was.hash if node.hash is not None else node.tag == was.tag
