"""Reads the records of a damaged database page by page, without its indexes, its schema or its first page.

SQLite cannot read a row when one page on the way to it is damaged. The rows on the other pages are intact:
each leaf page lists its own records, and each record lists the types of its values. Pages in the write-ahead
log are newer than those in the file.

See https://www.sqlite.org/fileformat2.html for the format.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vault_memory.database.wal_pages import committed_pages

MAGIC = b"SQLite format 3\x00"
DEFAULT_PAGE_SIZE = 4096
"""SQLite's default, assumed when the first page cannot be read"""
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
FIRST_PAGE_HEADER = 100
MAX_RECORD_BYTES = 1 << 30

Value = int | float | str | bytes | None


class DamagedRecord(Exception):
    """The bytes are not a complete record."""


class StoredRecord(NamedTuple):
    """One row of a table, or one entry of an index."""

    rowid: int | None
    """None in an index and in a table without row ids"""
    values: tuple[Value, ...]


def read_records(path: Path) -> Iterator[StoredRecord]:
    """Yield each readable record of the database at `path` and of its write-ahead log."""
    with _Pages(path) as pages:
        for number in pages.numbers():
            page = pages.read(number)
            start = FIRST_PAGE_HEADER if number == 1 else 0
            if len(page) > start and page[start] in (
                TABLE_LEAF,
                INDEX_LEAF,
                INDEX_INTERIOR,
            ):
                yield from _records_on(pages, page, start)


class _Pages:
    """Newest version of each page, from the log or the file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._log = committed_pages(Path(f"{path}-wal"))
        head = self._log.pages.get(1) or os.pread(self._file, FIRST_PAGE_HEADER, 0)
        self.size = self._log.page_size or DEFAULT_PAGE_SIZE
        reserved = 0
        if head.startswith(MAGIC) and len(head) >= FIRST_PAGE_HEADER:
            self.size, reserved = _page_size(head)
        self.usable = self.size - reserved

    def __enter__(self) -> "_Pages":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def numbers(self) -> range:
        in_file = os.fstat(self._file).st_size // self.size
        return range(1, max(in_file, max(self._log.pages, default=0)) + 1)

    def read(self, number: int) -> bytes:
        page = self._log.pages.get(number)
        if page is None:
            page = os.pread(self._file, self.size, (number - 1) * self.size)
        return page if len(page) == self.size else b""


def _page_size(head: bytes) -> tuple[int, int]:
    """Return the page size and the reserved bytes a page that the first page gives."""
    stored = int.from_bytes(head[16:18])
    size = 65536 if stored == 1 else stored
    is_power_of_two = size & (size - 1) == 0
    # A damaged header must not make every page unreadable.
    if size < 512 or not is_power_of_two:
        return DEFAULT_PAGE_SIZE, 0
    return size, head[20]


def _records_on(pages: _Pages, page: bytes, start: int) -> Iterator[StoredRecord]:
    kind = page[start]
    pointers = start + (12 if kind == INDEX_INTERIOR else 8)
    count = int.from_bytes(page[start + 3 : start + 5])
    for place in range(pointers, min(pointers + 2 * count, pages.usable - 1), 2):
        cell = int.from_bytes(page[place : place + 2])
        try:
            if pointers <= cell < pages.usable:
                yield _record_at(pages, page, cell, kind)
        except (DamagedRecord, IndexError, struct.error, UnicodeDecodeError):
            continue  # other records on this page may be intact


def _record_at(pages: _Pages, page: bytes, cell: int, kind: int) -> StoredRecord:
    if kind == INDEX_INTERIOR:
        cell += 4  # skip the number of the child page
    length, cell = _varint(page, cell)
    rowid = None
    if kind == TABLE_LEAF:
        rowid, cell = _varint(page, cell)
        rowid = rowid - (1 << 64) if rowid >= 1 << 63 else rowid
    if not 0 < length <= MAX_RECORD_BYTES:
        raise DamagedRecord
    return StoredRecord(rowid, _values(_payload(pages, page, cell, length, kind)))


def _payload(pages: _Pages, page: bytes, cell: int, length: int, kind: int) -> bytes:
    """Return the bytes of a record, including its overflow pages."""
    usable = pages.usable
    if kind == TABLE_LEAF:
        max_local = usable - 35
    else:
        max_local = (usable - 12) * 64 // 255 - 23
    if length <= max_local:
        return _exactly(page[cell : min(cell + length, usable)], length)
    min_local = (usable - 12) * 32 // 255 - 23
    local = min_local + (length - min_local) % (usable - 4)
    if local > max_local:
        local = min_local
    first_overflow = int.from_bytes(_exactly(page[cell + local : cell + local + 4], 4))
    overflow = _overflow(pages, first_overflow, length - local)
    return page[cell : cell + local] + overflow


def _overflow(pages: _Pages, number: int, length: int) -> bytes:
    """Return `length` bytes from the chain of overflow pages that begins at page `number`."""
    segments: list[bytes] = []
    remaining = length
    while remaining > 0:
        page = pages.read(number) if number else b""
        if not page:
            raise DamagedRecord
        number = int.from_bytes(page[:4])
        segment = page[4 : min(4 + remaining, pages.usable)]
        segments.append(segment)
        remaining -= len(segment)
        # The chain of an intact record ends with its last byte; another record overwrote this one.
        if (remaining > 0) != (number > 0):
            raise DamagedRecord
    return b"".join(segments)


def _exactly(raw: bytes, length: int) -> bytes:
    if len(raw) != length:
        raise DamagedRecord
    return raw


def _values(payload: bytes) -> tuple[Value, ...]:
    header, place = _varint(payload, 0)
    if not place <= header <= len(payload):
        raise DamagedRecord
    body = header
    values: list[Value] = []
    while place < header:
        kind, place = _varint(payload, place)
        value, body = _value(payload, kind, body)
        values.append(value)
    if place != header or body != len(payload):
        raise DamagedRecord
    return tuple(values)


_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _value(payload: bytes, kind: int, place: int) -> tuple[Value, int]:
    """Return the value of serial type `kind` at `place`, and the place after it."""
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], place
    if size := _INTEGER_BYTES.get(kind):
        raw = _exactly(payload[place : place + size], size)
        return int.from_bytes(raw, signed=True), place + size
    if kind == 7:
        return float(struct.unpack_from(">d", payload, place)[0]), place + 8
    if kind < 12:
        raise DamagedRecord
    size = (kind - 12) // 2
    raw = _exactly(payload[place : place + size], size)
    return raw if kind % 2 == 0 else raw.decode("utf-8"), place + size


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    """Return the variable-length integer at `place`, and the place after it."""
    number = 0
    for offset in range(8):
        byte = raw[place + offset]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + offset + 1
    return number << 8 | raw[place + 8], place + 9
