"""One way to open a database file, with the pragmas that a file beside a running daemon needs."""

import importlib.util
import time
from pathlib import Path

import apsw

from vault_memory.errors import VaultMemoryError

Connection = apsw.Connection
DatabaseError = apsw.Error

BUSY_MILLISECONDS = 10_000


class DatabaseDamaged(VaultMemoryError):
    """The file is no database, or a broken one."""


class DatabaseUnwritable(VaultMemoryError):
    """The database cannot be written now: its disk is full or read-only, or another process is writing."""

    exit_code = 75
    http_status = 503

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} cannot be written now: {reason}", hint=WRITE_HINTS[reason], reason=reason)


FULL, BUSY, READ_ONLY = "its disk is full or fails", "another process is writing into it", "it is read-only"
WRITE_HINTS = {
    FULL: "free some space on the disk of the state folder, and try again",
    BUSY: "try again in a moment",
    READ_ONLY: "make the state folder writable, and try again",
}


KEEP_IT = "check the disk and the permissions of its folder; keep the file, it may hold what is nowhere else"


def connect(
    path: Path | str,
    *,
    durable: bool = False,
    read_only: bool = False,
    create: bool = True,
    alone: bool = False,
    hint: str = KEEP_IT,
) -> Connection:
    """Open `path`, and make it when it is not there, unless `create` says no. `hint` is what a person is advised.

    `alone` keeps other processes out, and needs no room on the disk: no file is made for what processes share.

    `durable` syncs to the disk on every commit, for what cannot be rebuilt; an index can be, and does without.
    Raises DatabaseDamaged when the file is no database, DatabaseUnwritable when there is no room to open it,
    VaultMemoryError when it cannot be opened.
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
            connection.close()  # it may hold a lock that the next try needs
        if not is_damage(error) and isinstance(error, (apsw.IOError, apsw.FullError)):
            raise DatabaseUnwritable(f"the database `{path}`", FULL) from None
        kind = DatabaseDamaged if is_damage(error) else VaultMemoryError
        raise kind(f"the database `{path}` cannot be opened: {error}", hint=hint) from None
    return connection


def _use_write_ahead_log(connection: Connection) -> None:
    """Two who open a new file at once both want to change its journal; SQLite lets none of them wait for the other."""
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    while connection.pragma("journal_mode") != "wal":
        try:
            connection.pragma("journal_mode", "wal")
            return  # also in memory, where there is no such log
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def change_counter(connection: Connection) -> int:
    """A number that differs whenever anything in the file was changed, by any process."""
    return int(connection.pragma("data_version")) * 2**32 + connection.total_changes()


def put_aside(file: Path) -> Path:
    """Give a damaged file, with its log, the first free name ``FILE.damaged-N``; returns that name.

    A new file can then be begun.
    """
    number = 1
    while file.with_name(f"{file.name}.damaged-{number}").exists():
        number += 1
    aside = file.with_name(f"{file.name}.damaged-{number}")
    for ending in ("", "-wal", "-shm"):
        part = file.with_name(file.name + ending)
        if part.exists():
            part.rename(f"{aside}{ending}")
    return aside


def quick_check(path: Path) -> str:
    """What SQLite finds wrong in the file at `path`; ``ok`` when that is nothing. Raises VaultMemoryError."""
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
    """Whether the error says that the file itself is broken, and not that a disk is full or a lock held."""
    if isinstance(error, apsw.IOError):  # a file or its log that somebody cut off ends before the page that is read
        return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ)
    return isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError))


def why_unwritable(error: DatabaseError) -> str:
    """Why nothing can be written now; empty when the error says something else."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BUSY
    if isinstance(error, apsw.ReadOnlyError):
        return READ_ONLY
    full = isinstance(error, (apsw.FullError, apsw.IOError)) and not is_damage(error)
    return FULL if full else ""


def load_vector_functions(connection: Connection) -> None:
    """Give `connection` sqlite-vec's functions, and switch extension loading off again.

    The extension's file is loaded directly: importing the `sqlite_vec` package would import numpy.
    """
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or not found.submodule_search_locations:
        raise VaultMemoryError("the package `sqlite-vec` is not installed", hint="install it with pip")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(Path(found.submodule_search_locations[0]) / "vec0"))
    finally:
        connection.enable_load_extension(False)
