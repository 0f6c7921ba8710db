"""The state folder of a host: its lock, so that one host serves a folder, and its socket."""

import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.errors import ConfigError, Locked, VaultUnreachable
from vault_memory.service.daemon_lock import DaemonLock, is_held, pid_of
from vault_memory.vault.listing import SUFFIXES
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.state_dir import state_root

logger = logging.getLogger(__name__)

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
        lock_file = host_folder(vaults, environment).lock_file
        pid = pid_of(lock_file)
        # Fault: a host that was killed leaves its file, and not its lock.
        if pid is not None and is_held(lock_file):
            return HostPlace(vaults, pid)
    return None


@contextmanager
def only_host(vaults: Path, folder: HostFolder) -> Iterator[None]:
    """Makes this process the host of the folder. Raises HostRuns."""
    places.make_private(folder.path)
    with ExitStack() as stack:
        try:
            stack.enter_context(DaemonLock(folder.lock_file))
        except Locked:
            raise HostRuns(vaults, pid_of(folder.lock_file)) from None
        yield


# --- Vault folders ---

# Finds the vaults below a folder: each folder with a marker, and none within another vault.

DEEPEST = 3
"""Levels below the folder of the host on which vaults are looked for"""


class VaultInVaults(ConfigError):
    """The folder of the vaults is a vault itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"`{folder}` is a vault, and no folder of vaults",
            hint="name the folder above it with `--vaults`",
        )


def check_folder(folder: Path) -> None:
    """Raises VaultUnreachable when the folder cannot be listed, VaultInVaults for a vault."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise VaultUnreachable(
            f"the folder of the vaults `{folder}` cannot be listed: {error.strerror}",
            hint="name an existing folder with `--vaults`",
        ) from None
    if has_marker(str(folder)):
        raise VaultInVaults(folder)


def vault_folders(folder: str) -> Iterator[str]:
    """Returns the folders of all vaults. Raises OSError when `folder` cannot be listed."""
    waiting = [(folder, 1)]
    while waiting:
        parent, depth = waiting.pop()
        try:
            children = _folders_in(parent)
        except OSError as error:
            # Fault (C57): an empty list would say that all vaults are gone.
            if parent == folder:
                raise
            logger.warning("a folder of vaults cannot be listed: %s", error)
            continue
        for child in children:
            if _may_be_vault(child):
                yield child
            elif depth < DEEPEST:
                waiting.append((child, depth + 1))


def has_marker(folder: str, *, strict: bool = False) -> bool:
    """Whether a folder has a marker, which may be damaged.

    Raises OSError with `strict` when the folder cannot be looked into.
    """
    try:
        status = os.lstat(os.path.join(folder, MARKER))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        if strict:
            raise
        return False
    return stat.S_ISREG(status.st_mode)


def _may_be_vault(folder: str) -> bool:
    """Whether a folder has a marker, or cannot be looked into."""
    try:
        return has_marker(folder, strict=True)
    except OSError:
        # Fault: a vault that nobody may read would be missing without a word. Its trouble is that
        # of its marker.
        return True


def _folders_in(parent: str) -> list[str]:
    with os.scandir(parent) as entries:
        return [
            entry.path
            for entry in entries
            # Fault: one vault behind a second name would look like two copies.
            if not _is_ignored(entry.name) and entry.is_dir(follow_symlinks=False)
        ]


def _is_ignored(name: str) -> bool:
    # The system keeps a folder on each disk that only it can read.
    return name.startswith(".") or name == "lost+found"


def has_more_notes(root: str, count: int) -> bool:
    """Whether a folder has more than so many Markdown files. It lists no more than needed."""
    notes = 0
    for _, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not _is_ignored(name)]
        notes += sum(name.endswith(SUFFIXES) for name in names)
        if notes > count:
            return True
    return False
