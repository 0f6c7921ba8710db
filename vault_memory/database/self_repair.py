"""A connection that repairs its database when a statement meets damage, and repeats it then.

For databases that cannot be rebuilt from the vault. A repair copies the readable rows into a new
file and quarantines the damaged one. Within a transaction the earlier statements run again first.
Several processes may have the file open. Each compares the inode under the name with its own
before a statement and after `BEGIN`, so that no process writes into a quarantined file.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from vault_memory import places
from vault_memory.config.durable import sync_folder
from vault_memory.database.connection import (
    Connection,
    DatabaseDamaged,
    DatabaseError,
    connect,
    is_damage,
    quarantine,
)
from vault_memory.errors import VaultMemoryError
from vault_memory.logs import Logger

logger = Logger(__name__)

EMPTIED = "it is empty"
MAX_OPEN_ATTEMPTS = 5
"""Another process may replace the file while this one opens it"""

Prepare = Callable[[Connection], None]
"""Sets up a connection, and creates or migrates the tables"""
Copy = Callable[[Path, Connection], None]
"""Copies the readable rows of a damaged file into an empty database"""


class Rows(list[Any]):
    """The rows of a statement, read at once."""

    # Damage must appear while the statement can still be repeated.

    def fetchone(self) -> Any:
        return self.pop(0) if self else None

    def fetchall(self) -> list[Any]:
        return list(self)


class RepairingConnection:
    """A connection to one file, for one thread at a time."""

    def __init__(self, path: Path, prepare: Prepare, copy: Copy) -> None:
        """Open the file or create it. Raises VaultMemoryError when it cannot be opened."""
        self.path = path
        self._prepare = prepare
        self._copy = copy
        self._statements: list[tuple[str, Any, bool]] = []
        """SQL, values and `many` of each statement of the transaction, which a repair repeats"""
        self._connection, self._inode = self._open()

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def close(self) -> None:
        self._connection.close()

    def execute(self, sql: str, values: Any = (), *, many: bool = False) -> Rows:
        """Run a statement, for each of the `values` if `many`, and return all its rows.

        Raises DatabaseError.
        """
        if not self._connection.in_transaction:
            self._follow_replacement()
            # Fault: an error may have ended the transaction. Its statements must not
            # run again in another one.
            self._statements.clear()
        try:
            if sql.startswith("BEGIN"):
                rows = self._begin(sql)
            elif many:
                rows = Rows(self._connection.executemany(sql, values))
            else:
                rows = Rows(self._connection.execute(sql, values))
        except DatabaseError as error:
            if not (is_damage(error) or _lost_tables(error)):
                raise
            self.repair(str(error))
            rows = self._once(sql, values, many)
        if self._connection.in_transaction:
            self._statements.append((sql, values, many))
        else:
            self._statements.clear()
        return rows

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Rows:
        """Run a statement for each of `rows`. Raises DatabaseError."""
        return self.execute(sql, list(rows), many=True)

    def execute_all(self, statements: Iterable[tuple[str, Any]]) -> None:
        """Run statements in their order. Raises DatabaseError."""
        for sql, values in statements:
            self.execute(sql, values)

    def pragma(self, name: str, value: object | None = None) -> Any:
        """Read or set a pragma, outside of transactions. The next statement repairs damage."""
        self._follow_replacement()
        if value is None:
            return self._connection.pragma(name)
        return self._connection.pragma(name, value)

    def repair(self, reason: str) -> None:
        """Copy the readable rows into a new file and continue there, also within a transaction.

        Raises DatabaseError, OSError.
        """
        earlier_statements = list(self._statements)
        if self._connection.in_transaction:
            with suppress(DatabaseError):
                self._connection.execute("ROLLBACK")
        with _locked(self.path):
            # Fault: another process may have repaired the file before this one got the
            # lock.
            if not self._is_replaced():
                with suppress(DatabaseError):
                    # Fault: a writer in another process would commit into the
                    # quarantined file. Writers wait for this transaction, and then see
                    # the new file.
                    self._connection.execute("BEGIN IMMEDIATE")
                self._replace_file(reason)
        self._reopen()
        for statement in earlier_statements:
            self._once(*statement)

    def _once(self, sql: str, values: Any, many: bool) -> Rows:
        if sql.startswith("BEGIN"):
            return self._begin(sql)
        run = self._connection.executemany if many else self._connection.execute
        return Rows(run(sql, values))

    def _begin(self, sql: str) -> Rows:
        """Begin a transaction in the file that has the name now."""
        rows = Rows(self._connection.execute(sql))
        # Fault: another process may have replaced the file while this one waited for
        # the lock.
        while self._is_replaced():
            self._connection.execute("ROLLBACK")
            self._reopen()
            rows = Rows(self._connection.execute(sql))
        return rows

    def _follow_replacement(self) -> None:
        """Reopen the file when another process replaced it; repair it when its content is gone."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            self._reopen()
            return
        if status.st_ino != self._inode:
            self._reopen()
        elif status.st_size == 0:
            # Fault (B45): the cache of this process hides the damage from its
            # statements, and its open file keeps other processes from creating a new
            # database there.
            self.repair(EMPTIED)

    def _is_replaced(self) -> bool:
        return _inode(self.path) != self._inode

    def _reopen(self) -> None:
        if not self.path.exists():
            self._save_deleted_file()
        self._connection.close()
        self._connection, self._inode = self._open()

    def _save_deleted_file(self) -> None:
        """Save a deleted file from the open connection, which still has all of it."""
        with _locked(self.path), suppress(DatabaseError):
            if not self.path.exists() and not _repaired(self.path).exists():
                new = self.path.with_name(self.path.name + ".new")
                new.unlink(missing_ok=True)
                self._connection.execute("VACUUM INTO ?", (str(new),))
                os.replace(new, _repaired(self.path))

    def _open(self) -> tuple[Connection, int]:
        for _ in range(MAX_OPEN_ATTEMPTS):
            if not self.path.exists():
                with _locked(self.path):
                    self._finish_replacing()
            try:
                before = _inode(self.path)
                connection = self._prepared(self.path)
            except DatabaseDamaged as error:
                self._replace_unless_replaced(before, str(error))
                continue
            except VaultMemoryError:
                if not _is_empty(self.path):
                    raise
                # An idle process has the emptied file open: no new database can be created in it.
                self._replace_unless_replaced(before, EMPTIED)
                continue
            # Fault: another process may have replaced the file during the open.
            if _inode(self.path) == before:
                return connection, before
            connection.close()
        raise DatabaseDamaged(
            f"the database `{self.path}` was damaged again after each repair",
            hint="check its disk for errors",
        )

    def _replace_unless_replaced(self, inode: int, reason: str) -> None:
        """Replace the damaged file with that inode, unless another process already did."""
        with _locked(self.path):
            if _inode(self.path) == inode:
                self._replace_file(reason)

    def _prepared(self, path: Path, *, create: bool = False) -> Connection:
        connection = connect(path, durable=True, create=create)
        try:
            self._prepare(connection)
        except DatabaseError as error:
            connection.close()
            if is_damage(error):
                raise DatabaseDamaged(f"the database `{path}` is damaged: {error}") from None
            raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _replace_file(self, reason: str) -> None:
        """Replace the damaged file with a new one of its readable rows. The caller has the lock."""
        new = self.path.with_name(self.path.name + ".new")
        for ending in ("", "-wal", "-shm"):
            # Fault (B48): a repair that was interrupted leaves these files.
            Path(f"{new}{ending}").unlink(missing_ok=True)
        connection = self._prepared(new, create=True)
        try:
            self._copy(self.path, connection)
            # Fault (B45): the rename moves only the main file. Rows that are still in
            # its log would be lost.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
        # Fault (B48): after this rename a crash loses nothing. The next open runs
        # `_finish_replacing`.
        os.replace(new, _repaired(self.path))
        sync_folder(self.path.parent)
        quarantined = quarantine(self.path)
        self._finish_replacing()
        logger.warning(
            "`%s` was damaged (%s): its readable rows are in a new file;"
            " the damaged file is kept as `%s`",
            self.path,
            reason,
            quarantined.name,
        )

    def _finish_replacing(self) -> None:
        """Rename the repaired file to the name of the database, or create an empty database."""
        if self.path.exists():
            return
        if _repaired(self.path).exists():
            os.rename(_repaired(self.path), self.path)
            sync_folder(self.path.parent)
        else:
            connect(self.path, durable=True).close()


def _lost_tables(error: DatabaseError) -> bool:
    """Return whether a program emptied the file: its tables existed when it was opened."""
    return isinstance(error, apsw.SQLError) and str(error).startswith(
        ("no such table", "no such column")
    )


def _repaired(path: Path) -> Path:
    return path.with_name(path.name + ".repaired")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _is_empty(path: Path) -> bool:
    """Return whether the file lost all its content: an opened database has at least one page."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time replace the file."""
    # Fault (B43): the user may have deleted the state folder under a running process.
    places.make_private(path.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    lock = os.open(f"{path}.lock", flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
