"""Makes Python on Linux as poor as on Windows; for processes with this folder on PYTHONPATH.

The modules and calls that Windows lacks are gone, and `sys.platform` is that of Windows. Paths stay
those of Linux: a path with backslashes cannot be opened here.
"""

import os
import signal
import socket
import sys
import types

for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty"):
    sys.modules[name] = None  # type: ignore[assignment]

LACKING: dict[types.ModuleType, tuple[str, ...]] = {
    os: (
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "fchmod",
        "fchown",
        "fdatasync",
        "fork",
        "fstatvfs",
        "geteuid",
        "getuid",
        "getxattr",
        "killpg",
        "listxattr",
        "nice",
        "pipe2",
        "pread",
        "pwrite",
        "set_blocking",
        "setxattr",
        "uname",
        "waitid",
    ),
    signal: ("SIGKILL", "SIGURG", "SIGHUP"),
    socket: ("AF_UNIX",),
}

for module, names in LACKING.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

sys.platform = "win32"
