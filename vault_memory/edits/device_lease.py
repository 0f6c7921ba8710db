"""The lease: the exclusive right of one device to edit a vault that several devices share.

The file ``.vault-memory.lease`` at the top of the vault names the device. It exists only while that device edits, and
expires a minute later. Another device then reads and searches as always, and its writes wait. The lease keeps two bots
from doing the same work twice. No note depends on it: each write is safe by itself, also where clocks differ or a sync
program brings the lease late.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from vault_memory.edits.audit_log import AuditLog

NAME = ".vault-memory.lease"
DURATION = 60.0
"""Seconds for which a lease is valid after it was written"""
RENEWAL = 20.0
"""Seconds after which a held lease is written again"""
SKEW = 300.0
"""Seconds by which the clocks of two devices may differ"""
_LONGEST = 4096
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)

_Barred = Literal["", "other_device"]


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The content of the file."""

    device: str
    process: int
    until: float
    """seconds since the epoch"""


class DeviceLease:
    """The lease of one vault, as this process holds or meets it."""

    def __init__(self, root: Path, audit_log: AuditLog) -> None:
        self._file = root / NAME
        self._audit_log = audit_log
        self._mine: LeaseRecord | None = None
        self._other: tuple[LeaseRecord, float] | None = None
        """the lease of another device, and when it was first seen"""

    def barred(self, note: str, now: float) -> _Barred:
        """Whether another device edits now. If not, and several are known, takes the lease."""
        # Ours need not be renewed yet, unless the clock was set back.
        if self._mine is not None and 0 <= now - (self._mine.until - DURATION) <= RENEWAL:
            return ""
        self._audit_log.discover_devices(note)
        if not self._audit_log.others and not os.path.lexists(self._file):
            return ""
        try:
            with self._locked(os.O_CREAT) as fd:
                return self._take(fd, now)
        except BlockingIOError:
            return "other_device"
        except OSError:
            # Where no lease can be written, the write itself is about to fail with the reason.
            return ""

    def release(self) -> None:
        """Deletes the lease, if this process holds it."""
        mine = self._mine
        self._mine = None
        if mine is None:
            return
        with suppress(OSError), self._locked() as fd:
            record = _read(fd)
            if record is None:
                return
            # Fault (A27): another device may have taken the lease over. Its lease must
            # not be deleted.
            if (record.device, record.process) == (mine.device, mine.process):
                os.unlink(self._file)

    def _take(self, fd: int, now: float) -> _Barred:
        record = _read(fd)
        if record is not None and record.device != self._audit_log.device:
            if self._is_held_by_other(record, now):
                self._mine = None
                return "other_device"
        elif record is not None and _is_renewed_elsewhere(record, now):
            return ""
        self._write(fd, now)
        return ""

    def _is_held_by_other(self, record: LeaseRecord, now: float) -> bool:
        """Whether the lease of another device is valid."""
        self._audit_log.meet([record.device])
        if self._other is None or self._other[0] != record:
            self._other = record, now
        seen_for = now - self._other[1]
        # Fault (B50): clocks differ. A lease that never changes expires by our own
        # clock, and one dated years ahead is ignored.
        return 0 < record.until - now <= DURATION + SKEW and seen_for < DURATION

    def _write(self, fd: int, now: float) -> None:
        mine = LeaseRecord(self._audit_log.device, os.getpid(), now + DURATION)
        raw = json.dumps(asdict(mine)).encode() + b"\n"
        os.pwrite(fd, raw, 0)
        os.ftruncate(fd, len(raw))
        os.fsync(fd)
        self._mine = mine

    @contextmanager
    def _locked(self, create: int = 0) -> Iterator[int]:
        """Opens the file and locks it, where the file system has locks. Raises BlockingIOError, OSError."""
        fd = os.open(
            self._file,
            # Fault (H120): a link under this name would let us overwrite a file outside
            # the vault.
            os.O_RDWR | create | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            0o644,
        )
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # Some network file systems have no locks. There the lease alone must
                # do.
                if error.errno not in _NO_LOCKS:
                    raise
            # Fault (A27): another process deleted the file between our two calls. Its
            # lock guards nothing.
            if os.fstat(fd).st_nlink == 0:
                raise BlockingIOError
            yield fd
        finally:
            os.close(fd)


def _is_renewed_elsewhere(record: LeaseRecord, now: float) -> bool:
    """Whether another process of this device holds the lease, and renews it."""
    is_new = record.until - now > DURATION - RENEWAL
    return is_new and record.process != os.getpid()


def _read(fd: int) -> LeaseRecord | None:
    try:
        content = json.loads(os.pread(fd, _LONGEST, 0))
        return LeaseRecord(str(content["device"]), int(content["process"]), float(content["until"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
