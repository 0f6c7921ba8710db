"""Vectors of chunks, by identity and model: what is missing, and what was computed."""

from collections.abc import Sequence

from vault_memory.database import Connection
from vault_memory.index.chunks import SEPARATOR
from vault_memory.markdown import embed_text


def find_model(connection: Connection, fingerprint: str) -> int | None:
    """The id of a model in this index; None when it has never put a vector here."""
    row = connection.execute("SELECT id FROM model WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return row[0] if row else None


def model_id(connection: Connection, fingerprint: str, name: str, dimensions: int) -> int:
    """The id of a model, given to it now if it is new. Call it inside a transaction."""
    found = find_model(connection, fingerprint)
    if found is not None:
        return found
    connection.execute(
        "INSERT INTO model(fingerprint, name, dimensions) VALUES (?, ?, ?)", (fingerprint, name, dimensions)
    )
    return connection.last_insert_rowid()


_MISSING = """
    FROM chunk JOIN note ON note.id = chunk.note
    WHERE note.state = 1 AND NOT EXISTS (SELECT 1 FROM vector WHERE identity = chunk.identity AND model = ?)
"""


def missing_count(connection: Connection, model: int) -> int:
    """How many chunks of settled notes have no vector of this model; the same text counts once."""
    row = connection.execute("SELECT count(DISTINCT chunk.identity)" + _MISSING, (model,)).fetchone()
    return row[0] if row else 0


def pending(connection: Connection, model: int, limit: int) -> list[tuple[bytes, str]]:
    """Up to `limit` chunks without a vector of this model, newest notes first: (identity, exact embed text)."""
    rows = connection.execute(
        "SELECT chunk.identity, chunk.heading, chunk.who, chunk.text" + _MISSING + " ORDER BY chunk.id DESC LIMIT ?",
        (model, limit),
    )
    found = {
        identity: embed_text(tuple(heading.split(SEPARATOR)) if heading else (), who, text)
        for identity, heading, who, text in rows
    }
    return list(found.items())


def put(connection: Connection, model: int, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Keep vectors: (identity, float32 little-endian of unit length). One that is there already stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO vector(identity, model, embedding) VALUES (?, ?, ?)",
        ((identity, model, embedding) for identity, embedding in rows),
    )
