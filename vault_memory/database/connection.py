"""Opens a SQLite file with the pragmas that several processes beside a daemon need."""

import importlib.util
import time
from pathlib import Path

import apsw

from vault_memory.errors import VaultMemoryError

Connection = apsw.Connection
DatabaseError = apsw.Error

BUSY_MILLISECONDS = 10_000


class DatabaseDamaged(VaultMemoryError):
    """The file is not a database, or it is damaged."""


class DatabaseUnwritable(VaultMemoryError):
    """The database cannot be written now: its disk is full or read-only, or it is in use."""

    http_status = 503

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(
            f"{database} cannot be written now: {reason}", hint=WRITE_HINTS[reason], reason=reason
        )


FULL = "its disk is full or fails"
BUSY = "another process is writing to it"
READ_ONLY = "it is read-only"
WRITE_HINTS = {
    FULL: "free some space on the disk of the state folder, and try again",
    BUSY: "try again in a moment",
    READ_ONLY: "make the state folder writable, and try again",
}

KEEP_FILE_HINT = (
    "check the disk and the permissions of its folder; "
    "keep the file, it may be the only copy of its contents"
)


def connect(
    path: Path | str,
    *,
    durable: bool = False,
    read_only: bool = False,
    create: bool = True,
    alone: bool = False,
    hint: str = KEEP_FILE_HINT,
) -> Connection:
    """Open the database at `path`; create it unless `create` is false.

    `alone` locks other processes out. It works on a full disk, because no shared-memory file is
    created. `durable` syncs to the disk on each commit, for data that cannot be rebuilt. `hint`
    goes into the errors. Raises DatabaseDamaged when the file is not a database,
    DatabaseUnwritable when the disk is full, VaultMemoryError when the file cannot be opened for
    another reason.
    """
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    if create and not read_only:
        flags |= apsw.SQLITE_OPEN_CREATE
    connection: Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=flags)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        if alone:
            connection.pragma("locking_mode", "exclusive")
        if not read_only:
            _use_write_ahead_log(connection)
            connection.pragma("synchronous", "full" if durable else "normal")
        connection.pragma("temp_store", "memory")
        connection.pragma("foreign_keys", False)
        connection.pragma("schema_version")
    except apsw.Error as error:
        if connection is not None:
            # Fault: a failed open can keep a lock that the next attempt needs.
            connection.close()
        raise _open_error(path, error, hint) from None
    return connection


def connect_as_is(path: Path, hint: str) -> Connection:
    """Open a file that may belong to another program; keep its kind of log. Raises as `connect`."""
    connection: Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.pragma("schema_version")
    except apsw.Error as error:
        if connection is not None:
            # Fault: a failed open can keep a lock that the next attempt needs.
            connection.close()
        raise _open_error(path, error, hint) from None
    return connection


def _open_error(path: Path | str, error: apsw.Error, hint: str) -> VaultMemoryError:
    """Return the error of the program for an error of SQLite while opening a file."""
    message = f"the database `{path}` cannot be opened: {error}"
    if is_damage(error):
        return DatabaseDamaged(message, hint=hint)
    if isinstance(error, (apsw.IOError, apsw.FullError)):
        return DatabaseUnwritable(f"the database `{path}`", FULL)
    return VaultMemoryError(message, hint=hint)


def _use_write_ahead_log(connection: Connection) -> None:
    """Switch to the write-ahead log, and retry while another process does the same.

    SQLite ignores the busy timeout when two processes change the journal mode of a new file at
    once.
    """
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    # Fault: SQLite ignores the busy timeout when two processes change the journal mode
    # of a new file at once.
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
            # A database in memory has no such log, and stays in its mode.
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def change_counter(connection: Connection) -> int:
    """Return a number that differs after each change of the file by any process."""
    return int(connection.pragma("data_version")) * 2**32 + connection.total_changes()


def quarantine(file: Path) -> Path:
    """Rename a damaged file and its log to the first free ``FILE.damaged-N``; return that path."""
    number = 1
    # Fault (B45): an earlier damaged file may be the only copy of its rows. No second
    # one replaces it.
    while file.with_name(f"{file.name}.damaged-{number}").exists():
        number += 1
    target = file.with_name(f"{file.name}.damaged-{number}")
    # Fault (B45): the log of a damaged file has its newest rows. Left in place, SQLite
    # would apply it to the new file.
    for ending in ("", "-wal", "-shm"):
        source = file.with_name(file.name + ending)
        if source.exists():
            source.rename(f"{target}{ending}")
    return target


def quick_check(path: Path) -> str:
    """Return what SQLite's `quick_check` reports: ``ok``, or the damage. Raises VaultMemoryError."""
    try:
        connection = connect(path, read_only=True)
    except DatabaseDamaged as error:
        return error.message
    try:
        return str(connection.pragma("quick_check"))
    except apsw.Error as error:
        return str(error)
    finally:
        connection.close()


def is_damage(error: DatabaseError) -> bool:
    """Return whether the file itself is damaged, as opposed to a full disk or a lock."""
    if isinstance(error, apsw.IOError):
        # Fault (B45): a truncated file or log ends before the page that SQLite reads.
        # Any other error of the disk may pass.
        return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ)
    return isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError))


def reason_unwritable(error: DatabaseError) -> str:
    """Return why the database cannot be written now; empty for any other error."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BUSY
    if isinstance(error, apsw.ReadOnlyError):
        return READ_ONLY
    if isinstance(error, (apsw.FullError, apsw.IOError)) and not is_damage(error):
        return FULL
    return ""


def load_vector_functions(connection: Connection) -> None:
    """Load sqlite-vec's functions into `connection`, and switch extension loading off again.

    Loads the file of the extension directly: importing the package `sqlite_vec` would import numpy.
    Raises VaultMemoryError when the package is not installed.
    """
    package = importlib.util.find_spec("sqlite_vec")
    if package is None or not package.submodule_search_locations:
        raise VaultMemoryError(
            "the package `sqlite-vec` is not installed", hint="install it with pip"
        )
    extension = Path(package.submodule_search_locations[0]) / "vec0"
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(extension))
    finally:
        # Fault: with extension loading on, a statement could run code from any file.
        connection.enable_load_extension(False)
