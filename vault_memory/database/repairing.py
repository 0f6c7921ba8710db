"""A connection to a database that cannot be built anew: damage that any statement meets is repaired, and it goes on.

The readable rows are copied into a new file, the damaged file is put aside, and the statement runs again; within a
transaction the statements before it run again first. Several processes may have the file open. Each compares the file
under the name with its own before a statement and after the start of a transaction, so that nobody writes into a file
that was put aside.
"""

import fcntl
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from vault_memory.config.durable import sync_folder
from vault_memory.database.connection import Connection, DatabaseDamaged, DatabaseError, connect, is_damage, put_aside
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

EMPTIED = "it is empty"
ROUNDS = 5
"""How often another process may replace the file while this one opens it"""

Prepare = Callable[[Connection], None]
"""Sets up a connection, and makes or migrates the tables."""
Copy = Callable[[Path, Connection], None]
"""Copies what can be read of a damaged file into an empty database."""


class Rows:
    """The rows of a statement, read at once, so that damage is met while the statement can still be run again."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)


class RepairingConnection:
    """A connection to the file at `path`. One thread at a time."""

    def __init__(self, path: Path, prepare: Prepare, copy: Copy) -> None:
        """Open the file, and make it when it is not there. Raises VaultMemoryError when that cannot be."""
        self.path = path
        self._prepare, self._copy = prepare, copy
        self._statements: list[tuple[str, Any, bool]] = []
        """of the open transaction, to run again after a repair"""
        self._connection, self._inode = self._opened()

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def close(self) -> None:
        self._connection.close()

    def execute(self, sql: str, values: Any = ()) -> Rows:
        """Run a statement, and read all its rows. Raises DatabaseError."""
        return self._run(sql, values, many=False)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Rows:
        """Run a statement for each of `rows`. Raises DatabaseError."""
        return self._run(sql, list(rows), many=True)

    def pragma(self, name: str, value: object | None = None) -> Any:
        """Read or set a pragma, outside of transactions. Damage is met by the next statement."""
        self._follow()
        return self._connection.pragma(name) if value is None else self._connection.pragma(name, value)

    def repair(self, reason: str) -> None:
        """Copy what can be read into a new file, and go on with that, within a transaction too.

        Raises DatabaseError, OSError.
        """
        begun = list(self._statements)
        if self._connection.in_transaction:
            with suppress(DatabaseError):
                self._connection.execute("ROLLBACK")
        with _locked(self.path):
            if not self._is_replaced():  # another process may have repaired it meanwhile
                with suppress(DatabaseError):
                    self._connection.execute("BEGIN IMMEDIATE")  # whoever writes waits, and then sees the new file
                self._replace_file(reason)
        self._reopen()
        for statement in begun:
            self._once(*statement)

    def _run(self, sql: str, values: Any, *, many: bool) -> Rows:
        if not self._connection.in_transaction:
            self._follow()
            self._statements.clear()  # an error may have ended the transaction
        try:
            rows = self._once(sql, values, many)
        except DatabaseError as error:
            if not (is_damage(error) or self._lost_its_tables(error)):
                raise
            self.repair(str(error))
            rows = self._once(sql, values, many)
        if self._connection.in_transaction:
            self._statements.append((sql, values, many))
        else:
            self._statements.clear()
        return rows

    def _once(self, sql: str, values: Any, many: bool) -> Rows:
        run = self._connection.executemany if many else self._connection.execute
        rows = Rows(list(run(sql, values)))
        if sql.startswith("BEGIN") and self._is_replaced():
            self._connection.execute("ROLLBACK")
            self._reopen()
            return self._once(sql, values, many)
        return rows

    def _lost_its_tables(self, error: DatabaseError) -> bool:
        """Whether somebody emptied the file: it had its tables when it was opened."""
        return isinstance(error, apsw.SQLError) and str(error).startswith(("no such table", "no such column"))

    def _follow(self) -> None:
        """Open the file anew when another one lies under the name, or when somebody emptied it."""
        if self._is_replaced():
            self._reopen()
        elif _is_empty(self.path):
            # What this process has in its cache hides the damage from its statements, and its open file
            # keeps other processes from beginning a new database there.
            self.repair(EMPTIED)

    def _is_replaced(self) -> bool:
        return _inode(self.path) != self._inode

    def _reopen(self) -> None:
        if not self.path.exists():
            self._save_deleted_file()
        self._connection.close()
        self._connection, self._inode = self._opened()

    def _save_deleted_file(self) -> None:
        """Somebody deleted the file; the open connection still has all of it."""
        with _locked(self.path), suppress(DatabaseError):
            if not self.path.exists() and not _repaired(self.path).exists():
                new = self.path.with_name(self.path.name + ".new")
                new.unlink(missing_ok=True)
                self._connection.execute("VACUUM INTO ?", (str(new),))
                os.replace(new, _repaired(self.path))

    def _opened(self) -> tuple[Connection, int]:
        for _ in range(ROUNDS):
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
                # An idle process has the emptied file open: nobody else can begin a new database there.
                self._replace_unless_replaced(before, EMPTIED)
                continue
            if _inode(self.path) == before:
                return connection, before
            connection.close()
        raise DatabaseDamaged(
            f"the database `{self.path}` is damaged again and again", hint="check the disk that it lies on"
        )

    def _replace_unless_replaced(self, inode: int, reason: str) -> None:
        """Replace the damaged file with that inode, unless another process has done so."""
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
        """Under the lock: put a new file with the readable rows in the place of the damaged one."""
        new = self.path.with_name(self.path.name + ".new")
        for ending in ("", "-wal", "-shm"):
            Path(f"{new}{ending}").unlink(missing_ok=True)  # of a repair that was cut short
        connection = self._prepared(new, create=True)
        try:
            self._copy(self.path, connection)
            connection.pragma("wal_checkpoint(truncate)")
        finally:
            connection.close()
        os.replace(new, _repaired(self.path))  # from now on a crash loses nothing: see _finish_replacing
        sync_folder(self.path.parent)
        aside = put_aside(self.path)
        self._finish_replacing()
        logger.warning(
            "`%s` was damaged (%s): what could be read was copied into a new file; the damaged one is kept as `%s`",
            self.path, reason, aside.name,
        )  # fmt: skip

    def _finish_replacing(self) -> None:
        """Give a repaired file its name, or begin a new one where there is none."""
        if self.path.exists():
            return
        if _repaired(self.path).exists():
            os.rename(_repaired(self.path), self.path)
            sync_folder(self.path.parent)
        else:
            connect(self.path, durable=True).close()


def _repaired(path: Path) -> Path:
    return path.with_name(path.name + ".repaired")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _is_empty(path: Path) -> bool:
    """Whether nothing is left of the file. Every database that was opened here has at least one page."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time replaces the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # somebody may have deleted the state folder
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
