"""What an index holds, read from its file by SQLite alone, so that two indexes can be compared."""

from pathlib import Path
from typing import Any

import apsw


def index_file(state: Path) -> Path:
    """The generation that serves."""
    return state / "index" / f"index-{(state / 'index' / 'current').read_text()}.sqlite"


def rows(state: Path, sql: str, *values: Any) -> list[Any]:
    connection = apsw.Connection(
        str(index_file(state)), flags=apsw.SQLITE_OPEN_READONLY
    )
    connection.set_busy_timeout(10_000)
    try:
        return list(connection.execute(sql, values))
    finally:
        connection.close()


def dump(state: Path) -> dict[str, set[Any]]:
    """Notes and chunks, without ids and times: what two indexes of the same files have in common."""
    notes = rows(
        state,
        "SELECT path, scope.name, kind, date, bytes, revision FROM note JOIN scope ON scope.id = note.scope",
    )
    chunks = rows(
        state,
        "SELECT note.path, ordinal, first_line, last_line, chunk.date, hex(identity), heading, who, topic, text,"
        " (SELECT name FROM scope WHERE id = chunk.also)"
        " FROM chunk JOIN note ON note.id = chunk.note",
    )
    assert len(chunks) == len(set(chunks))
    full_text = rows(
        state, "SELECT count(*) FROM chunk_fts WHERE rowid IN (SELECT id FROM chunk)"
    )
    orphans = rows(
        state,
        "SELECT count(*) FROM chunk_fts WHERE rowid NOT IN (SELECT id FROM chunk)",
    )
    assert (full_text, orphans) == ([(len(chunks),)], [(0,)])
    facts = rows(
        state,
        "SELECT note.path, row_number() OVER (PARTITION BY fact.note ORDER BY ordinal), scope.name, fact, subject,"
        " predicate, object, valid_from, valid_until, struck, text"
        " FROM fact JOIN note ON note.id = fact.note JOIN scope ON scope.id = fact.scope",
    )
    assert rows(
        state, "SELECT count(*) FROM fact WHERE note NOT IN (SELECT id FROM note)"
    ) == [(0,)]
    return {
        "facts": set(facts),
        "notes": set(notes),
        "chunks": set(chunks),
        "parked": set(rows(state, "SELECT path, reason FROM parked")),
    }


def fading(state: Path) -> dict[str, set[Any]]:
    """What the fading of items follows from, without ids."""
    stamps = rows(
        state,
        "SELECT note.path, chunk.first_line, scope.name, key, type, learned, confirmed, by_bot, supports, fades"
        " FROM stamp JOIN chunk ON chunk.id = stamp.chunk JOIN note ON note.id = stamp.note"
        " JOIN scope ON scope.id = stamp.scope",
    )
    assert rows(state, "SELECT count(*) FROM stamp") == [(len(stamps),)]
    counts = rows(
        state,
        "SELECT scope.name, key, days, last FROM read_count JOIN scope ON scope.id = read_count.scope",
    )
    return {"stamps": set(stamps), "counts": set(counts)}


def states(state: Path) -> dict[str, int]:
    """0 hot, 1 settled, 2 held."""
    return dict(rows(state, "SELECT path, state FROM note"))
