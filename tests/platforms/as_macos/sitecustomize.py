"""Makes Python on Linux as poor as on macOS; for processes with this folder on PYTHONPATH.

The calls that macOS lacks are gone, and `sys.platform` is that of macOS.
"""

import fcntl
import os
import select
import signal
import socket
import sys
import types

LACKING: dict[types.ModuleType, tuple[str, ...]] = {
    os: (
        "O_DIRECT",
        "O_PATH",
        "O_TMPFILE",
        "copy_file_range",
        "eventfd",
        "fdatasync",
        "getxattr",
        "listxattr",
        "memfd_create",
        "pidfd_open",
        "pipe2",
        "posix_fadvise",
        "posix_fallocate",
        "removexattr",
        "sched_getaffinity",
        "sched_setaffinity",
        "setxattr",
        "splice",
        "waitid",
    ),
    fcntl: ("F_GETLEASE", "F_SETLEASE", "F_GETSIG", "F_SETSIG", "F_OFD_SETLK"),
    select: ("epoll",),
    signal: ("sigtimedwait", "sigwaitinfo"),
    socket: ("SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_PEERCRED"),
}

if sys.platform == "linux":
    for module, names in LACKING.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)

    # The build settings of this Python have the name of the real system.
    os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = (
        f"_sysconfigdata_{sys.abiflags}_linux_{sys.implementation._multiarch}"
    )
    sys.platform = "darwin"
    # The proxies of the system come from a module that only a Python for macOS has.
    proxies = types.ModuleType("_scproxy")
    proxies.__dict__.update(_get_proxy_settings=dict, _get_proxies=dict)
    sys.modules["_scproxy"] = proxies
