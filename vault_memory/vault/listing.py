"""Lists a vault quickly: every name is a note, a copy, a link, junk, or reported as unknown."""

import os
import re
import stat
import sys
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from typing import NamedTuple

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import CANVAS, MARKDOWN, ignored, unreadable

SUFFIXES = (*MARKDOWN, ".jsonl", CANVAS)
DEEPEST = 64
"""Levels of folders"""
_MEMORY, _ = getrlimit(RLIMIT_AS)
MOST = sys.maxsize if _MEMORY == RLIM_INFINITY else _MEMORY // 2_000
"""Files in one listing: what fits into the memory that the owner gives (`ulimit -v`), else no end"""

_SAFE = re.compile(r"[\w .,'()+@=&!~#$%;\-]+").fullmatch
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stat(NamedTuple):
    """The facts that distinguish two states of a file without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    nlink: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stat":
        """Converts the status that the system returns."""
        return cls(
            status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_nlink
        )


class Listing:
    """The content of a vault, or of one of its folders. A path in none of the fields is absent."""

    __slots__ = ("beyond", "copies", "entries", "folders", "links", "unknown")

    def __init__(self) -> None:
        self.entries: dict[str, Stat] = {}
        self.beyond: list[str] = []
        """Files that are there, and had no room: at most `MOST`"""
        self.unknown: dict[str, str] = {}
        """Path of a file or folder → why its state is unknown. Everything below it is unknown too."""
        self.copies: list[str] = []
        """Conflict copies, which wait for a person"""
        self.links: list[str] = []
        """Links to a file in the vault; the file's own path counts"""
        self.folders: list[str] = []
        """All folders that were entered, "" for the vault itself"""

    @property
    def truncated(self) -> bool:
        """Whether the vault has more files than a listing can have."""
        return len(self.entries) >= MOST

    def covers(self, path: str) -> bool:
        """Whether a path that is missing in `entries` is certainly absent."""
        # Fault (C57): what an incomplete listing lacks is unknown. Taken for deleted,
        # the notes would be removed everywhere.
        if "" in self.unknown:
            return False
        while path:
            if path in self.unknown:
                return False
            path = path.rpartition("/")[0]
        return True


def walk(root: int, root_path: str, subtree: str, suffixes: tuple[str, ...]) -> Listing:
    """Lists everything below `subtree` of the folder that is open as `root`."""
    walker = _Walk(root_path, suffixes)
    fd = root
    prefix = ""
    try:
        for name in subtree.split("/") if subtree else ():
            prefix += name
            if name.startswith("."):
                return walker.listing
            below = walker.open(fd, name, prefix)
            if fd != root:
                os.close(fd)
            fd = root if below is None else below
            if below is None:
                return walker.listing
            prefix += "/"
        walker.folder(fd, prefix, prefix.count("/"))
    finally:
        if fd != root:
            os.close(fd)
    return walker.listing


class _Walk:
    """One walk.

    It keeps the folders on its way open: a folder that is replaced by a link during the walk
    cannot lead it out of the vault.
    """

    def __init__(self, root_path: str, suffixes: tuple[str, ...]) -> None:
        self.listing = Listing()
        self._root_path = os.path.realpath(root_path)
        self._suffixes = suffixes

    def open(self, parent: int, name: str, path: str) -> int | None:
        """Opens a folder below an open one; None when it is absent or cannot be entered."""
        try:
            return os.open(name, _OPEN, dir_fd=parent)
        except FileNotFoundError:
            # A program removed the folder after its parent was listed.
            return None
        except NotADirectoryError:
            self._add_if_link(parent, name, path)
        except OSError as error:
            self._add_unknown(path, error)
        return None

    def _add_if_link(self, parent: int, name: str, path: str) -> None:
        try:
            if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
                self._add_link(path)
        except OSError:
            return

    def folder(self, fd: int, prefix: str, depth: int) -> None:
        """Lists one folder and all below it; `prefix` is its path with a ``/`` at the end, or ""."""
        folders: list[str] = []
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                        continue
                    if self.listing.truncated:
                        self._add_beyond(entry.name, prefix)
                        continue
                    self._add_file(entry, prefix)
                    # Fault (F110): a folder of another program, such as a cache, may
                    # have millions of files. The rest is unknown everywhere, and not deleted.
                    if self.listing.truncated:
                        self.listing.unknown[""] = f"there are more than {MOST:,} files"
        except OSError as error:
            self._add_unknown(prefix[:-1], error)
            return
        if not self.listing.truncated:
            self.listing.folders.append(prefix[:-1])
        for name in folders:
            self._below(fd, name, prefix, depth)

    def _add_beyond(self, name: str, prefix: str) -> None:
        """Adds the name of a file without a look at it."""
        has_room = len(self.listing.beyond) < MOST
        if has_room and name.endswith(self._suffixes) and not ignored(name):
            self.listing.beyond.append(prefix + name)

    def _add_file(self, entry: "os.DirEntry[str]", prefix: str) -> None:
        name = entry.name
        if not name.endswith(self._suffixes):
            # A folder of notes may be a link; its own path in the vault counts.
            if entry.is_symlink() and not ignored(name):
                self._add_link(prefix + name)
        elif ignored(name):
            if conflict_copy(name):
                self.listing.copies.append(prefix + name)
        elif entry.is_symlink():
            self._add_link(prefix + name)
        elif not _SAFE(name) and (reason := unreadable(name)):
            self.listing.unknown[prefix + name] = reason
        elif status := self._status(entry, prefix):
            self.listing.entries[prefix + name] = status

    def _below(self, fd: int, name: str, prefix: str, depth: int) -> None:
        if name[0] == "." or len(self.listing.beyond) >= MOST:
            return
        path = prefix + name
        if reason := unreadable(name):
            self.listing.unknown[path] = reason
            return
        # Fault (F110): each level keeps a descriptor open. A broken mount shows levels
        # without end.
        if depth >= DEEPEST:
            self.listing.unknown[path] = f"it is more than {DEEPEST} folders deep"
            return
        below = self.open(fd, name, path)
        if below is None:
            return
        try:
            self.folder(below, path + "/", depth + 1)
        finally:
            os.close(below)

    def _status(self, entry: "os.DirEntry[str]", prefix: str) -> Stat | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            # A program removed the file during the listing.
            return None
        except OSError as error:
            self._add_unknown(prefix + entry.name, error)
            return None
        # Fault (H120): reading a pipe or a device could block for ever.
        if not stat.S_ISREG(status.st_mode):
            self.listing.unknown[prefix + entry.name] = "it is no plain file"
            return None
        return Stat.of(status)

    def _add_unknown(self, path: str, error: OSError) -> None:
        # Fault (B40): a folder that cannot be listed proves nothing. Its notes must not
        # count as deleted.
        self.listing.unknown[path] = error.strerror or str(error)

    def _add_link(self, path: str) -> None:
        full = os.path.join(self._root_path, path)
        if not os.path.realpath(full).startswith(os.path.join(self._root_path, "")):
            self.listing.unknown[path] = "it is a link that leads out of the vault"
        elif os.path.exists(full):
            self.listing.links.append(path)
        else:
            self.listing.unknown[path] = "it is a link that leads nowhere"
