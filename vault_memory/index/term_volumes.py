"""Counts the chunks of the scopes and their words, from which the weight of a word follows.

The transaction that writes chunks updates the counts, so that no search counts a vault. They are whole
numbers, so an index that was updated step by step has the same counts as a new one.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from sys import byteorder
from typing import Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.index.filters import listed

NOWHERE = 0
"""Means that a chunk has no second scope; in both columns it means all chunks"""

TABLES = """
    CREATE TABLE volume(
        scope INTEGER NOT NULL,
        also INTEGER NOT NULL,      -- 0: in no other scope; the row (0, 0) counts all chunks
        chunks INTEGER NOT NULL,
        words INTEGER NOT NULL,
        PRIMARY KEY(scope, also)
    ) WITHOUT ROWID;
    CREATE INDEX volume_also ON volume(also) WHERE also <> 0;
"""
BLOCK = 512
"""Of so many chunks the lengths are one row"""
LENGTHS = """
    CREATE TABLE chunk_length(
        block INTEGER PRIMARY KEY,  -- the ids of its chunks divided by BLOCK
        words BLOB NOT NULL         -- of each of its chunks, as uint32; of a deleted one any number
    );
    CREATE VIRTUAL TABLE chunk_word USING fts5vocab(chunk_fts, instance);
"""
_ROW = 4 * BLOCK
"""The bytes of such a row"""
_ADD = """
    INSERT INTO volume VALUES (?, ?, ?, ?)
    ON CONFLICT(scope, also) DO UPDATE
    SET chunks = chunks + excluded.chunks, words = words + excluded.words
"""
_SIZES = """
    SELECT c.scope, c.also, d.sz FROM chunk c JOIN chunk_fts_docsize d ON d.id = c.id WHERE c.id
"""


class Volume(NamedTuple):
    """The size of some scopes; a chunk that is in two of them counts once."""

    chunks: int
    words: int

    @property
    def average(self) -> float:
        """Words in a chunk."""
        return self.words / self.chunks if self.chunks else 1.0


def of(connection: Connection, scope_ids: Sequence[int]) -> Volume:
    """Return the size of these scopes; of `NOWHERE`, that of the whole index."""
    among = listed(scope_ids)
    row = connection.execute(
        "SELECT total(chunks), total(words)"
        " FROM volume"
        f" WHERE scope IN {among} OR (also <> 0 AND also IN {among})"
    ).fetchone()
    assert row is not None
    return Volume(int(row[0]), int(row[1]))


class Lengths:
    """How many words each chunk has, for one state of the index."""

    def __init__(self, _: object) -> None:
        # Fault: a cache that refers to its connection would keep it open for ever.
        self._rows = bytearray()
        self._read: set[int] = set()
        """The blocks that are in memory"""

    def of(self, connection: Connection, ids: Collection[int]) -> list[int]:
        """Return the words of these chunks, in this order."""
        unread = {id_ // BLOCK for id_ in ids} - self._read
        for block, row in _blocks(connection, unread):
            start = block * _ROW
            self._rows += bytes(max(0, start - len(self._rows)))
            self._rows[start : start + _ROW] = row
        self._read |= unread
        return list(map(memoryview(self._rows).cast("I").__getitem__, ids))


def add(connection: Connection, first_id: int) -> None:
    """Add chunks that are in the full text: all with this id or a higher one, without a gap."""
    rows: list[Any] = connection.execute(f"{_SIZES} >= ? ORDER BY c.id", (first_id,)).fetchall()
    _change(connection, rows, 1)
    _put_lengths(connection, first_id, [words_of(size) for _, _, size in rows])


def subtract(connection: Connection, ids: Iterable[tuple[int]]) -> None:
    """Subtract chunks. Call it before they are deleted from the full text."""
    _change(connection, connection.executemany(f"{_SIZES} = ?", ids), -1)


def fill(connection: Connection) -> None:
    """Count all chunks of an index that has no counts yet."""
    rows: list[Any] = connection.execute(
        "SELECT c.scope, c.also, d.sz, c.id FROM chunk c JOIN chunk_fts_docsize d ON d.id = c.id"
    ).fetchall()
    _change(connection, [row[:3] for row in rows], 1)
    words = {id_: words_of(size) for _, _, size, id_ in rows}
    _put_lengths(connection, 0, (words.get(id_, 0) for id_ in range(max(words, default=0) + 1)))


def _put_lengths(connection: Connection, first_id: int, words: Iterable[int]) -> None:
    """Write the words of new chunks. There are no chunks with higher ids."""
    first, start = divmod(4 * first_id, _ROW)
    [(_, before)] = _blocks(connection, [first])
    row = before[:start] + b"".join(number.to_bytes(4, byteorder) for number in words)
    row += bytes(-len(row) % _ROW)
    connection.executemany(
        "INSERT OR REPLACE INTO chunk_length VALUES (?, ?)",
        [(first + step, row[step * _ROW : (step + 1) * _ROW]) for step in range(len(row) // _ROW)],
    )


def _blocks(connection: Connection, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    # Fault: a daemon of an older version wrote chunks into this file, and no lengths.
    rows: Any = connection.execute(
        "SELECT wanted.value, coalesce(words, zeroblob(?))"
        " FROM json_each(?) wanted"
        " LEFT JOIN chunk_length ON block = wanted.value",
        (_ROW, json.dumps(list(numbers))),
    )
    return iter(rows)


def _change(
    connection: Connection, rows: Iterable[tuple[int, int | None, bytes]], sign: int
) -> None:
    sizes: dict[tuple[int, int], list[bytes]] = {}
    for scope, also, size in rows:
        sizes.setdefault((scope, also or NOWHERE), []).append(size)
    if not sizes:
        return
    sizes[NOWHERE, NOWHERE] = list(chain.from_iterable(sizes.values()))
    connection.executemany(
        _ADD,
        [
            (*scopes, sign * len(group), sign * words_of(b"".join(group)))
            for scopes, group in sizes.items()
        ],
    )
    # Fault: a new index has no row for an empty scope, and both must be equal.
    if sign < 0:
        connection.executemany(
            "DELETE FROM volume WHERE scope = ? AND also = ? AND chunks = 0", list(sizes)
        )


def words_of(size: bytes) -> int:
    """Return the words of chunks from the sizes of their columns as FTS5 stores them.

    A size is a varint: 7 bits a byte, the highest first.
    """
    if size.isascii():
        return sum(size)
    words = column = 0
    for byte in size:
        column = column << 7 | byte & 0x7F
        if byte < 0x80:
            words += column
            column = 0
    return words
