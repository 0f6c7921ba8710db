"""Databases of other programs: looked into, and left just as they are."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from vault_memory.database.connection import Connection
from vault_memory.errors import UsageError


class ForeignDatabase(UsageError):
    """The file cannot be read as a database, or not all of it."""


def look_into(path: Path) -> Connection:
    """Open a database without writing a byte beside it. Raises ForeignDatabase."""
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        raise ForeignDatabase(
            f"`{path}` is in use: part of it still stands in `{log.name}`",
            hint="end the program that it belongs to, or import a copy made with `sqlite3 FILE '.backup COPY'`",
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1", flags=flags)
        connection.pragma("schema_version")
        connection.pragma("trusted_schema", False)
    except apsw.Error as error:
        raise ForeignDatabase(f"`{path}` is no SQLite database: {error}", hint="name the file itself") from None
    return connection


def tables(connection: Connection) -> list[str]:
    """The names of the tables that a database has."""
    return sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"))


def rows(connection: Connection, table: str) -> list[dict[str, Any]]:
    """The rows of a table as they are stored. Raises ForeignDatabase when they cannot be read."""
    try:
        names = columns(connection, table)
        return [dict(zip(names, row, strict=True)) for row in connection.execute(f'SELECT * FROM "{table}"')]
    except apsw.Error as error:
        raise ForeignDatabase(f"`{table}` cannot be read: {error}", hint="nothing was written") from None


def columns(connection: Connection, table: str) -> list[str]:
    """The names of the columns of a table, in their order."""
    found = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid"
    return [name for (name,) in connection.execute(found, (table,))]
