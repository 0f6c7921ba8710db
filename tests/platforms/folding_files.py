"""A file system that treats names as that of macOS does, made with FUSE.

`Boat.md` and `boat.md` are one file, and names are listed as they were made, but with accents as
letters of their own. Two names cannot be exchanged in one step.

    python -m tests.platforms.folding_files FOLDER MOUNTPOINT
"""

import errno
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import mfusepy

ATTRIBUTES = (
    "st_atime",
    "st_ctime",
    "st_gid",
    "st_ino",
    "st_mode",
    "st_mtime",
    "st_nlink",
    "st_size",
    "st_uid",
)


def folded(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class FoldingFiles(mfusepy.Operations):  # type: ignore[misc]
    """Passes each call on to a folder, with the names that the folder has."""

    use_ns = True

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def place(self, path: str) -> str:
        """The path in the folder of what exists; a new name is taken with apart accents."""
        place = self._folder
        for name in path.strip("/").split("/"):
            if not name:
                continue
            try:
                names = os.listdir(place)
            except OSError:
                names = []
            same = [other for other in names if folded(other) == folded(name)]
            place = f"{place}/{same[0] if same else unicodedata.normalize('NFD', name)}"
        return place

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        status = os.lstat(self.place(path))
        found = {key: getattr(status, key) for key in ATTRIBUTES}
        for key in ("st_atime", "st_ctime", "st_mtime"):
            found[key] = getattr(status, f"{key}_ns")
        return found

    def readdir(self, path: str, fh: int) -> Iterator[tuple[str, dict[str, int], int]]:
        place = self.place(path)
        for name in (".", "..", *os.listdir(place)):
            status = os.lstat(f"{place}/{name}")
            # A name without the number of its file would not be listed.
            numbers = {"st_ino": status.st_ino, "st_mode": status.st_mode}
            yield name, numbers, 0

    def readlink(self, path: str) -> str:
        return os.readlink(self.place(path))

    def open(self, path: str, flags: int) -> int:
        return os.open(self.place(path), flags & ~os.O_NOFOLLOW)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        flags = os.O_RDWR | os.O_CREAT
        return os.open(self.place(path), flags, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        os.truncate(self.place(path) if fh is None else fh, length)

    def flush(self, path: str, fh: int) -> None:
        return None

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        os.fsync(fh)

    def fsyncdir(self, path: str, datasync: int, fh: int) -> None:
        return None

    def release(self, path: str, fh: int) -> None:
        os.close(fh)

    def unlink(self, path: str) -> None:
        os.unlink(self.place(path))

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(self.place(path), mode)

    def rmdir(self, path: str) -> None:
        os.rmdir(self.place(path))

    def rename(self, old: str, new: str, flags: int = 0) -> None:
        if flags:
            raise mfusepy.FuseOSError(errno.EINVAL)
        source, target = self.place(old), self.place(new)
        if folded(old) == folded(new):
            # The new spelling of the same name.
            name = unicodedata.normalize("NFD", new.rpartition("/")[2])
            target = f"{os.path.dirname(source)}/{name}"
        os.rename(source, target)

    def link(self, target: str, source: str) -> None:
        os.link(self.place(source), self.place(target))

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self.place(path), mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        os.chown(self.place(path), uid, gid)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        os.utime(self.place(path), ns=times)

    def statfs(self, path: str) -> dict[str, int]:
        status = os.statvfs(self._folder)
        keys = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_frsize", "f_namemax")
        return {key: getattr(status, key) for key in keys}


def main(arguments: Sequence[str]) -> None:
    folder, mountpoint = arguments
    mfusepy.FUSE(
        FoldingFiles(folder),
        mountpoint,
        foreground=True,
        nothreads=True,
        use_ino=True,
        attr_timeout=0,
        entry_timeout=0,
        negative_timeout=0,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
