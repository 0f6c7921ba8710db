"""Full text of the chunks: what goes into FTS5, and how it is asked."""

from collections.abc import Iterable

from vault_memory.database import Connection


def add(connection: Connection, rows: Iterable[tuple[int, int, str, str, str, str | None]]) -> None:
    """Make chunks searchable: (chunk id, scope id, heading path joined by U+001F, who, text, ISO date)."""
    connection.executemany(
        "INSERT INTO chunk_fts(rowid, scope, heading, who, body) VALUES (?, ?, ?, ?, ?)",
        ((id_, f"s{scope}", heading.replace("\x1f", " "), who, body) for id_, scope, heading, who, body, _ in rows),
    )


def remove(connection: Connection, ids: Iterable[tuple[int]]) -> None:
    """Take chunks out of the full text."""
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", ids)
