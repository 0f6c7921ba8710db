"""The system calls of the write protocol, as an interface that a simulated disk can implement.

Names are always relative to an open folder. Once a folder was reached without following a link,
nothing that is put in its way later can lead the write elsewhere. Every call raises OSError as the
system does.
"""

import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable
from functools import partial
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
_OF_MACOS = {_NOREPLACE: 4, _EXCHANGE: 2}
"""Flags of renameat2 → flags of renameatx_np"""
_BLOCK = 1 << 20
"""Bytes of one read"""
UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOTTY})
"""Errors of a file system that does not offer a call. Two of them are one on Linux only."""


class FileStatus(NamedTuple):
    """The status of a file; equal as long as nothing changed the file."""

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
    def of(cls, status: os.stat_result) -> "FileStatus":
        """Converts the status that the system returns."""
        return cls(
            status.st_mode,
            status.st_uid,
            status.st_gid,
            status.st_dev,
            status.st_ino,
            status.st_nlink,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Files(Protocol):
    """The calls below one root. Descriptors name folders and files; the caller closes them."""

    root: str
    """Absolute path of the vault"""
    uid: int
    """Owner of the files that may be replaced; 0 may replace all"""

    def open_folder(self, path: str) -> int:
        """Opens a folder below the root ("" for the root) without following a link."""

    def make_folder(self, folder: int, name: str) -> None:
        """Creates an empty folder in a folder."""

    def open(self, folder: int, name: str) -> int:
        """Opens a file for reading; it must not be a link."""

    def create(self, folder: int, name: str, *, private: bool) -> int:
        """Creates an empty file for reading and writing.

        Only the owner can read a private file; the user's umask decides for others.
        """

    def read(self, fd: int) -> bytes:
        """Reads all of a file, from its beginning."""

    def write(self, fd: int, raw: bytes) -> None:
        """Writes all of these bytes at the current position."""

    def fsync(self, fd: int) -> None:
        """Waits until written bytes, or renames in a folder, are on the disk."""

    def close(self, fd: int) -> None:
        """Frees the descriptor."""

    def stat(self, fd: int) -> FileStatus:
        """Returns the status of an open file or folder."""

    def look(self, folder: int, name: str) -> FileStatus | None:
        """Returns the status of a name without following a link; None when it does not exist."""

    def link_target(self, folder: int, name: str) -> str:
        """Returns the target of a symbolic link."""

    def exchange(self, folder: int, first: str, second: str) -> None:
        """Swaps the files of two names in one step; both must exist."""

    def rename(self, folder: int, old: str, new: str) -> None:
        """Renames a file; the new name must be one that no other program knows."""

    def rename_new(self, folder: int, old: str, new: str) -> None:
        """Renames a file, unless the new name is taken."""

    def link(self, folder: int, old: str, new: str) -> None:
        """Gives a file a second name, unless that name is taken."""

    def unlink(self, folder: int, name: str) -> None:
        """Removes a name."""

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        """Changes the owner and the group of a file."""

    def set_mode(self, fd: int, mode: int) -> None:
        """Changes the permissions of a file."""

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        """Changes the modification time of a file."""

    def attributes(self, fd: int) -> dict[str, bytes]:
        """Returns the extended attributes, access control lists among them."""

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        """Sets one extended attribute."""

    def alone(self, fd: int, *, readers_too: bool) -> bool | None:
        """Whether no other process has this file open for writing, or, with `readers_too`, at all.

        Returns None when the system does not say.
        """

    def free_bytes(self, fd: int) -> int:
        """Returns how many bytes may still be written to this file system."""


class RealFiles:
    """The calls of the operating system."""

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
            # Fault (H120): a link leads out of the vault, and opening a pipe blocks
            # until a program writes to it.
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            dir_fd=folder,
        )

    def create(self, folder: int, name: str, *, private: bool) -> int:
        # Fault (H120): another program may have planted a file or a link under this
        # name.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600 if private else 0o666, dir_fd=folder)

    def read(self, fd: int) -> bytes:
        blocks = []
        position = 0
        while block := os.pread(fd, _BLOCK, position):
            blocks.append(block)
            position += len(block)
        return b"".join(blocks)

    def write(self, fd: int, raw: bytes) -> None:
        remaining = memoryview(raw)
        while remaining:
            # Fault (B39): a nearly full disk takes fewer bytes than it is given.
            written = os.write(fd, remaining)
            remaining = remaining[written:]

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def stat(self, fd: int) -> FileStatus:
        return FileStatus.of(os.fstat(fd))

    def look(self, folder: int, name: str) -> FileStatus | None:
        try:
            return FileStatus.of(os.lstat(name, dir_fd=folder))
        except FileNotFoundError:
            return None
        except OSError as error:
            # An editor's lock file of a note with a long name: such a file cannot exist.
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise

    def link_target(self, folder: int, name: str) -> str:
        return os.readlink(name, dir_fd=folder)

    def exchange(self, folder: int, first: str, second: str) -> None:
        _rename(folder, first, second, _EXCHANGE)

    def rename(self, folder: int, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def rename_new(self, folder: int, old: str, new: str) -> None:
        _rename(folder, old, new, _NOREPLACE)

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
        # Python offers extended attributes on Linux only.
        if sys.platform != "linux":
            return {}
        try:
            return {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
        except OSError as error:
            # Fault (A31): FAT and some network file systems have no attributes to lose.
            if error.errno in UNSUPPORTED:
                return {}
            raise

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        if sys.platform == "linux":
            os.setxattr(fd, name, value)

    def alone(self, fd: int, *, readers_too: bool) -> bool | None:
        # Only Linux says whether another process has a file open.
        if sys.platform != "linux":
            return None
        lease = fcntl.F_WRLCK if readers_too else fcntl.F_RDLCK
        try:
            # Fault: a process that opens the file now breaks the lease. The system
            # sends us a signal, and its default, SIGIO, would end the process.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, lease)
            # Fault (A5): an editor may open the file between the two calls.
            is_unbroken = fcntl.fcntl(fd, fcntl.F_GETLEASE) == lease
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            # Fault: the same errors mean that only the owner of a file may set a lease.
            # Taken for an open editor, a displaced file would never be removed.
            is_refused = error.errno in (errno.EAGAIN, errno.EACCES)
            return False if is_refused and _may_lease(fd) else None
        return is_unbroken

    def free_bytes(self, fd: int) -> int:
        file_system = os.fstatvfs(fd)
        # Blocks that are reserved for root are of no use to other users.
        is_root = self.uid == 0
        blocks = file_system.f_bfree if is_root else file_system.f_bavail
        return blocks * file_system.f_frsize


def _may_lease(fd: int) -> bool:
    return os.geteuid() in (0, os.fstat(fd).st_uid)


def move_between(old_folder: int, old: str, new_folder: int, new: str) -> None:
    """Moves a file or a folder to another folder. Raises FileExistsError when the name is taken."""
    try:
        _rename_call.call(old_folder, old, new_folder, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        # A folder cannot have two names, so there is no second way to move it.
        if stat.S_ISDIR(os.lstat(old, dir_fd=old_folder).st_mode):
            raise
        os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
        # Fault (B35): a disk that saw only the unlink would have no name for the file
        # at all.
        os.fsync(new_folder)
        os.unlink(old, dir_fd=old_folder)


def _rename(folder: int, old: str, new: str, flags: int) -> None:
    _rename_call.call(folder, old, folder, new, flags)


class _RenameCall:
    """A rename with flags, which Python does not offer; loads ctypes on first use.

    It is `renameat2` on Linux and `renameatx_np` on macOS.
    """

    def __init__(self) -> None:
        self._native: Callable[..., int] | None = None

    def call(self, old_folder: int, old: str, new_folder: int, new: str, flags: int) -> None:
        import ctypes

        native = self._native = self._native or _native_rename()
        if native is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), old, None, new)
        result = native(
            old_folder,
            os.fsencode(old),
            new_folder,
            os.fsencode(new),
            _OF_MACOS[flags] if sys.platform == "darwin" else flags,
        )
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), old, None, new)


def _native_rename() -> Callable[..., int] | None:
    """Returns the function of the system; None where it has none."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    native: Callable[..., int] | None = None
    if sys.platform == "darwin":
        native = getattr(libc, "renameatx_np", None)
        if native is not None:
            libc.renameatx_np.argtypes = arguments
    # The machine is asked for on Linux only: its system calls have other numbers.
    elif number := _NR_RENAMEAT2.get(os.uname().machine):
        libc.syscall.restype = ctypes.c_long
        libc.syscall.argtypes = (ctypes.c_long, *arguments)
        native = partial(libc.syscall, number)
    return native


_rename_call = _RenameCall()
