"""Making certain that what was deleted from a database is gone from its file, and looking whether it is."""

from collections.abc import Iterator
from pathlib import Path

from vault_memory.database.connection import Connection, DatabaseError, connect
from vault_memory.database.repairing import RepairingConnection


def compact(connection: Connection | RepairingConnection) -> bool:
    """Write the file anew without what was deleted, and empty its log; False while another process reads it.

    SQLite waits for the others as long as `connect` says.
    """
    try:
        connection.pragma("secure_delete", True)
        connection.execute("VACUUM")
        [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except DatabaseError:
        return False
    return not busy


def values_in(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """Each text and each run of bytes in a database file, with its table; those of virtual tables as they are stored.

    Raises DatabaseDamaged, VaultMemoryError, DatabaseError.
    """
    connection = connect(path, read_only=True)
    try:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table'")
        ]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                yield from ((table, value) for value in row if isinstance(value, str | bytes))
    finally:
        connection.close()
