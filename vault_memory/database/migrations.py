"""Steps from one format of a database to the next, each done once, in one transaction.

The format of a file is SQLite's own `user_version`: 0 is an empty file, n is the state after step n.
"""

from collections.abc import Callable, Sequence

from vault_memory.database.connection import Connection

Migration = Callable[[Connection], None]


def statements(text: str) -> Migration:
    """A step that is nothing but SQL."""

    def step(connection: Connection) -> None:
        connection.execute(text)

    return step


def version_of(connection: Connection) -> int:
    """The format of the file, 0 for an empty one."""
    return int(connection.pragma("user_version"))


def migrate(connection: Connection, steps: Sequence[Migration]) -> int:
    """Take the file to format ``len(steps)``; returns how many steps were done.

    Another process may do the same at the same time: the version is read again under the write lock.
    """
    if version_of(connection) >= len(steps):
        return 0
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = version_of(connection)
        for step in steps[found:]:
            step(connection)
        connection.pragma("user_version", len(steps))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return max(0, len(steps) - found)
