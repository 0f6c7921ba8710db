"""Reads the records of a damaged database page by page.

The reader needs neither the indexes nor the schema nor the first page.

SQLite cannot read a row when one page on the way to it is damaged. The rows on the other pages
are intact: each leaf page lists its own records, and each record lists the types of its values.
Pages in the write-ahead log are newer than those in the file.

See https://www.sqlite.org/fileformat2.html for the format.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MAGIC = b"SQLite format 3\x00"
DEFAULT_PAGE_SIZE = 4096
"""SQLite's default, assumed when the first page cannot be read"""
MIN_PAGE_SIZE = 512
MAX_PAGE_SIZE = 65536
FIRST_PAGE_HEADER = 100
TABLE_LEAF = 0x0D
INDEX_LEAF = 0x0A
INDEX_INTERIOR = 0x02
PAGE_KINDS_WITH_RECORDS = (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR)
LEAF_HEADER = 8
INTERIOR_HEADER = 12
POINTER = 4
"""Bytes of the number of a page"""
MAX_RECORD_BYTES = 1 << 30

Value = int | float | str | bytes | None
HEADER = struct.Struct(">8I")
FRAME_HEADER = struct.Struct(">6I")
BYTE_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word of a log → the byte order of its checksums"""
MASK = 0xFFFFFFFF

Sums = tuple[int, int]
"""The running checksum of a log"""


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
            if len(page) > start and page[start] in PAGE_KINDS_WITH_RECORDS:
                yield from _records_on(pages, page, start)


class _Pages:
    """Newest version of each page, from the log or the file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._log = committed_pages(Path(f"{path}-wal"))
        head = self._log.pages.get(1)
        if head is None:
            head = os.pread(self._file, FIRST_PAGE_HEADER, 0)
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
        """Return the numbers of all pages. The first page has number 1."""
        in_file = os.fstat(self._file).st_size // self.size
        in_log = max(self._log.pages, default=0)
        return range(1, max(in_file, in_log) + 1)

    def read(self, number: int) -> bytes:
        """Return a page; empty if it is missing or incomplete."""
        page = self._log.pages.get(number)
        if page is None:
            page = os.pread(self._file, self.size, (number - 1) * self.size)
        if len(page) == self.size:
            return page
        return b""


def _page_size(head: bytes) -> tuple[int, int]:
    """Return the page size and the reserved bytes of a page, from the first page."""
    size = _integer(head, 16, 2)
    if size == 1:
        size = MAX_PAGE_SIZE
    is_power_of_two = size & (size - 1) == 0
    # Fault (B45): a damaged header must not make every page unreadable.
    if size < MIN_PAGE_SIZE or not is_power_of_two:
        return DEFAULT_PAGE_SIZE, 0
    return size, head[20]


def _records_on(pages: _Pages, page: bytes, start: int) -> Iterator[StoredRecord]:
    """Yield the readable records of a page, whose header is at `start`."""
    kind = page[start]
    header = INTERIOR_HEADER if kind == INDEX_INTERIOR else LEAF_HEADER
    pointers = start + header
    count = _integer(page, start + 3, 2)
    end = min(pointers + 2 * count, pages.usable - 1)
    for place in range(pointers, end, 2):
        cell = _integer(page, place, 2)
        # Fault (B45): a damaged pointer may lead into the header or behind the page.
        if not pointers <= cell < pages.usable:
            continue
        try:
            yield _record_at(pages, page, cell, kind)
        except (DamagedRecord, IndexError, struct.error, UnicodeDecodeError):
            # Other records on this page may be intact.
            continue


def _record_at(pages: _Pages, page: bytes, cell: int, kind: int) -> StoredRecord:
    place = cell
    if kind == INDEX_INTERIOR:
        # The number of the child page comes first.
        place += POINTER
    length, place = _varint(page, place)
    rowid = None
    if kind == TABLE_LEAF:
        rowid, place = _varint(page, place)
        rowid = _signed(rowid)
    # Fault (B45): a damaged length would make the reader join pages until the memory is
    # full.
    if not 0 < length <= MAX_RECORD_BYTES:
        raise DamagedRecord
    payload = _payload(pages, page, place, length, kind)
    return StoredRecord(rowid, _values(payload))


def _payload(pages: _Pages, page: bytes, place: int, length: int, kind: int) -> bytes:
    """Return the bytes of a record, including its overflow pages."""
    local = _local_length(pages.usable, length, kind)
    end = place + local
    if local == length:
        return _exactly(page[place : min(end, pages.usable)], length)
    pointer = _exactly(page[end : end + POINTER], POINTER)
    overflow = _overflow(pages, int.from_bytes(pointer), length - local)
    return page[place:end] + overflow


def _local_length(usable: int, length: int, kind: int) -> int:
    """Return how many bytes of a record are on its own page, by the rules of the format."""
    if kind == TABLE_LEAF:
        max_local = usable - 35
    else:
        max_local = (usable - 12) * 64 // 255 - 23
    if length <= max_local:
        return length
    min_local = (usable - 12) * 32 // 255 - 23
    local = min_local + (length - min_local) % (usable - POINTER)
    return local if local <= max_local else min_local


def _overflow(pages: _Pages, number: int, length: int) -> bytes:
    """Return `length` bytes from the chain of overflow pages that begins at page `number`."""
    segments: list[bytes] = []
    remaining = length
    while remaining > 0:
        page = pages.read(number) if number else b""
        if not page:
            raise DamagedRecord
        number = _integer(page, 0, POINTER)
        end = min(POINTER + remaining, pages.usable)
        segments.append(page[POINTER:end])
        remaining -= end - POINTER
        # Fault (B45): the chain of an intact record ends with its last byte. Another
        # record overwrote this one, or a damaged chain leads in a circle.
        if (remaining > 0) != (number > 0):
            raise DamagedRecord
    return b"".join(segments)


def _exactly(raw: bytes, length: int) -> bytes:
    if len(raw) != length:
        raise DamagedRecord
    return raw


def _values(payload: bytes) -> tuple[Value, ...]:
    """Return the values of a record: a header with their types comes before them."""
    header_end, place = _varint(payload, 0)
    # Fault (B45): damaged bytes may look like a record. Only one whose lengths all
    # agree is taken.
    if not place <= header_end <= len(payload):
        raise DamagedRecord
    body = header_end
    values: list[Value] = []
    while place < header_end:
        kind, place = _varint(payload, place)
        value, body = _value(payload, kind, body)
        values.append(value)
    if place != header_end or body != len(payload):
        raise DamagedRecord
    return tuple(values)


_CONSTANTS = {0: None, 8: 0, 9: 1}
"""Serial type → value, for types without bytes"""
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FLOAT = 7
_FIRST_BLOB = 12


def _value(payload: bytes, kind: int, place: int) -> tuple[Value, int]:
    """Return the value of serial type `kind` at `place`, and the place after it."""
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], place
    if kind == _FLOAT:
        [number] = struct.unpack_from(">d", payload, place)
        return float(number), place + 8
    size = _INTEGER_BYTES.get(kind, 0)
    if not size and kind < _FIRST_BLOB:
        raise DamagedRecord
    end = place + (size or (kind - _FIRST_BLOB) // 2)
    raw = _exactly(payload[place:end], end - place)
    if size:
        return int.from_bytes(raw, signed=True), end
    is_text = kind % 2 == 1
    return raw.decode("utf-8") if is_text else raw, end


def _integer(raw: bytes, place: int, size: int) -> int:
    """Return the unsigned big-endian integer at `place`."""
    return int.from_bytes(raw[place : place + size])


def _signed(number: int) -> int:
    if number >= 1 << 63:
        return number - (1 << 64)
    return number


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    """Return the variable-length integer at `place`, and the place after it."""
    number = 0
    for offset in range(8):
        byte = raw[place + offset]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + offset + 1
    last = raw[place + 8]
    return number << 8 | last, place + 9


# --- WAL pages ---

# Reads the committed pages of a write-ahead log.
#
# See https://www.sqlite.org/fileformat2.html#the_write_ahead_log for the format.


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
