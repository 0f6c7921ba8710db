"""Reads the committed pages of a write-ahead log.

See https://www.sqlite.org/fileformat2.html#the_write_ahead_log for the format.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER, FRAME_HEADER = 32, 24
MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word of a log → the byte order of its checksums"""


@dataclass(frozen=True, slots=True)
class LogPages:
    """Content of a log. `page_size` is 0 when there is no readable log."""

    page_size: int = 0
    pages: dict[int, bytes] = field(default_factory=dict)
    """Page number → newest committed version of the page"""


def committed_pages(path: Path) -> LogPages:
    """Return the committed pages of the log at `path`.

    A frame with a wrong checksum ends the log, as in SQLite.
    """
    try:
        raw = path.read_bytes()
    except OSError:
        return LogPages()
    if len(raw) < HEADER:
        return LogPages()
    magic, _, size, _, salt_1, salt_2, sum_1, sum_2 = struct.unpack_from(">8I", raw)
    salts = (salt_1, salt_2)
    sums = (sum_1, sum_2)
    order = MAGICS.get(magic)
    if order is None or _checksum(raw[: HEADER - 8], order, (0, 0)) != sums:
        return LogPages()
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for start in range(HEADER, len(raw) - FRAME_HEADER - size + 1, FRAME_HEADER + size):
        number, pages_after, salt_1, salt_2, sum_1, sum_2 = struct.unpack_from(
            ">6I", raw, start
        )
        page = raw[start + FRAME_HEADER : start + FRAME_HEADER + size]
        sums = _checksum(page, order, _checksum(raw[start : start + 8], order, sums))
        # A frame of an older generation of the log keeps its bytes behind the newest one.
        if (salt_1, salt_2) != salts or (sum_1, sum_2) != sums:
            break
        pending[number] = page
        # Only the last frame of a transaction gives the size of the database after it.
        if pages_after:
            committed |= pending
            pending = {}
    return LogPages(size, committed)


def _checksum(raw: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for left, right in struct.iter_unpack(f"{order}2I", raw):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second
