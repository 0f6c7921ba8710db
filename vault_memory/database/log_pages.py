"""Reads the pages that stand in a write-ahead log and were committed."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER, FRAME_HEADER = 32, 24
MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word of a log → the byte order of its checksums"""


@dataclass(frozen=True, slots=True)
class LogPages:
    """What a log holds. `page_size` is 0 where there is no log, or none that can be read."""

    page_size: int = 0
    pages: dict[int, bytes] = field(default_factory=dict)
    """the newest committed version of each page, by page number"""


def committed_pages(path: Path) -> LogPages:
    """The committed pages of the log at `path`. A frame whose checksum is wrong ends the log, as it does in SQLite."""
    try:
        raw = path.read_bytes()
    except OSError:
        return LogPages()
    if len(raw) < HEADER:
        return LogPages()
    magic, _, size, _, *salts_and_sums = struct.unpack_from(">8I", raw)
    salts, sums = tuple(salts_and_sums[:2]), tuple(salts_and_sums[2:])
    order = MAGICS.get(magic)
    if order is None or _checksum(raw[: HEADER - 8], order, (0, 0)) != sums:
        return LogPages()
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for start in range(HEADER, len(raw) - FRAME_HEADER - size + 1, FRAME_HEADER + size):
        number, pages_after, *rest = struct.unpack_from(">6I", raw, start)
        page = raw[start + FRAME_HEADER : start + FRAME_HEADER + size]
        sums = _checksum(page, order, _checksum(raw[start : start + 8], order, sums))
        if tuple(rest[:2]) != salts or tuple(rest[2:]) != sums:
            break
        pending[number] = page
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
