"""Reads the records of a damaged database page by page, without its indexes, its schema or its first page.

SQLite gives up on a table as soon as one page on the way to a row is damaged. The rows on the other pages are intact:
each leaf page lists its own records, and each record lists the types of its values. Pages in the write-ahead log are
newer than those in the file.

See https://www.sqlite.org/fileformat2.html for the format.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vault_memory.database.log_pages import committed_pages

MAGIC = b"SQLite format 3\x00"
USUAL_PAGE_SIZE = 4096
"""What SQLite takes when nobody says otherwise; assumed where the first page cannot be read."""
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
FIRST_PAGE_HEADER = 100
LONGEST_RECORD = 1 << 30

Value = int | float | str | bytes | None


class DamagedRecord(Exception):
    """The bytes are not a whole record."""


class StoredRecord(NamedTuple):
    """One row of a table, or one entry of an index."""

    rowid: int | None
    """None in an index and in a table without row ids."""
    values: tuple[Value, ...]


def read_records(path: Path) -> Iterator[StoredRecord]:
    """Yield every record that can be read from the database at `path` and from the log beside it."""
    with _Pages(path) as pages:
        for number in pages.numbers():
            page = pages.read(number)
            start = FIRST_PAGE_HEADER if number == 1 else 0
            if len(page) > start and page[start] in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
                yield from _records_on(pages, page, start)


class _Pages:
    """The newest version of each page."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._log = committed_pages(Path(f"{path}-wal"))
        head = self._log.pages.get(1) or os.pread(self._file, FIRST_PAGE_HEADER, 0)
        self.size, reserved = self._log.page_size or USUAL_PAGE_SIZE, 0
        if head.startswith(MAGIC) and len(head) >= FIRST_PAGE_HEADER:
            stored = int.from_bytes(head[16:18])
            self.size, reserved = 65536 if stored == 1 else stored, head[20]
            if self.size < 512 or self.size & (self.size - 1):
                self.size, reserved = USUAL_PAGE_SIZE, 0
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
            continue  # the others on this page may be whole


def _record_at(pages: _Pages, page: bytes, cell: int, kind: int) -> StoredRecord:
    if kind == INDEX_INTERIOR:
        cell += 4  # the number of the page below
    length, cell = _varint(page, cell)
    rowid = None
    if kind == TABLE_LEAF:
        rowid, cell = _varint(page, cell)
        rowid = rowid - (1 << 64) if rowid >= 1 << 63 else rowid
    if not 0 < length <= LONGEST_RECORD:
        raise DamagedRecord
    return StoredRecord(rowid, _values(_payload(pages, page, cell, length, kind)))


def _payload(pages: _Pages, page: bytes, cell: int, length: int, kind: int) -> bytes:
    """The bytes of a record, those on its overflow pages included."""
    usable = pages.usable
    most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return _exactly(page[cell : min(cell + length, usable)], length)
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    local = local if local <= most else least
    parts, rest = [page[cell : cell + local]], length - local
    following = int.from_bytes(_exactly(page[cell + local : cell + local + 4], 4))
    while rest > 0:
        overflow = pages.read(following) if following else b""
        if not overflow:
            raise DamagedRecord
        following = int.from_bytes(overflow[:4])
        parts.append(overflow[4 : min(4 + rest, usable)])
        rest -= len(parts[-1])
        if (rest > 0) != (following > 0):  # the chain of a whole record ends with its last byte
            raise DamagedRecord
    return b"".join(parts)


def _exactly(raw: bytes, length: int) -> bytes:
    if len(raw) != length:
        raise DamagedRecord
    return raw


def _values(payload: bytes) -> tuple[Value, ...]:
    header, place = _varint(payload, 0)
    if not place <= header <= len(payload):
        raise DamagedRecord
    body, values = header, []
    while place < header:
        kind, place = _varint(payload, place)
        value, body = _value(payload, kind, body)
        values.append(value)
    if place != header or body != len(payload):
        raise DamagedRecord
    return tuple(values)


_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _value(payload: bytes, kind: int, place: int) -> tuple[Value, int]:
    """The value of serial type `kind` at `place`, and the place after it."""
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
    """A number of SQLite's variable length at `place`, and the place after it."""
    number = 0
    for offset in range(8):
        byte = raw[place + offset]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + offset + 1
    return number << 8 | raw[place + 8], place + 9
