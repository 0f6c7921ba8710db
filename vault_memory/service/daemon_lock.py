"""The lock of the one daemon of a vault, or host of a folder; the system frees it at its end."""

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from vault_memory.config import state_file
from vault_memory.errors import Locked, VaultMemoryError


class StateFolderGone(VaultMemoryError):
    """The state folder was deleted or replaced while the daemon ran."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the state folder `{folder}` was deleted or replaced while the daemon ran",
            hint="start it again; the index is built anew from the notes, which are not touched",
            folder=str(folder),
        )


class DaemonLock:
    """The daemon holds it while it runs. A file beside it names the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._locks = ExitStack()
        self._inode: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        try:
            self._locks.enter_context(state_file.lock(self.path, patience=0))
        except state_file.LockTaken:
            owner = pid_of(self.path)
            message = "a daemon already runs on this vault"
            if owner:
                message += f" (process {owner})"
            raise Locked(
                message, hint="`vault-memory status` shows it; stop it first, or use it", pid=owner
            ) from None
        self._inode = inode_of(self.path)
        _pid_file(self.path).write_text(str(os.getpid()), encoding="ascii")
        return self

    def check(self) -> None:
        """Raises StateFolderGone when the file at the path is not the locked one any more."""
        # Fault (A26): another daemon could lock the new file. Two of them would write
        # to one vault.
        if inode_of(self.path) != self._inode:
            raise StateFolderGone(self.path.parent)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Fault (A26): in a new state folder, the file may belong to another daemon.
        if inode_of(self.path) == self._inode:
            _pid_file(self.path).unlink(missing_ok=True)
        self._locks.close()


def pid_of(lock: Path) -> int | None:
    """Returns the id of the process that wrote that it holds the lock."""
    try:
        return int(_pid_file(lock).read_text(encoding="ascii"))
    except (OSError, ValueError):
        # Fault (B42): the file is only a hint. It may be missing, or cut off by a
        # crash.
        return None


def is_held(lock: Path) -> bool:
    """Whether a process holds the lock. Raises OSError when it cannot be opened."""
    try:
        with state_file.lock(lock, patience=0):
            return False
    except state_file.LockTaken:
        return True


def inode_of(path: Path) -> tuple[int, int] | None:
    """Returns device and inode of a file; None when it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _pid_file(lock: Path) -> Path:
    return lock.with_suffix(".pid")
