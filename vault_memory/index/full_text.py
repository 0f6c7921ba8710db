"""What of the chunks goes into FTS5. Whoever writes needs no more of the full text than this; see `text`."""

from collections.abc import Iterable, Sequence

from vault_memory.database import Connection
from vault_memory.memory.words import normalise


def add(connection: Connection, rows: Iterable[tuple[int, Sequence[int], str, str, str]]) -> None:
    """Make chunks searchable: (chunk id, scope ids, heading path joined by U+001F, who, text)."""
    connection.executemany(
        "INSERT INTO chunk_fts(rowid, scope, heading, who, body) VALUES (?, ?, ?, ?, ?)",
        (
            (id_, _tokens(scopes), normalise(heading.replace("\x1f", " ")), normalise(who), normalise(body))
            for id_, scopes, heading, who, body in rows
        ),
    )


def _tokens(scope_ids: Sequence[int]) -> str:
    return " ".join(f"s{scope:d}" for scope in scope_ids)


def remove(connection: Connection, ids: Iterable[tuple[int]]) -> None:
    """Take chunks out of the full text."""
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", ids)
