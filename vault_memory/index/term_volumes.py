"""Counts the chunks of the scopes and their words, from which the weight of a word follows.

The transaction that writes chunks updates the counts, so that no search counts a vault. They are whole
numbers, so an index that was updated step by step has the same counts as a new one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
_ADD = """
    INSERT INTO volume VALUES (?, ?, ?, ?)
    ON CONFLICT(scope, also) DO UPDATE
    SET chunks = chunks + excluded.chunks, words = words + excluded.words
"""

Scopes = tuple[int, int | None]
"""The first and the second scope of a chunk"""


class Volume(NamedTuple):
    """The size of some scopes; a chunk that is in two of them counts once."""

    chunks: int
    words: int

    @property
    def average(self) -> float:
        """Words in a chunk."""
        return self.words / self.chunks if self.chunks else 1.0


def of(connection: Connection, scope_ids: Sequence[int]) -> Volume:
    """Return the size of these scopes."""
    among = listed(scope_ids)
    row = connection.execute(
        "SELECT total(chunks), total(words)"
        " FROM volume"
        f" WHERE scope IN {among} OR (also <> 0 AND also IN {among})"
    ).fetchone()
    assert row is not None
    return Volume(int(row[0]), int(row[1]))


def of_all(connection: Connection) -> Volume:
    """Return the size of the whole index."""
    row = connection.execute(
        "SELECT chunks, words FROM volume WHERE scope = 0 AND also = 0"
    ).fetchone()
    return Volume(*row) if row else Volume(0, 0)


def add(connection: Connection, first_id: int, scopes: Sequence[Scopes]) -> None:
    """Add chunks that are in the full text. Their ids are consecutive, from `first_id` on."""
    sizes = connection.execute(
        "SELECT sz FROM chunk_fts_docsize WHERE id BETWEEN ? AND ? ORDER BY id",
        (first_id, first_id + len(scopes) - 1),
    )
    _change(connection, zip(scopes, (row[0] for row in sizes), strict=True), 1)


def subtract(connection: Connection, ids: Iterable[tuple[int]]) -> None:
    """Subtract chunks. Call it before they are deleted from the full text."""
    rows = connection.executemany(
        "SELECT c.scope, c.also, d.sz"
        " FROM chunk c"
        " JOIN chunk_fts_docsize d ON d.id = c.id"
        " WHERE c.id = ?",
        ids,
    )
    _change(connection, (((scope, also), size) for scope, also, size in rows), -1)


def fill(connection: Connection) -> None:
    """Count all chunks of an index that has no counts yet."""
    rows = connection.execute(
        "SELECT c.scope, c.also, d.sz FROM chunk c JOIN chunk_fts_docsize d ON d.id = c.id"
    )
    _change(connection, (((scope, also), size) for scope, also, size in rows), 1)


def _change(connection: Connection, chunks: Iterable[tuple[Scopes, bytes]], sign: int) -> None:
    counts: dict[tuple[int, int], list[int]] = {}
    total = [0, 0]
    for (scope, also), size in chunks:
        words = words_of(size)
        for count in (counts.setdefault((scope, also or NOWHERE), [0, 0]), total):
            count[0] += 1
            count[1] += words
    if not total[0]:
        return
    counts[NOWHERE, NOWHERE] = total
    connection.executemany(
        _ADD,
        [
            (scope, also, sign * number, sign * words)
            for (scope, also), (number, words) in counts.items()
        ],
    )
    # Fault: a new index has no row for an empty scope, and both must be equal.
    if sign < 0:
        connection.executemany(
            "DELETE FROM volume WHERE scope = ? AND also = ? AND chunks = 0", list(counts)
        )


def words_of(size: bytes) -> int:
    """Return the words of a chunk from the sizes of its columns as FTS5 stores them.

    A size is a varint: 7 bits a byte, the highest first.
    """
    if max(size, default=0) < 0x80:
        return sum(size)
    words = column = 0
    for byte in size:
        column = column << 7 | byte & 0x7F
        if byte < 0x80:
            words += column
            column = 0
    return words
