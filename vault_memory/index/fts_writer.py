"""Writes the texts of chunks into FTS5. Searching is in `fts_search`."""

from collections.abc import Sequence

from vault_memory.database.connection import Connection
from vault_memory.index import term_volumes
from vault_memory.index.term_volumes import Scopes
from vault_memory.markdown.chunking import chunk_text
from vault_memory.rules.search.tokens import normalise


def add(
    connection: Connection, first_id: int, rows: Sequence[tuple[Scopes, str, str, str]]
) -> None:
    """Make chunks searchable: (scopes, heading path joined by U+001F, who, text).

    Their ids are consecutive, from `first_id` on.
    """
    # The chunks of a note share scopes and headings.
    scope_tokens = {row[0]: _tokens(row[0]) for row in rows}
    headings = {
        heading: normalise(heading.replace("\x1f", " "), divided=True)
        for heading in {row[1] for row in rows}
    }
    connection.executemany(
        "INSERT INTO chunk_fts(rowid, scope, heading, who, body) VALUES (?, ?, ?, ?, ?)",
        (
            (
                id_,
                scope_tokens[scopes],
                headings[heading],
                normalise(who) if who else "",
                normalise(
                    chunk_text.COMMENT.sub(" ", body) if "%%" in body else body, divided=True
                ),
            )
            for id_, (scopes, heading, who, body) in enumerate(rows, first_id)
        ),
    )
    term_volumes.add(connection, first_id, [row[0] for row in rows])


def _tokens(scopes: Scopes) -> str:
    scope, also = scopes
    return f"s{scope:d}" if also is None else f"s{scope:d} s{also:d}"


def remove(connection: Connection, ids: Sequence[tuple[int]]) -> None:
    """Delete chunks from the full text. Call it before their rows are deleted."""
    term_volumes.subtract(connection, ids)
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", ids)
