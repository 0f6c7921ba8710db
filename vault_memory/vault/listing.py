"""Walking through a vault, quickly and without trust: every name is either taken in, junk, or said to be unknown."""

import os
import re
import stat
from typing import NamedTuple

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import ignored, unreadable

SUFFIXES = (".md", ".jsonl")
DEEPEST = 64
"""Folders below one another."""
MOST = 200_000
"""Files in one listing."""

_SAFE = re.compile(r"[\w .,'()+@=&!~#$%;\-]+").fullmatch
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stat(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    nlink: int

    @classmethod
    def of(cls, found: os.stat_result) -> "Stat":
        """Taken from what the system says."""
        return cls(
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_ino,
            found.st_nlink,
        )


class Listing:
    """What was seen in a vault, or below one of its folders. A path that is in none of these is absent."""

    __slots__ = ("copies", "entries", "folders", "links", "unknown")

    def __init__(self) -> None:
        self.entries: dict[str, Stat] = {}
        self.unknown: dict[str, str] = {}
        """Path of a file or folder → why it cannot be told what is there. What lies below it is unknown too."""
        self.copies: list[str] = []
        """Conflict copies, waiting for a person."""
        self.links: list[str] = []
        """Links to something in the vault: its own path is what counts."""
        self.folders: list[str] = []
        """All folders that were entered, "" for the vault itself."""

    @property
    def truncated(self) -> bool:
        """Whether there were more files than a listing takes in."""
        return len(self.entries) >= MOST

    def covers(self, path: str) -> bool:
        """Whether the absence of this path from `entries` means that it is absent."""
        if self.truncated or "" in self.unknown:
            return False
        while path:
            if path in self.unknown:
                return False
            path = path.rpartition("/")[0]
        return True


def walk(root: int, root_path: str, subtree: str, suffixes: tuple[str, ...]) -> Listing:
    """List what lies below ``subtree`` of the folder open as ``root``."""
    walker = _Walk(root_path, suffixes)
    fd = root
    prefix = ""
    try:
        for part in subtree.split("/") if subtree else ():
            prefix += part
            if part.startswith("."):
                return walker.listing
            below = walker.open(fd, part, prefix)
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
    """One walk; keeps the folders on the way open, so that nothing can be slipped under it."""

    def __init__(self, root_path: str, suffixes: tuple[str, ...]) -> None:
        self.listing = Listing()
        self._root_path = os.path.realpath(root_path)
        self._suffixes = suffixes

    def open(self, parent: int, name: str, path: str) -> int | None:
        """A folder below an open one, or None when it is gone or cannot be entered."""
        try:
            return os.open(name, _OPEN, dir_fd=parent)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            self._link_or_gone(parent, name, path)
        except OSError as error:
            self.listing.unknown[path] = error.strerror or str(error)
        return None

    def _link_or_gone(self, parent: int, name: str, path: str) -> None:
        try:
            if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
                self._link(path)
        except OSError:
            return

    def folder(self, fd: int, prefix: str, depth: int) -> None:
        """Take in one folder and all below it; ``prefix`` is its path with a ``/`` at the end, or nothing."""
        folders = []
        entries = self.listing.entries
        try:
            with os.scandir(fd) as names:
                for entry in names:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif not name.endswith(self._suffixes):
                        if entry.is_symlink() and not ignored(name):
                            self._link(prefix + name)
                    elif ignored(name):
                        self._copy(prefix + name)
                    elif entry.is_symlink():
                        self._link(prefix + name)
                    elif not _SAFE(name) and (reason := unreadable(name)):
                        self.listing.unknown[prefix + name] = reason
                    elif seen := self._seen(entry, prefix):
                        entries[prefix + name] = seen
                        if len(entries) >= MOST:
                            self.listing.unknown[prefix[:-1]] = (
                                f"there are more than {MOST:,} files"
                            )
                            return
        except OSError as error:
            self.listing.unknown[prefix[:-1]] = error.strerror or str(error)
            return
        self.listing.folders.append(prefix[:-1])
        for name in folders:
            self._below(fd, name, prefix, depth)

    def _below(self, fd: int, name: str, prefix: str, depth: int) -> None:
        if name[0] == "." or self.listing.truncated:
            return
        path = prefix + name
        if reason := unreadable(name):
            self.listing.unknown[path] = reason
        elif depth >= DEEPEST:
            self.listing.unknown[path] = f"it lies more than {DEEPEST} folders deep"
        elif (below := self.open(fd, name, path)) is not None:
            try:
                self.folder(below, path + "/", depth + 1)
            finally:
                os.close(below)

    def _seen(self, entry: "os.DirEntry[str]", prefix: str) -> Stat | None:
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.listing.unknown[prefix + entry.name] = error.strerror or str(error)
            return None
        if not stat.S_ISREG(found.st_mode):
            self.listing.unknown[prefix + entry.name] = "it is no plain file"
            return None
        return Stat(
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_ino,
            found.st_nlink,
        )

    def _copy(self, path: str) -> None:
        if conflict_copy(path.rpartition("/")[2]):
            self.listing.copies.append(path)

    def _link(self, path: str) -> None:
        full = os.path.join(self._root_path, path)
        if not os.path.realpath(full).startswith(os.path.join(self._root_path, "")):
            self.listing.unknown[path] = "it is a link that leads out of the vault"
        elif os.path.exists(full):
            self.listing.links.append(path)
        else:
            self.listing.unknown[path] = "it is a link that leads nowhere"
