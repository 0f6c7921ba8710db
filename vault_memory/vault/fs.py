"""The system calls that writing a note is made of, so that a test can put a simulated disk in their place.

Names are always taken relative to an open folder: once a folder was reached without following a link, nothing put in
its way later can lead the write elsewhere. Every call raises OSError as the system does.
"""

import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

from vault_memory.vault.safe_open import open_beneath

_NR_RENAMEAT2 = {
    "x86_64": 316,
    "aarch64": 276,
    "riscv64": 276,
    "i686": 353,
    "armv7l": 382,
    "ppc64le": 357,
}
_NOREPLACE, _EXCHANGE = 1, 2
UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY})
"""What a file system says that does not know a call."""


class Found(NamedTuple):
    """What the system says about a file; equal as long as nobody changed it."""

    mode: int
    uid: int
    gid: int
    dev: int
    ino: int
    nlink: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> "Found":
        """Taken from what the system says."""
        return cls(
            found.st_mode,
            found.st_uid,
            found.st_gid,
            found.st_dev,
            found.st_ino,
            found.st_nlink,
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
        )

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Files(Protocol):
    """The calls below one root. Folders and files are named by descriptors that the caller closes."""

    root: str
    """Where the vault lies."""
    uid: int
    """Whose files may be replaced; 0 may replace all."""

    def open_folder(self, path: str) -> int:
        """A folder below the root ("" for the root), reached without following a link."""

    def make_folder(self, folder: int, name: str) -> None:
        """An empty folder in a folder."""

    def open(self, folder: int, name: str) -> int:
        """A file for reading, which must not be a link."""

    def create(self, folder: int, name: str, *, private: bool) -> int:
        """A new empty file for reading and writing: for us alone, or for whom the user's umask lets."""

    def read(self, fd: int) -> bytes:
        """All of a file, from its beginning."""

    def write(self, fd: int, raw: bytes) -> None:
        """All of these bytes, at the current place."""

    def fsync(self, fd: int) -> None:
        """What was written, or what was renamed in a folder, is on the disk when this returns."""

    def close(self, fd: int) -> None:
        """The descriptor is free again."""

    def stat(self, fd: int) -> Found:
        """About an open file or folder."""

    def look(self, folder: int, name: str) -> Found | None:
        """About a name, following no link; None when there is nothing of that name."""

    def link_target(self, folder: int, name: str) -> str:
        """Where a symbolic link points."""

    def exchange(self, folder: int, one: str, other: str) -> None:
        """Swap what two names stand for, in one step; both must exist."""

    def rename(self, folder: int, old: str, new: str) -> None:
        """Give a file another name, which must be one that only we know of."""

    def rename_new(self, folder: int, old: str, new: str) -> None:
        """Give a file another name, unless that name is taken."""

    def link(self, folder: int, old: str, new: str) -> None:
        """Give a file a second name, unless that name is taken."""

    def unlink(self, folder: int, name: str) -> None:
        """Take a name away."""

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        """Change to whom a file belongs."""

    def set_mode(self, fd: int, mode: int) -> None:
        """Change who may do what."""

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        """Change when a file was last changed."""

    def attributes(self, fd: int) -> dict[str, bytes]:
        """Extended attributes, access control lists among them."""

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        """Set one extended attribute."""

    def alone(self, fd: int, *, readers_too: bool) -> bool | None:
        """Whether nobody else has this file open for writing (or at all); None when the system does not tell."""

    def free_bytes(self, fd: int) -> int:
        """What we may still write to this file system."""


class RealFiles:
    """The calls of the system we run on."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self.uid = os.geteuid()

    def open_folder(self, path: str) -> int:
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not path:
            return root
        try:
            fd = open_beneath(root, path)
        finally:
            os.close(root)
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return fd

    def make_folder(self, folder: int, name: str) -> None:
        os.mkdir(name, dir_fd=folder)

    def open(self, folder: int, name: str) -> int:
        return os.open(
            name,
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            dir_fd=folder,
        )

    def create(self, folder: int, name: str, *, private: bool) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600 if private else 0o666, dir_fd=folder)

    def read(self, fd: int) -> bytes:
        parts = []
        place = 0
        while part := os.pread(fd, 1 << 20, place):
            parts.append(part)
            place += len(part)
        return b"".join(parts)

    def write(self, fd: int, raw: bytes) -> None:
        rest = memoryview(raw)
        while rest:
            rest = rest[os.write(fd, rest) :]

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def stat(self, fd: int) -> Found:
        return Found.of(os.fstat(fd))

    def look(self, folder: int, name: str) -> Found | None:
        try:
            return Found.of(os.lstat(name, dir_fd=folder))
        except FileNotFoundError:
            return None
        except OSError as error:
            if (
                error.errno == errno.ENAMETOOLONG
            ):  # nothing can be there: asked about locks of notes with long names
                return None
            raise

    def link_target(self, folder: int, name: str) -> str:
        return os.readlink(name, dir_fd=folder)

    def exchange(self, folder: int, one: str, other: str) -> None:
        _renameat2(folder, one, other, _EXCHANGE)

    def rename(self, folder: int, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def rename_new(self, folder: int, old: str, new: str) -> None:
        _renameat2(folder, old, new, _NOREPLACE)

    def link(self, folder: int, old: str, new: str) -> None:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def unlink(self, folder: int, name: str) -> None:
        os.unlink(name, dir_fd=folder)

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        os.fchown(fd, uid, gid)

    def set_mode(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        os.utime(fd, ns=(mtime_ns, mtime_ns))

    def attributes(self, fd: int) -> dict[str, bytes]:
        if not hasattr(os, "listxattr"):
            return {}
        try:
            return {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
        except OSError as error:
            if error.errno in UNSUPPORTED:
                return {}
            raise

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        os.setxattr(fd, name, value)

    def alone(self, fd: int, *, readers_too: bool) -> bool | None:
        if not hasattr(fcntl, "F_SETLEASE"):
            return None
        try:
            # Somebody who opens the file meanwhile is told to us by a signal, and SIGIO would end the process.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(
                fd, fcntl.F_SETLEASE, fcntl.F_WRLCK if readers_too else fcntl.F_RDLCK
            )
            undisturbed = fcntl.fcntl(fd, fcntl.F_GETLEASE) == (
                fcntl.F_WRLCK if readers_too else fcntl.F_RDLCK
            )
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            return (
                False
                if error.errno in (errno.EAGAIN, errno.EACCES) and _ours(fd)
                else None
            )
        return undisturbed

    def free_bytes(self, fd: int) -> int:
        found = os.fstatvfs(fd)
        return (found.f_bfree if self.uid == 0 else found.f_bavail) * found.f_frsize


def _ours(fd: int) -> bool:
    return os.geteuid() in (0, os.fstat(fd).st_uid)


def move_between(old_folder: int, old: str, new_folder: int, new: str) -> None:
    """Give a file or a folder another name in another folder, unless that name is taken (FileExistsError)."""
    try:
        _exchanging.call(old_folder, old, new_folder, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED or stat.S_ISDIR(
            os.lstat(old, dir_fd=old_folder).st_mode
        ):
            raise
        os.link(
            old,
            new,
            src_dir_fd=old_folder,
            dst_dir_fd=new_folder,
            follow_symlinks=False,
        )
        os.fsync(new_folder)
        os.unlink(old, dir_fd=old_folder)


def _renameat2(folder: int, old: str, new: str, flags: int) -> None:
    _exchanging.call(folder, old, folder, new, flags)


class _Renameat2:
    """The system call, which Python does not offer; ctypes is loaded on first use."""

    def __init__(self) -> None:
        self._syscall: Callable[..., int] | None = None

    def call(
        self, old_folder: int, old: str, new_folder: int, new: str, flags: int
    ) -> None:
        import ctypes

        number = (
            _NR_RENAMEAT2.get(os.uname().machine) if sys.platform == "linux" else None
        )
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), old, None, new)
        if self._syscall is None:
            libc = ctypes.CDLL(None, use_errno=True)
            libc.syscall.restype = ctypes.c_long
            libc.syscall.argtypes = (
                ctypes.c_long,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_uint,
            )
            self._syscall = libc.syscall
        if (
            self._syscall(
                number,
                old_folder,
                os.fsencode(old),
                new_folder,
                os.fsencode(new),
                flags,
            )
            < 0
        ):
            said = ctypes.get_errno()
            raise OSError(said, os.strerror(said), old, None, new)


_exchanging = _Renameat2()
