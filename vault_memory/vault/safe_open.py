"""Opening a note so that no link on the way leads elsewhere: openat2 where the kernel has it, else step by step."""

import errno
import os
import sys

_NR_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_FLAGS = (
    os.O_RDONLY
    | os.O_CLOEXEC
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_STEP = (
    os.O_RDONLY
    | os.O_CLOEXEC
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


def open_beneath(root: int, path: str) -> int:
    """Open a file below the folder ``root`` for reading, following no link at all; raises OSError.

    A pipe or device does not block: it is opened, and the caller sees by fstat what it is.
    """
    if sys.platform == "linux" and _linux.available:
        try:
            return _linux.open(root, path)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                _linux.available = False
            elif (
                error.errno != errno.EPERM
            ):  # what a container's filter answers for a call it does not know
                raise
    return open_stepwise(root, path)


def open_stepwise(root: int, path: str) -> int:
    """The same by one O_NOFOLLOW step for each folder, for systems without openat2."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") for part in (*folders, name)):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    here = root
    try:
        for folder in folders:
            below = os.open(folder, _STEP, dir_fd=here)
            if here != root:
                os.close(here)
            here = below
        return os.open(name, _FLAGS | getattr(os, "O_NOFOLLOW", 0), dir_fd=here)
    finally:
        if here != root:
            os.close(here)


class _Openat2:
    """The system call, which Python does not offer; ctypes is loaded on first use."""

    def __init__(self) -> None:
        self.available = True
        self._call: object = None

    def open(self, root: int, path: str) -> int:
        import ctypes

        if self._call is None:
            self._how = (ctypes.c_uint64 * 3)(
                _FLAGS, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS
            )
            libc = ctypes.CDLL(None, use_errno=True)
            libc.syscall.restype = ctypes.c_long
            libc.syscall.argtypes = (
                ctypes.c_long,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_size_t,
            )
            self._call = libc.syscall
        fd: int = self._call(_NR_OPENAT2, root, os.fsencode(path), self._how, 24)  # type: ignore[operator]
        if fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return fd


_linux = _Openat2()
