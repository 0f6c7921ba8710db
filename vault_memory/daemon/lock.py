"""One daemon a vault: a lock that the system frees when the process ends, however it ends."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from vault_memory.errors import Locked


class DaemonLock:
    """Held for the daemon's life. The file says whose it is; the lock is the truth."""

    def __init__(self, path: Path) -> None:
        import filelock

        self.path = path
        self._lock = filelock.FileLock(path, blocking=False)

    def __enter__(self) -> Self:
        import filelock

        try:
            self._lock.acquire()
        except filelock.Timeout:
            owner = pid_of(self.path)
            raise Locked(
                "a daemon already runs on this vault" + (f" (process {owner})" if owner else ""),
                hint="`vault-memory status` shows it; stop it first, or use it",
                pid=owner,
            ) from None
        _pid_file(self.path).write_text(str(os.getpid()), encoding="ascii")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _pid_file(self.path).unlink(missing_ok=True)
        self._lock.release()


def pid_of(lock: Path) -> int | None:
    """The process that says it holds the lock."""
    try:
        return int(_pid_file(lock).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _pid_file(lock: Path) -> Path:
    return lock.with_suffix(".pid")
