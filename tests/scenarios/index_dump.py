"""What an index holds, read from its file by SQLite alone, so that two indexes can be compared."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

NOTES = """
SELECT path, scope.name, kind, date, bytes, revision FROM note JOIN scope ON scope.id = note.scope
"""
CHUNKS = """
SELECT note.path, ordinal, first_line, last_line, chunk.date, hex(identity), heading, who, topic, text,
    (SELECT name FROM scope WHERE id = chunk.also)
FROM chunk JOIN note ON note.id = chunk.note
"""
FACTS = """
SELECT note.path, row_number() OVER (PARTITION BY fact.note ORDER BY ordinal), scope.name, fact, subject,
    predicate, object, valid_from, valid_until, struck, text
FROM fact JOIN note ON note.id = fact.note JOIN scope ON scope.id = fact.scope
"""
# Rows of the full-text index with a chunk and without one, and facts without a note.
COUNTS = """
SELECT
    (SELECT count(*) FROM chunk_fts WHERE rowid IN (SELECT id FROM chunk)),
    (SELECT count(*) FROM chunk_fts WHERE rowid NOT IN (SELECT id FROM chunk)),
    (SELECT count(*) FROM fact WHERE note NOT IN (SELECT id FROM note))
"""
STAMPS = """
SELECT note.path, chunk.first_line, scope.name, key, type, learned, confirmed, by_bot, supports, fades
FROM stamp
    JOIN chunk ON chunk.id = stamp.chunk
    JOIN note ON note.id = stamp.note
    JOIN scope ON scope.id = stamp.scope
"""
READ_COUNTS = """
SELECT scope.name, key, days, last FROM read_count JOIN scope ON scope.id = read_count.scope
"""


def index_file(state: Path) -> Path:
    """The generation that serves."""
    return state / "index" / f"index-{(state / 'index' / 'current').read_text()}.sqlite"


@contextmanager
def snapshot(state: Path) -> Iterator[apsw.Connection]:
    """A connection whose reads all see the index at one moment, while a daemon goes on writing."""
    connection = apsw.Connection(str(index_file(state)), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(10_000)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def rows(state: Path, sql: str, *values: Any) -> list[Any]:
    with snapshot(state) as index:
        return list(index.execute(sql, values))


def dump(state: Path) -> dict[str, set[Any]]:
    """Notes and chunks, without ids and times: what two indexes of the same files have in common."""
    with snapshot(state) as index:
        notes = set(index.execute(NOTES))
        chunks = list(index.execute(CHUNKS))
        facts = set(index.execute(FACTS))
        parked = set(index.execute("SELECT path, reason FROM parked"))
        [counts] = index.execute(COUNTS)
    assert len(chunks) == len(set(chunks))
    assert counts == (len(chunks), 0, 0)
    return {"facts": facts, "notes": notes, "chunks": set(chunks), "parked": parked}


def fading(state: Path) -> dict[str, set[Any]]:
    """What the fading of items follows from, without ids."""
    with snapshot(state) as index:
        stamps = set(index.execute(STAMPS))
        read_counts = set(index.execute(READ_COUNTS))
        [(count,)] = index.execute("SELECT count(*) FROM stamp")
    assert count == len(stamps)
    return {"stamps": stamps, "counts": read_counts}


def states(state: Path) -> dict[str, int]:
    """0 hot, 1 settled, 2 held."""
    return dict(rows(state, "SELECT path, state FROM note"))
