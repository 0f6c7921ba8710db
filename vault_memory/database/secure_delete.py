"""Removes deleted content from the file of a database, and reads every stored value to verify it."""

from collections.abc import Iterator
from pathlib import Path

from vault_memory.database.connection import Connection, DatabaseError, connect
from vault_memory.database.self_repair import RepairingConnection


def compact(connection: Connection | RepairingConnection) -> bool:
    """Rewrite the file without deleted content and truncate its log.

    Returns false when another process still reads the old content after the busy timeout.
    """
    try:
        connection.pragma("secure_delete", True)
        connection.execute("VACUUM")
        # Fault: the old pages are in the log as well. Only an empty log is without the
        # text.
        [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except DatabaseError:
        # Fault: a reader in another process keeps the old pages, or the disk has no
        # room for a copy. The caller must not report that the text is gone.
        return False
    return not busy


def stored_values(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """Yield the table and the value of each text and blob in a database file.

    Virtual tables appear as the tables that store them.
    Raises DatabaseDamaged, VaultMemoryError, DatabaseError.
    """
    connection = connect(path, read_only=True)
    try:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table'"
            )
        ]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                yield from ((table, value) for value in row if isinstance(value, str | bytes))
    finally:
        connection.close()
