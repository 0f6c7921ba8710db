"""Opens a note so that no link leads elsewhere: with openat2, or one step for each folder."""

import errno
import os
import sys

_NR_OPENAT2 = 437
_HOW_BYTES = 24
"""Size of the kernel's struct open_how"""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_STEP = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def open_beneath(root: int, path: str) -> int:
    """Opens a file below the folder `root` for reading, without following any link.

    Raises OSError. A pipe or a device does not block: the caller sees by fstat what was opened.
    """
    if sys.platform == "linux" and _linux.available:
        try:
            return _linux.open(root, path)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                _linux.available = False
            # Fault: the system call filter of a container answers EPERM for a call it
            # does not know.
            elif error.errno != errno.EPERM:
                raise
    return open_stepwise(root, path)


def open_stepwise(root: int, path: str) -> int:
    """Opens a file by one O_NOFOLLOW step for each folder, for systems without openat2."""
    *folders, name = path.split("/")
    # Fault (H119): a step to the parent folder could leave the vault.
    if not {"", ".", ".."}.isdisjoint((*folders, name)):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    current = root
    try:
        for folder in folders:
            # Fault (H120): a program may swap a folder for a link between two steps.
            # Each step starts from an open folder, and follows no link.
            below = os.open(folder, _STEP, dir_fd=current)
            if current != root:
                os.close(current)
            current = below
        return os.open(name, _FLAGS | getattr(os, "O_NOFOLLOW", 0), dir_fd=current)
    finally:
        if current != root:
            os.close(current)


class _Openat2:
    """The system call openat2, which Python does not offer; loads ctypes on first use."""

    def __init__(self) -> None:
        self.available = True
        self._call: object = None

    def open(self, root: int, path: str) -> int:
        import ctypes

        if self._call is None:
            # Fault (H120): links below /proc lead to any open file of the process.
            self._how = (ctypes.c_uint64 * 3)(_FLAGS, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
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
        name = os.fsencode(path)
        fd: int = self._call(_NR_OPENAT2, root, name, self._how, _HOW_BYTES)  # type: ignore[operator]
        if fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return fd


_linux = _Openat2()
