"""Which files a process writes and where it connects, by the system calls of it, its threads and its children.

The system's tracer sees native code too, which a hook within Python does not. Where it is absent, tests are skipped.
"""

import ipaddress
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

WRITES = (
    "creat,link,linkat,mkdir,mkdirat,mknod,mknodat,open,openat,openat2,rename,renameat,renameat2,rmdir,symlink,"
    "symlinkat,unlink,unlinkat"
)
CONNECTIONS = "bind,connect,sendmmsg,sendmsg,sendto"

_CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<arguments>.*)$")
_WORD = re.compile(
    r'(?:(?P<folder>AT_FDCWD|\d+)(?:<(?P<path>[^>]*)>)?, )?"(?P<name>(?:[^"\\]|\\.)*)"'
)
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE")
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_UNIX = re.compile(r'sun_path=@?"([^"]*)"')


@dataclass
class Trace:
    """The calls of one process and of those that it starts."""

    file: Path
    folder: Path
    """Where the process starts; its relative paths begin there"""

    @property
    def before(self) -> list[str]:
        """What stands before a command that is traced."""
        wanted = f"trace={WRITES},{CONNECTIONS}"
        return [
            "strace",
            "-f",
            "-qq",
            "-y",
            "-s",
            "4096",
            "--seccomp-bpf",
            "-e",
            wanted,
            "-o",
            str(self.file),
            "--",
        ]

    def written(self) -> set[Path]:
        """All paths that it made, changed, renamed or removed, or tried to."""
        return {
            path for name, arguments in self._read(WRITES) for path in self._paths(name, arguments)
        }

    def connected(self) -> set[tuple[str, int]]:
        """Addresses beyond this machine, and any address that answers for names, each with its port."""
        found = set()
        for _, arguments in self._read(CONNECTIONS):
            address = _ADDRESS.search(arguments)
            if address is None:
                continue
            port = int(match[1]) if (match := _PORT.search(arguments)) else 0
            host = address[1] or address[2]
            if not ipaddress.ip_address(host).is_loopback or port == 53:
                found.add((host, port))
        return found

    def sockets(self) -> set[str]:
        """Names of sockets of this machine to which it connected: a resolver may listen on one."""
        calls = self._read("connect")
        return {match[1] for _, arguments in calls if (match := _UNIX.search(arguments))}

    def _read(self, names: str) -> Iterator[tuple[str, str]]:
        wanted = set(names.split(","))
        with self.file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                call = _CALL.match(line)
                if call and call["name"] in wanted:
                    yield call["name"], call["arguments"]

    def _paths(self, name: str, arguments: str) -> Iterator[Path]:
        if name in ("open", "openat", "openat2") and not _WRITING.search(arguments):
            return
        words = list(_WORD.finditer(arguments))
        if name.startswith("symlink"):
            words = words[1:]  # the first is what the link says
        for word in words:
            folder = Path(word["path"]) if word["path"] else self.folder
            yield Path(os.path.normpath(folder / word["name"]))


@cache
def _reason() -> str:
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-o", os.devnull, "true"], capture_output=True, text=True
    )
    return f"strace cannot be used here: {tried.stderr.strip()}" if tried.returncode else ""


def trace(file: Path, *, folder: Path) -> Trace:
    """A new trace in `file`, of a process that starts in `folder`."""
    if reason := _reason():
        pytest.skip(reason)
    return Trace(file, folder)
