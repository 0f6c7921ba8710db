"""The state folder of a host: its lock, so that one host serves a folder, and its socket."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import Locked
from vault_memory.hosting.vault_folders import DEEPEST
from vault_memory.vault.state_dir import state_root

HOSTS = "hosts"
"""In the folder of all states: a folder for each host, by the folder of its vaults"""


class HostRuns(Locked):
    """Another host serves the vaults in this folder."""

    def __init__(self, vaults: Path, pid: int | None) -> None:
        process = f" (process {pid})" if pid else ""
        super().__init__(
            f"a host already serves the vaults in `{vaults}`{process}",
            hint=f"`vault-memory host --vaults {vaults} --status` shows it; stop it first",
            pid=pid,
        )


class HostFolder(NamedTuple):
    """The state folder of the host of one folder of vaults."""

    path: Path

    @property
    def socket(self) -> Path:
        """Where the host answers about itself"""
        return self.path / "host.sock"

    @property
    def lock_file(self) -> Path:
        return self.path / "host.lock"

    @property
    def pid_file(self) -> Path:
        return self.path / "host.pid"

    def pid(self) -> int | None:
        """Returns the id of the process that wrote that it is the host."""
        try:
            return int(self.pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            # Fault (B42): the file is only a hint, and a crash may have cut it off.
            return None


def host_folder(vaults: Path, environment: Mapping[str, str]) -> HostFolder:
    """Returns the state folder of the host of this folder. It need not exist."""
    return HostFolder(host_state(vaults, state_root(environment)))


def host_state(vaults: Path, states: Path) -> Path:
    """Returns the state folder of a host in the folder of all states. It need not exist."""
    folder = os.path.realpath(vaults).encode("utf-8", "surrogateescape")
    return states / HOSTS / hashlib.sha256(folder).hexdigest()[:32]


class HostPlace(NamedTuple):
    """A running host."""

    vaults: Path
    """The folder of its vaults"""
    pid: int


def host_of(root: Path, environment: Mapping[str, str]) -> HostPlace | None:
    """Returns the host that serves this vault; None without one."""
    for vaults in root.resolve().parents[:DEEPEST]:
        folder = host_folder(vaults, environment)
        pid = folder.pid()
        if pid is None:
            continue
        # Fault: a host that was killed leaves its file, and not its lock.
        try:
            with state_file.lock(folder.lock_file, patience=0):
                continue
        except state_file.LockTaken:
            return HostPlace(vaults, pid)
    return None


@contextmanager
def only_host(vaults: Path, folder: HostFolder) -> Iterator[None]:
    """Makes this process the host of the folder. Raises HostRuns."""
    places.make_private(folder.path)
    try:
        with state_file.lock(folder.lock_file, patience=0):
            folder.pid_file.write_text(str(os.getpid()), encoding="ascii")
            try:
                yield
            finally:
                with suppress(OSError):
                    folder.pid_file.unlink()
    except state_file.LockTaken:
        raise HostRuns(vaults, folder.pid()) from None
