"""The items that queries returned today, in the state folder: `reads.jsonl`, until a night folds it.

An item counts once a day. Nothing here is synced to the disk: a power loss costs a day of reads.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple

from vault_memory.logs import Logger

logger = Logger(__name__)

NAME = "reads.jsonl"
LARGEST = 1 << 20
"""Bytes above which the file is written again with each read once"""
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class ItemRead(NamedTuple):
    """An item that a query returned on a day."""

    scope: str
    key: str
    """its content key"""
    day: str
    """ISO 8601"""


class ItemReads:
    """The reads of this device that no night has folded yet."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME
        self._noted: set[ItemRead] = set()
        """the reads of the latest day that this process noted"""
        self._day = ""

    def note(self, items: Iterable[tuple[str, str]], day: date) -> None:
        """Notes the scopes and keys of items that an answer returned. Never raises OSError."""
        today = day.isoformat()
        if today != self._day:
            self._noted.clear()
            self._day = today
        reads = {ItemRead(scope, key, today) for scope, key in items if key}
        new_reads = sorted(reads - self._noted)
        if not new_reads:
            return
        self._noted.update(new_reads)
        try:
            self._append(new_reads)
        except OSError as error:
            # A full disk must not take the answer from the user.
            logger.warning("reads cannot be noted: %s", error)

    def reads(self) -> list[ItemRead]:
        """Returns the reads, each once. Lines that are no reads are skipped."""
        try:
            raw = self._path.read_bytes()
        except OSError:
            return []
        return _reads_in(raw)

    def drop(self, is_folded: Callable[[ItemRead], bool]) -> None:
        """Removes the reads that a night has folded. Raises OSError."""
        if self._path.exists():
            with self._locked() as fd:
                _rewrite(fd, [read for read in _reads_in(_raw(fd)) if not is_folded(read)])

    def _append(self, reads: Iterable[ItemRead]) -> None:
        with self._locked() as fd:
            size = os.fstat(fd).st_size
            if size > LARGEST:
                _rewrite(fd, _reads_in(_raw(fd)))
                size = os.fstat(fd).st_size
            # Without nights the file would grow for ever.
            if size <= LARGEST:
                os.write(fd, _lines(reads))

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Opens the file, and keeps other writers out."""
        fd = os.open(self._path, _FLAGS, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)


def _raw(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _rewrite(fd: int, reads: Iterable[ItemRead]) -> None:
    """Replaces the content of the file. A crash between the two calls loses a day of reads."""
    os.ftruncate(fd, 0)
    os.write(fd, _lines(reads))


def _lines(reads: Iterable[ItemRead]) -> bytes:
    # A torn line of a crash ends where the next line begins.
    return b"".join(b"\n" + json.dumps(read._asdict()).encode() for read in reads)


def _reads_in(raw: bytes) -> list[ItemRead]:
    reads = (_read_of(line) for line in raw.split(b"\n") if line.strip())
    return list(dict.fromkeys(read for read in reads if read is not None))


def _read_of(line: bytes) -> ItemRead | None:
    try:
        fields = json.loads(line)
        read = ItemRead(fields["scope"], fields["key"], fields["day"])
        date.fromisoformat(read.day)
    except (ValueError, KeyError, TypeError):
        return None
    is_text = isinstance(read.scope, str) and isinstance(read.key, str)
    return read if is_text else None
