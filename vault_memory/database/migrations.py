"""Migrates a database from one format to the next, in one transaction.

The format of a file is SQLite's `user_version`: 0 is an empty file, n is the state after step n.
"""

from collections.abc import Callable, Sequence

from vault_memory.database.connection import Connection

Migration = Callable[[Connection], None]


def statements(text: str) -> Migration:
    """Return a migration that executes SQL."""

    def step(connection: Connection) -> None:
        connection.execute(text)

    return step


def version_of(connection: Connection) -> int:
    """Return the format of the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def migrate(connection: Connection, steps: Sequence[Migration]) -> int:
    """Migrate the file to format ``len(steps)``; return the number of steps executed."""
    if version_of(connection) >= len(steps):
        return 0
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Fault: another process may have migrated the file before this one got the
        # write lock.
        version = version_of(connection)
        for step in steps[version:]:
            step(connection)
        connection.pragma("user_version", len(steps))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return max(0, len(steps) - version)
