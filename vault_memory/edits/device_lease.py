"""Who curates now, where several devices write to one vault: the file ``.vault-memory.lease`` at its top says so.

It is there only while somebody curates, and lapses a minute after. Whoever finds another's reads and searches as ever,
and what it was to write waits. The lease keeps two bots from doing the same twice; no note depends on it: every write
is safe by itself, also where clocks differ or a sync program brings the lease late.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vault_memory.edits.audit_log import AuditLog

NAME = ".vault-memory.lease"
LASTS = 60.0
"""Seconds after the last write"""
RENEWED = 20.0
"""Seconds after which a lease that is held is written anew"""
SKEW = 300.0
"""Seconds by which the clocks of two devices may differ"""
_LONGEST = 4096
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class Held:
    """What the file says."""

    device: str
    process: int
    until: float


class Lease:
    """Of this process, on one vault."""

    def __init__(self, root: Path, trail: AuditLog) -> None:
        self._file, self._trail = root / NAME, trail
        self._mine: Held | None = None
        self._seen: tuple[Held, float] | None = None
        """another's, and since when it is the same"""

    def barred(self, note: str, now: float) -> Literal["", "other_device"]:
        """Whether another device curates now; if not, and several are known, this one does from now on."""
        if (
            self._mine is not None
            and 0 <= self._mine.until - now - (LASTS - RENEWED) <= RENEWED
        ):
            return ""
        self._trail.discover_devices(note)
        if not self._trail.others and not os.path.lexists(self._file):
            return ""
        try:
            with self._locked(os.O_CREAT) as fd:
                return self._taken(fd, now)
        except BlockingIOError:
            return "other_device"
        except OSError:
            return ""  # where no lease can be written, the write itself is about to find out why

    def release(self) -> None:
        """This process curates no more."""
        mine, self._mine = self._mine, None
        if mine is not None:
            with suppress(OSError), self._locked() as fd:
                if (held := _read(fd)) and (held.device, held.process) == (
                    mine.device,
                    mine.process,
                ):
                    os.unlink(self._file)

    def _taken(self, fd: int, now: float) -> Literal["", "other_device"]:
        held = _read(fd)
        if held is not None and held.device != self._trail.device:
            self._trail.meet([held.device])
            if self._seen is None or self._seen[0] != held:
                self._seen = held, now
            if 0 < held.until - now <= LASTS + SKEW and now - self._seen[1] < LASTS:
                self._mine = None
                return "other_device"
        elif (
            held is not None
            and held.process != os.getpid()
            and held.until - now > LASTS - RENEWED
        ):
            return ""  # another process of this device holds it
        mine = Held(self._trail.device, os.getpid(), now + LASTS)
        said = {"device": mine.device, "process": mine.process, "until": mine.until}
        raw = json.dumps(said).encode() + b"\n"
        os.pwrite(fd, raw, 0)
        os.ftruncate(fd, len(raw))
        os.fsync(fd)
        self._mine = mine
        return ""

    @contextmanager
    def _locked(self, create: int = 0) -> Iterator[int]:
        """The file, which nobody else decides on meanwhile, as far as the file system knows of locks."""
        fd = os.open(
            self._file,
            os.O_RDWR | create | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            0o644,
        )
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            if os.fstat(fd).st_nlink == 0:
                raise BlockingIOError
            yield fd
        finally:
            os.close(fd)


def _read(fd: int) -> Held | None:
    try:
        said = json.loads(os.pread(fd, _LONGEST, 0))
        return Held(str(said["device"]), int(said["process"]), float(said["until"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
