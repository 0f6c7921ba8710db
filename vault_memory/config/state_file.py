"""Small files that the program keeps for itself: read, written in one step, and locked.

A lock is one of the system, which frees it when the process ends, in any way. Its file stays: a
process that deletes it would let another one lock a new file of the same name.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.05
"""Time between two tries of a lock that another process holds"""


class LockTaken(Exception):
    """Another process holds the lock."""


def read_json(file: Path) -> Any:
    """Return what the file says; None when it is missing, unreadable or damaged."""
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        # Fault: a person may edit or delete any file of the state folder.
        return None


def write(
    file: Path,
    text: str,
    *,
    durable: bool = False,
    mode: int = 0o600,
    modified: float | None = None,
) -> None:
    """Replace the file in one step: after a crash it has the old text or the new one.

    With `durable`, the text is on disk before the file has its name: a power failure leaves no
    empty file. `modified` is the time that the file gets, in seconds since 1970.
    """
    # Fault (B34): a program that lists the folder must not take half a file for the
    # complete one, so the name is hidden. Two processes may write the same file at
    # once, so it is random.
    new_file = file.with_name(f".{file.name}.{os.urandom(6).hex()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(new_file, flags, mode)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            if durable:
                stream.flush()
                # Fault (B36): after a power loss the rename may be on the disk, and the
                # text not.
                os.fsync(stream.fileno())
        if modified is not None:
            os.utime(new_file, (modified, modified))
        os.replace(new_file, file)
    except BaseException:
        # On a full disk, each attempt would leave another file.
        with suppress(OSError):
            new_file.unlink()
        raise


@contextmanager
def lock(file: Path, *, patience: float | None = None) -> Iterator[None]:
    """Exclude all others that lock this file, in this process and in others.

    `patience` is how many seconds to wait; None waits without end. Raises LockTaken.
    """
    fd = _lock(file, patience)
    try:
        yield
    finally:
        os.close(fd)


def _lock(file: Path, patience: float | None) -> int:
    """Return the descriptor of the locked file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    deadline = None if patience is None else time.monotonic() + patience
    while True:
        fd = os.open(file, flags, 0o600)
        try:
            _wait_for(fd, deadline)
            # Fault (B43): the user deleted the state folder meanwhile. Others lock
            # another file by now.
            if os.fstat(fd).st_nlink:
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _wait_for(fd: int, deadline: float | None) -> None:
    if deadline is None:
        fcntl.flock(fd, fcntl.LOCK_EX)
        return
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            raise LockTaken
        time.sleep(POLL_SECONDS)
