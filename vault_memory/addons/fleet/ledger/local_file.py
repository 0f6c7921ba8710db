"""The file of a ledger in SQLite: how it is made, checked, opened and used by threads."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vault_memory import places
from vault_memory.addons.fleet.ledger import ledger_statements
from vault_memory.addons.fleet.ledger.ledger_errors import (
    LedgerAway,
    LedgerMissing,
    LedgerRefused,
    LedgerTooNew,
)
from vault_memory.addons.fleet.ledger.ledger_rows import (
    Run,
    Values,
    new_fleet,
    new_secret,
    refusing_texts,
)
from vault_memory.database.connection import (
    BUSY,
    BUSY_MILLISECONDS,
    FULL,
    Connection,
    DatabaseDamaged,
    DatabaseError,
    DatabaseUnwritable,
    connect,
    connect_as_is,
    is_damage,
    reason_unwritable,
)
from vault_memory.database.migrations import Migration, migrate, version_of
from vault_memory.errors import VaultMemoryError

PRIVATE = 0o600
OTHERS = 0o077
"""Rights of other accounts"""
ENDINGS = ("", "-wal", "-shm")
"""Of the file, its write-ahead log and its shared memory"""
DAMAGED_HINT = (
    "check `fleet.database`; keep the file, it may be the only copy of acknowledged operations"
)
REPLACED = "its file was moved or replaced, and this process has to be started again"

LOG = "the write-ahead log of the ledger"

SQLITE = ledger_statements.Dialect(
    now="unixepoch('subsec')",
    least="min",
    greatest="max",
    leases="SELECT value->>0 AS id, value->>1 AS epoch FROM json_each(:leases)",
    table_end=" WITHOUT ROWID",
)


def _make_tables(connection: Connection) -> None:
    connection.execute("CREATE TABLE ledger(fleet TEXT NOT NULL, secret TEXT NOT NULL)")
    connection.execute("INSERT INTO ledger VALUES (?, ?)", (new_fleet(), new_secret()))
    connection.execute(SQLITE.say(ledger_statements.TABLES))


STEPS: tuple[Migration, ...] = (_make_tables,)
"""The migrations. The number of applied steps is the format of a ledger"""


class LedgerFile:
    """An open file. Threads may use it at once: one of them writes at a time, and one reads."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Open the file; `create` makes or migrates it.

        Raises LedgerMissing, LedgerRefused, LedgerTooNew, LedgerAway, DatabaseDamaged.
        """
        self._path = path
        self._writing = threading.Lock()
        # Fault: all reads of this process would wait for a write that another one blocks.
        self._reading = threading.Lock()
        with _reporting_refusals(path):
            if create:
                _make(path)
            _close_to_others(path)
            with self._reporting_errors():
                _check(path, create=create)
                self._writer = _opened(path)
                self._reader = _opened(path)
        self._file = _file_of(path)

    def close(self) -> None:
        """Close the file."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Run]:
        """Run statements in one transaction. Without `durable`, a power cut may undo it.

        Raises LedgerAway, DatabaseDamaged.
        """
        with _patiently(self._writing), self._reporting_errors():
            # Fault: a backup was moved to this name. What goes into the old file would be
            # acknowledged, and lost when the process ends.
            if _file_of(self._path) != self._file:
                raise LedgerAway(REPLACED)
            connection = self._writer
            connection.pragma("synchronous", "full" if durable else "normal")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, values: _rows(connection, sql, values)
                connection.execute("COMMIT")
            except BaseException:
                # Fault: some errors end the transaction themselves.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def change(self, sql: str, values: Values, *, durable: bool = True) -> list[Any]:
        """Run one statement in a transaction, and return its rows."""
        with self.transaction(durable=durable) as run:
            return run(sql, values)

    def read(self, sql: str, values: Values) -> list[Any]:
        """Run one statement that changes nothing, and return its rows."""
        with self._reading, self._reporting_errors():
            return _rows(self._reader, sql, values)

    def erase_traces(self) -> list[str]:
        """Empty the write-ahead log; return its name while another process reads from it."""
        # Fault: removed words are still in the log. The file itself overwrites them.
        with _patiently(self._writing), self._reporting_errors():
            sql = "PRAGMA wal_checkpoint(TRUNCATE)"
            [(is_busy, _, _)] = _rows(self._writer, sql, {})
        return [LOG] if is_busy else []

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into errors of the program."""
        try:
            yield
        except DatabaseUnwritable:
            raise LedgerAway(FULL) from None
        except DatabaseError as error:
            if reason := reason_unwritable(error):
                raise LedgerAway(reason) from error
            if is_damage(error):
                raise DatabaseDamaged(
                    f"the ledger `{self._path}` is damaged: {error}", hint=DAMAGED_HINT
                ) from error
            raise


@contextmanager
def _patiently(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock, unless other threads hold it for too long. Raises LedgerAway."""
    # Fault: each of many threads would wait for the whole time of those before it.
    if not lock.acquire(timeout=BUSY_MILLISECONDS / 1000):
        raise LedgerAway(BUSY)
    try:
        yield
    finally:
        lock.release()


def _rows(connection: Connection, sql: str, values: Values) -> list[Any]:
    """Run a statement to its end and return its rows."""
    bindings: Any = values
    with refusing_texts():
        return list(connection.execute(sql, bindings))


# --- Opening ---


@contextmanager
def _reporting_refusals(path: Path) -> Iterator[None]:
    """Turn errors of the system about the path into LedgerRefused."""
    try:
        yield
    except OSError as error:
        raise LedgerRefused(f"`{path}`: {error.strerror}") from None
    except ValueError:
        raise LedgerRefused("its name cannot be that of a file") from None


def _make(path: Path) -> None:
    """Make an empty file that only its owner can read, unless the path exists."""
    places.make_private(path.parent)
    try:
        # Fault: the file has the secret of the fleet and words of people. SQLite would
        # make it, and its log, with the usual rights.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(path, flags, PRIVATE))
    except FileExistsError:
        # SQLite checks what is in it.
        return


def _close_to_others(path: Path) -> None:
    """Take rights of other accounts away. Raises LedgerMissing, LedgerRefused, OSError."""
    if not path.exists():
        raise LedgerMissing
    # Fault: opening a named pipe would wait for ever.
    if not path.is_file():
        raise LedgerRefused(f"`{path}` is not a file")
    for ending in ENDINGS:
        file = path.with_name(path.name + ending)
        if file.exists() and file.stat().st_mode & OTHERS:
            file.chmod(PRIVATE)


def _check(path: Path, *, create: bool) -> None:
    """Check what the file has, and change nothing.

    Raises LedgerMissing, LedgerRefused, LedgerTooNew.
    """
    # Fault: the file of another program would get our tables and our kind of log.
    with _reporting_open_errors():
        connection = connect_as_is(path, DAMAGED_HINT)
    try:
        version = version_of(connection)
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        names = {name for (name,) in tables}
    finally:
        connection.close()
    if names and "ledger" not in names:
        raise LedgerRefused(f"`{path}` is a database of another kind")
    newest = len(STEPS)
    # Fault: an older version would ignore columns that restrict a token.
    if version > newest:
        raise LedgerTooNew(version, newest)
    if version < newest and not create:
        raise LedgerMissing


def _opened(path: Path) -> Connection:
    with _reporting_open_errors():
        connection = connect(path, durable=True, create=False, hint=DAMAGED_HINT)
    try:
        # Fault: a forgotten text must not remain in free pages of the file.
        connection.pragma("secure_delete", True)
        migrate(connection, STEPS)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _reporting_open_errors() -> Iterator[None]:
    """Turn errors of opening into LedgerRefused, unless the file is damaged or the disk is full."""
    try:
        yield
    except (DatabaseDamaged, DatabaseUnwritable):
        raise
    except VaultMemoryError as error:
        raise LedgerRefused(error.message) from None


def _file_of(path: Path) -> tuple[int, int]:
    """Return what tells this file from another one of its name; zeros for no file."""
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)
