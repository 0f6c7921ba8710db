"""What a Nextcloud account holds: files with their cached tags, folders whose tags move with what is below them.

A file's tag is made as Nextcloud's own scanner makes it: whenever the time of change in whole seconds is the one it
knows, the old tag stays, whatever the content; else the tag is md5(mtime, inode, device, size). A folder gets a new
tag with every change anywhere below it.
"""

import unicodedata
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import md5
from typing import Union

DEVICE = 2049


class Missing(Exception):
    """There is nothing at this path, or a file on the way to it."""


@dataclass(eq=False, slots=True)
class File:
    """A file: its bytes on disk, and what the server's database says of it."""

    id: int
    name: str
    parent: "Folder"
    inode: int
    raw: bytes = b""
    disk_mtime: int = 0
    size: int = -1
    mtime: int = 0
    storage_mtime: int = -1
    etag: str = ""
    checksum: str = ""
    permissions: str = "RGDNVW"
    versions: dict[int, bytes] = field(default_factory=dict)
    """Earlier contents, by the second each was written in."""
    locked_until: float = 0.0


@dataclass(eq=False, slots=True)
class Folder:
    """A folder. Its tag is new after every change below it."""

    id: int
    name: str
    parent: Union["Folder", None]
    etag: str
    mtime: int = 0
    permissions: str = "RGDNVCK"
    children: dict[str, "Node"] = field(default_factory=dict)
    unavailable: bool = False
    """Its storage does not answer."""
    locked_until: float = 0.0


Node = File | Folder


@dataclass(slots=True)
class Binned:
    """Something in the trash."""

    node: Node
    origin: str
    """Where it lay."""
    deleted: int
    """When, in whole seconds; part of its name in the trash."""

    @property
    def name(self) -> str:
        """Its name in the trash."""
        return f"{self.node.name}.d{self.deleted}"


@dataclass(frozen=True, slots=True)
class Backup:
    """What an administrator puts away."""

    root: Folder
    trash: dict[str, Binned]
    ids: int


class Tree:
    """The files of one account, with its trash."""

    def __init__(self, clock: Callable[[], float], seed: str = "") -> None:
        self._clock = clock
        self._seed = seed
        self._ids = self._marks = 0
        self.root = Folder(self._next(), "", None, self._unique())
        self.root.mtime = int(clock())
        self.trash: dict[str, Binned] = {}

    def _next(self) -> int:
        self._ids += 1
        return self._ids

    def _mark(self) -> int:
        self._marks += 1
        return self._marks

    def _unique(self) -> str:
        return md5(f"{self._seed}:{self._mark()}".encode()).hexdigest()[:13]

    def backup(self) -> Backup:
        """All there is, to be put back later."""
        return Backup(*deepcopy((self.root, self.trash)), self._ids)

    def put_back(self, backup: Backup) -> None:
        """As it was, with the tags of then; ids given out since will be given out again."""
        self.root, self.trash = deepcopy((backup.root, backup.trash))
        self._ids = backup.ids

    # --- Finding ---------------------------------------------------------------------------------------------------

    def find(self, path: str) -> Node | None:
        """What lies at a path such as ``"topics/tea.md"``; ``""`` is the root."""
        node: Node | None = self.root
        for name in path.split("/") if path else ():
            if not isinstance(node, Folder):
                return None
            node = node.children.get(name)
        return node

    def at(self, path: str) -> Node:
        """What lies at a path, for certain."""
        if (node := self.find(path)) is None:
            raise Missing(path)
        return node

    def folder(self, path: str) -> Folder:
        """The folder at a path, for certain."""
        if not isinstance(node := self.find(path), Folder):
            raise Missing(path)
        return node

    def file(self, path: str) -> File:
        """The file at a path, for certain."""
        if not isinstance(node := self.find(path), File):
            raise Missing(path)
        return node

    def used(self) -> int:
        """Bytes of all files."""
        return size_of(self.root)

    # --- Changing --------------------------------------------------------------------------------------------------

    def write(
        self,
        path: str,
        raw: bytes,
        *,
        mtime: int | None = None,
        checksum: str = "",
        whole: bool = True,
    ) -> tuple[File, bool]:
        """Store content as a PUT does: in place, the earlier one becoming a version. Says whether it is new."""
        file = self.find(path)
        now = int(self._clock())
        created = not isinstance(file, File)
        if not isinstance(file, File):
            folder, name = self.folder(parent_of(path)), name_of(path)
            file = File(self._next(), name, folder, inode=self._mark())
            folder.children[name] = file
        else:
            file.versions[file.mtime] = file.raw
        file.raw, file.disk_mtime = raw, now
        self.scan(file)
        if whole:
            if mtime is not None:
                file.disk_mtime = mtime
                self.scan(file)
            file.checksum = checksum
        self.touched(file)
        return file, created

    def scan(self, file: File) -> bool:
        """Let the database know what is on the disk; whether the tag moved."""
        before = file.etag
        if file.disk_mtime != file.storage_mtime:
            seen = f"{file.disk_mtime}{file.inode}{DEVICE}{len(file.raw)}"
            file.etag = md5(seen.encode()).hexdigest()
            file.checksum = ""
        file.size, file.mtime, file.storage_mtime = (
            len(file.raw),
            file.disk_mtime,
            file.disk_mtime,
        )
        return file.etag != before

    def touched(self, node: Node) -> None:
        """New tags for all folders above."""
        folder = node.parent
        while folder is not None:
            folder.etag, folder.mtime = self._unique(), int(self._clock())
            folder = folder.parent

    def retag(self, node: Node) -> None:
        """A new tag without new content, here and above."""
        node.etag = self._unique()
        self.touched(node)

    def mkdir(self, path: str) -> Folder:
        """A new folder in an existing one."""
        parent = self.folder(parent_of(path))
        folder = Folder(self._next(), name_of(path), parent, self._unique(), int(self._clock()))
        parent.children[folder.name] = folder
        self.touched(folder)
        return folder

    def remove(self, path: str) -> None:
        """Into the trash."""
        node = self.at(path)
        self._detach(node)
        binned = Binned(node, path, int(self._clock()))
        while binned.name in self.trash:
            binned.deleted += 1
        self.trash[binned.name] = binned

    def move(self, source: str, target: str) -> Node:
        """Tags and ids go with it; what lay at the target goes to the trash."""
        node = self.at(source)
        parent = self.folder(parent_of(target))
        if self.find(target) is not None:
            self.remove(target)
        self._detach(node)
        self._attach(node, parent, name_of(target))
        return node

    def copy(self, source: str, target: str) -> Node:
        """Ids and tags of its own."""
        node, parent = self.at(source), self.folder(parent_of(target))
        if self.find(target) is not None:
            self.remove(target)
        twin = self._twin(node)
        self._attach(twin, parent, name_of(target))
        return twin

    def restore(self, name: str) -> Node:
        """Out of the trash, to where it lay or beside it; the id stays."""
        binned = self.trash.pop(name)
        folder = self.find(parent_of(binned.origin))
        parent = folder if isinstance(folder, Folder) else self.root
        wanted = binned.node.name
        if wanted in parent.children:
            stem, dot, suffix = wanted.rpartition(".")
            wanted = f"{stem} (restored).{suffix}" if dot else f"{wanted} (restored)"
        self._attach(binned.node, parent, wanted)
        return binned.node

    def _detach(self, node: Node) -> None:
        if node.parent is not None:
            self.touched(node)
            del node.parent.children[node.name]

    def _attach(self, node: Node, parent: Folder, name: str) -> None:
        node.parent, node.name = parent, name
        parent.children[name] = node
        self.touched(node)

    def _twin(self, node: Node) -> Node:
        if isinstance(node, File):
            twin = File(
                self._next(), node.name, node.parent, self._mark(), node.raw, int(self._clock())
            )
            self.scan(twin)
            return twin
        folder = Folder(self._next(), node.name, None, self._unique(), int(self._clock()))
        for child in node.children.values():
            own = self._twin(child)
            own.parent = folder
            folder.children[own.name] = own
        return folder


def size_of(node: Node) -> int:
    """Bytes of a file, or of all below a folder."""
    if isinstance(node, File):
        return node.size
    return sum(size_of(child) for child in node.children.values())


def walk(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """All below a node, itself first, with the path from it."""
    yield path, node
    if isinstance(node, Folder):
        for name, child in list(node.children.items()):
            yield from walk(child, f"{path}/{name}" if path else name)


def path_of(node: Node) -> str:
    """Where a node lies."""
    names: list[str] = []
    while node.parent is not None:
        names.append(node.name)
        node = node.parent
    return "/".join(reversed(names))


def parent_of(path: str) -> str:
    """The path without its last name."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]


def composed(path: str) -> str:
    """The path as it is stored: NFC."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)
