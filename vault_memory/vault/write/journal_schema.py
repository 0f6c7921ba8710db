"""The tables of the journal, as steps from one format to the next, and their rows after damage."""

import logging
import zlib
from hashlib import sha256
from typing import Any

from vault_memory.database.connection import Connection, DatabaseError

logger = logging.getLogger(__name__)

SALVAGED = "salvaged"
"""Name of a state: a damaged file was replaced, and the newest rows may be missing"""
COPIED_AT = "copied-at"
"""Name of a state: the time of the copy that replaced a damaged file; "" without a copy"""

STEPS = (
    """
    CREATE TABLE ops(
        op_id TEXT PRIMARY KEY,
        path TEXT NOT NULL,
        side TEXT NOT NULL,
        base TEXT,
        content TEXT NOT NULL,
        since REAL NOT NULL,
        stamp TEXT NOT NULL,
        quiet REAL NOT NULL,
        record BLOB NOT NULL,
        entry TEXT NOT NULL,
        phase TEXT NOT NULL,
        reason TEXT NOT NULL,
        expected TEXT,
        fresh TEXT NOT NULL,
        temp TEXT NOT NULL,
        outcome TEXT NOT NULL,
        after TEXT
    );
    CREATE INDEX ops_by_phase ON ops(phase);
    CREATE TABLE displaced(
        place TEXT PRIMARY KEY,
        path TEXT NOT NULL,
        incorporated TEXT NOT NULL,
        since REAL NOT NULL,
        seen TEXT NOT NULL,
        seen_at REAL NOT NULL,
        looks INTEGER NOT NULL,
        next_look REAL NOT NULL
    );
    CREATE TABLE blobs(
        revision TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE versions(
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        revision TEXT NOT NULL,
        at REAL NOT NULL,
        by TEXT NOT NULL,
        kept INTEGER NOT NULL
    );
    CREATE INDEX versions_by_path ON versions(path, id);
    CREATE TABLE trash(
        id TEXT PRIMARY KEY, path TEXT NOT NULL, revision TEXT NOT NULL, at REAL NOT NULL
    );
    CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    "CREATE TABLE unjudged(version INTEGER PRIMARY KEY);",
    "ALTER TABLE ops ADD COLUMN by TEXT NOT NULL DEFAULT 'bot';",
    "CREATE INDEX versions_by_revision ON versions(revision);",
    "ALTER TABLE versions ADD COLUMN ino INTEGER NOT NULL DEFAULT 0;",
)
_TABLES = ("ops", "displaced", "versions", "unjudged", "trash", "state")
"""All tables but that of the bytes"""
_MISSING = """
    SELECT revision FROM versions UNION SELECT revision FROM trash
    UNION SELECT incorporated FROM displaced UNION SELECT base FROM ops
    UNION SELECT content FROM ops UNION SELECT expected FROM ops UNION SELECT fresh FROM ops
    EXCEPT SELECT revision FROM blobs
"""


def restore(damaged: Connection, connection: Connection, copied_at: str) -> None:
    """Adds what SQLite can read of a damaged file. Drops and names each write whose text is lost."""
    with connection:
        _take_rows(damaged, connection)
        _drop_incomplete(connection)
        connection.executemany(
            "INSERT OR REPLACE INTO state VALUES (?, ?)", [(SALVAGED, ""), (COPIED_AT, copied_at)]
        )


def _take_rows(source: Connection, target: Connection) -> None:
    """Replaces each table that can be read completely, and adds the bytes that its rows name."""
    for table in _TABLES:
        try:
            # Of an index no page is needed.
            rows = source.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall()
        except DatabaseError:
            logger.warning("the table `%s` cannot be read: that of the copy stays", table)
            continue
        # Rows that were deleted since the copy must not come back.
        target.execute(f"DELETE FROM {table}")
        for row in rows:
            marks = ", ".join("?" * len(row))
            target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
    for (revision,) in target.execute(_MISSING).fetchall():
        try:
            found = source.execute("SELECT * FROM blobs WHERE revision = ?", (revision,)).fetchall()
        except DatabaseError:
            # Other texts may be on pages that can be read.
            continue
        target.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", found)


def _drop_incomplete(connection: Connection) -> None:
    connection.create_scalar_function("is_complete", _is_complete, 2, deterministic=True)
    connection.execute("DELETE FROM blobs WHERE NOT is_complete(revision, packed)")
    lost = connection.execute(
        "DELETE FROM ops WHERE phase NOT IN ('pending', 'planned', 'done')"
        " OR side NOT IN ('ours', 'theirs') OR phase != 'done' AND content != ''"
        " AND content NOT IN (SELECT revision FROM blobs) RETURNING path"
    ).fetchall()
    # Fault: an entry of the trash without bytes would restore an empty note.
    connection.execute("DELETE FROM trash WHERE revision NOT IN (SELECT revision FROM blobs)")
    # Fault (B45): the text of such a write is nowhere any more. It is dropped, and its
    # note is named.
    for path in sorted({str(path) for (path,) in lost}):
        logger.warning("a write to `%s` that waited is lost; ask for it again", path)


def _is_complete(*row: Any) -> bool:
    """Whether bytes match their revision; SQLite keeps no checksums of its pages."""
    revision, packed = row
    try:
        return isinstance(packed, bytes) and sha256(zlib.decompress(packed)).hexdigest() == revision
    except zlib.error:
        return False
