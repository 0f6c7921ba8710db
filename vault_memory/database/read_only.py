"""Reads the databases of other programs without changing a byte of them."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from vault_memory.database.connection import Connection
from vault_memory.errors import UsageError


class ForeignDatabase(UsageError):
    """The file cannot be read as a database, or only in part."""


def open_foreign(path: Path) -> Connection:
    """Open a database read-only, without creating a file beside it. Raises ForeignDatabase."""
    log = Path(f"{path}-wal")
    # Fault: `immutable` ignores the log. Rows that another program committed only there
    # would be missing.
    if log.exists() and log.stat().st_size:
        raise ForeignDatabase(
            f"`{path}` is in use: recent changes are only in `{log.name}`",
            hint="stop the program that uses it, or import a copy"
            " made with `sqlite3 FILE '.backup COPY'`",
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(
            # Fault: an ordinary reader of a database with a write-ahead log creates
            # files beside it.
            f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1",
            flags=flags,
        )
        connection.pragma("schema_version")
        # Fault: the schema of a foreign file may call functions. It must have no effect
        # when a row is read.
        connection.pragma("trusted_schema", False)
    except apsw.Error as error:
        raise ForeignDatabase(
            f"`{path}` is not a SQLite database: {error}", hint="give the path of the database file"
        ) from None
    return connection


def tables(connection: Connection) -> list[str]:
    """Return the names of the tables of a database, sorted."""
    return sorted(
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    )


def rows(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table by column. Raises ForeignDatabase when they cannot be read."""
    try:
        names = columns(connection, table)
        return [
            dict(zip(names, row, strict=True))
            for row in connection.execute(f'SELECT * FROM "{table}"')
        ]
    except apsw.Error as error:
        raise ForeignDatabase(
            f"`{table}` cannot be read: {error}", hint="nothing was written"
        ) from None


def columns(connection: Connection, table: str) -> list[str]:
    """Return the names of the columns of a table, in their order."""
    query = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid"
    return [name for (name,) in connection.execute(query, (table,))]
