"""Reads the committed pages of a write-ahead log.

See https://www.sqlite.org/fileformat2.html#the_write_ahead_log for the format.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HEADER = struct.Struct(">8I")
FRAME_HEADER = struct.Struct(">6I")
BYTE_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word of a log → the byte order of its checksums"""
MASK = 0xFFFFFFFF

Sums = tuple[int, int]
"""The running checksum of a log"""


@dataclass(frozen=True, slots=True)
class LogPages:
    """Content of a log. `page_size` is 0 when there is no readable log."""

    page_size: int = 0
    pages: dict[int, bytes] = field(default_factory=dict)
    """Page number → newest committed version of the page"""


class _Header(NamedTuple):
    """The header of a log, in the order of its words."""

    magic: int
    version: int
    page_size: int
    checkpoint: int
    salt_1: int
    salt_2: int
    sum_1: int
    sum_2: int


class _Frame(NamedTuple):
    """One page of a log."""

    number: int
    database_size: int
    """Size of the database in pages after a transaction; 0 in all frames but its last"""
    page: bytes


def committed_pages(path: Path) -> LogPages:
    """Return the committed pages of the log at `path`.

    A frame with a wrong checksum ends the log, as in SQLite.
    """
    try:
        raw = path.read_bytes()
    except OSError:
        # A database that was closed properly has no log.
        return LogPages()
    if len(raw) < HEADER.size:
        return LogPages()
    header = _Header(*HEADER.unpack_from(raw))
    order = BYTE_ORDERS.get(header.magic)
    if order is None:
        return LogPages()
    sums = _checksum(raw[: HEADER.size - 8], order, (0, 0))
    if sums != (header.sum_1, header.sum_2):
        return LogPages()
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for frame in _valid_frames(raw, header, order):
        pending[frame.number] = frame.page
        # Fault (B33): the pages of a transaction that a crash cut short must not be
        # mixed with committed ones.
        if frame.database_size:
            committed |= pending
            pending = {}
    return LogPages(header.page_size, committed)


def _valid_frames(raw: bytes, header: _Header, order: str) -> Iterator[_Frame]:
    sums = (header.sum_1, header.sum_2)
    size = FRAME_HEADER.size + header.page_size
    for start in range(HEADER.size, len(raw) - size + 1, size):
        words = FRAME_HEADER.unpack_from(raw, start)
        number, database_size, salt_1, salt_2, sum_1, sum_2 = words
        page = raw[start + FRAME_HEADER.size : start + size]
        # The checksum covers the first two words of the frame, and the page.
        sums = _checksum(raw[start : start + 8], order, sums)
        sums = _checksum(page, order, sums)
        # Fault: a frame of an older generation of the log keeps its bytes behind the
        # newest one.
        if (salt_1, salt_2) != (header.salt_1, header.salt_2):
            return
        if (sum_1, sum_2) != sums:
            return
        yield _Frame(number, database_size, page)


def _checksum(raw: bytes, order: str, sums: Sums) -> Sums:
    first, second = sums
    for left, right in struct.iter_unpack(f"{order}2I", raw):
        first = (first + left + second) & MASK
        second = (second + right + first) & MASK
    return first, second
