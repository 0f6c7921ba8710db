"""Connections to PostgreSQL that threads share, and its errors as errors of the program.

No error, log or representation has the text of the server or of the connection settings: a
password with unusual characters can be in either.
"""

import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from vault_memory.addons.fleet.ledger.ledger_errors import LedgerAway, LedgerMissing, LedgerRefused
from vault_memory.addons.fleet.ledger.ledger_rows import Run, Values, refusing_texts, unstorable
from vault_memory.errors import ConfigError, VaultMemoryError

SCHEMA = "vault_memory"
"""Of the tables"""
TRACES = "the write-ahead log of the database, and rows that it has not vacuumed yet"
"""What only the server itself removes, later"""
MOST_CONNECTIONS = 8
WAIT_SECONDS = 10.0
"""For a connection while other threads use all of them"""
CONNECTING_SECONDS = 5
STATEMENT_SECONDS = 10
SETTINGS: dict[str, Any] = {
    "application_name": "vault-memory",
    "connect_timeout": CONNECTING_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": STATEMENT_SECONDS * 1000,
    # Fault: after a fail-over, the first server that answers may be a read-only one.
    "target_session_attrs": "read-write",
}
"""Settings that the operator's own settings replace"""
SESSION = (
    "-c timezone=UTC"
    f" -c search_path={SCHEMA}"
    f" -c statement_timeout={STATEMENT_SECONDS}s"
    f" -c lock_timeout={STATEMENT_SECONDS}s"
    # Fault: without it, an acknowledged operation could be lost with the server.
    " -c synchronous_commit=on"
)

HAS_SESSION = f"""
SELECT current_setting('TimeZone') = 'UTC'
   AND current_setting('statement_timeout') = '{STATEMENT_SECONDS}s'
   AND current_setting('synchronous_commit') = 'on'
"""
POOLER = "a pooler in front of it drops the settings of a session"
POOLER_HINT = (
    "let `fleet.database` name PostgreSQL directly: a host opens at most"
    f" {MOST_CONNECTIONS} connections"
)
UNREACHABLE = "it cannot be reached"
ENCRYPTION = "it and this host do not agree on encryption"
WRONG_SETTING = "a setting of the connection is wrong"
REFUSED_LOGINS = {
    "password authentication failed": "its user or password is wrong",
    "no password supplied": "it asks for a password",
    "pg_hba.conf": "it lets no host log in from here",
    'role "': "it has no such user",
    'database "': "it has no such database",
    "but SSL": ENCRYPTION,
    "certificate": ENCRYPTION,
    "channel binding": ENCRYPTION,
    'connection option "': WRONG_SETTING,
    'value: "': WRONG_SETTING,
    "invalid port": WRONG_SETTING,
    "invalid value for": WRONG_SETTING,
    "unrecognized": WRONG_SETTING,
    "definition of service": WRONG_SETTING,
}
"""A part of the server's message → what is wrong"""
REASONS = {
    "25006": "it is read-only",
    "40P01": "two hosts waited for each other",
    "53100": "its disk is full",
    "53300": "it has too many connections",
    "55P03": "another transaction holds a lock",
    "57014": "it took too long",
    "57P01": "it is shutting down",
    "57P02": "it is shutting down",
    "57P03": "it is starting",
}
"""SQLSTATE → why the server does not answer"""
POSTPONED_LOGINS = {
    "too many": "53300",
    "connection slots": "53300",
    "shutting down": "57P01",
    "starting up": "57P03",
}
"""A part of the server's message → its SQLSTATE"""
UNDEFINED = ("3F000", "42P01")
"""SQLSTATE of a missing schema or table"""
FORBIDDEN = "42501"


class Connections:
    """Open connections, each used by one thread at a time."""

    def __init__(
        self, settings: str, check: Callable[[Connection], object], most: int = MOST_CONNECTIONS
    ) -> None:
        """`settings` is a URL or ``host=… dbname=…``; `check` gets each new connection.

        Raises ConfigError when the settings cannot be parsed. Opens no connection.
        """
        self._settings = _parsed(settings)
        self._check = check
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._free = threading.Semaphore(most)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def read(self, sql: str, values: Values) -> list[Any]:
        """Run one statement as a transaction; return its rows."""
        with self.connection() as connection:
            return _rows(connection, sql, values)

    def change(self, sql: str, values: Values, *, durable: bool = True) -> list[Any]:
        """Run one statement as a transaction, which is always durable; return its rows."""
        return self.read(sql, values)

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Run]:
        """Run statements in one transaction, which is always durable."""
        with self.connection() as connection, connection.transaction():
            yield lambda sql, values: _rows(connection, sql, values)

    def erase_traces(self) -> list[str]:
        """Return the places where removed rows may still be."""
        return [TRACES]

    @contextmanager
    def connection(self, *, checked: bool = True) -> Iterator[Connection]:
        """Lend a connection. Errors of PostgreSQL leave it as errors of the program."""
        if not self._free.acquire(timeout=WAIT_SECONDS):
            raise LedgerAway("all connections are in use")
        try:
            connection = self._idle_connection() or self._opened(checked)
            try:
                yield connection
            except psycopg.Error as error:
                raise self._reported(error, connection) from None
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    def _idle_connection(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if _is_quiet(connection):
                return connection
            connection.close()

    def _opened(self, checked: bool) -> Connection:
        try:
            connection = psycopg.connect(**self._settings, autocommit=True)
        except psycopg.OperationalError as error:
            # Not its cause: its text may have a part of the password.
            raise _login_error(str(error)) from None
        except psycopg.ProgrammingError:
            raise LedgerRefused(WRONG_SETTING) from None
        try:
            _check_session(connection)
            if checked:
                self._check(connection)
        except psycopg.Error as error:
            connection.close()
            raise error_of(error) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _put_back(self, connection: Connection) -> None:
        status = connection.info.transaction_status
        if connection.closed or status != psycopg.pq.TransactionStatus.IDLE:
            connection.close()
            return
        with self._lock:
            self._idle.append(connection)

    def _reported(self, error: psycopg.Error, connection: Connection) -> Exception:
        reported = error_of(error)
        if connection.broken or error.sqlstate == "25006":
            # Fault: the server restarted or became a standby. The other connections
            # lead there, too.
            self.close()
            with suppress(psycopg.Error):
                connection.close()
        return reported


def _rows(connection: Connection, sql: str, values: Values) -> list[Any]:
    """Run a prepared statement; return its rows."""
    with refusing_texts():
        cursor = connection.execute(sql, values, prepare=True, binary=True)
        return cursor.fetchall() if cursor.description else []


def with_password(settings: str, password: str) -> str:
    """Return the settings with the password. Raises ConfigError."""
    _own_settings(settings)
    return make_conninfo(settings, password=password) if password else settings


def has_password(settings: str) -> bool:
    """Whether the settings themselves have a password. Raises ConfigError."""
    return bool(_own_settings(settings).get("password"))


def _own_settings(settings: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(settings))
    except psycopg.ProgrammingError:
        # Not its cause: its text has a part of the settings, perhaps the password.
        raise ConfigError(
            "the setting of the fleet's database cannot be read",
            hint="give `postgresql://USER@HOST/NAME`, or `host=HOST dbname=NAME user=USER`",
        ) from None


def _parsed(settings: str) -> dict[str, Any]:
    own = _own_settings(settings)
    options = f"{own.pop('options', '')} {SESSION}".strip()
    # Fault: in another encoding names cannot be stored, or come as bytes: from a database
    # that has none, made by `initdb` without a language, or with a variable of PostgreSQL.
    return {**SETTINGS, **own, "options": options, "client_encoding": "UTF8"}


def _is_quiet(connection: Connection) -> bool:
    """Return whether an idle connection is open: the server sends something only to end it."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def _check_session(connection: Connection) -> None:
    """Raise LedgerRefused when the settings of the session have no effect."""
    # Fault: a pooler may ignore them. An acknowledged operation could be lost with the
    # server, and in some modes statements that were prepared are missing.
    row = connection.execute(HAS_SESSION).fetchone()
    if row != (True,):
        raise LedgerRefused(POOLER, POOLER_HINT)


def _login_error(text: str) -> VaultMemoryError:
    if "startup parameter" in text:
        return LedgerRefused(POOLER, POOLER_HINT)
    # Fault: the client reports the messages of a login without their code.
    for part, reason in REFUSED_LOGINS.items():
        if part in text:
            return LedgerRefused(reason)
    for part, code in POSTPONED_LOGINS.items():
        if part in text:
            return LedgerAway(REASONS[code])
    return LedgerAway(UNREACHABLE)


def error_of(error: psycopg.Error) -> Exception:
    """Return the error of the program for an error of PostgreSQL, without its text."""
    code = error.sqlstate or ""
    if code in UNDEFINED:
        return LedgerMissing()
    if code == FORBIDDEN:
        return LedgerRefused("its user may not use the tables of the ledger")
    if isinstance(error, psycopg.DataError):
        return unstorable()
    if isinstance(error, psycopg.ProgrammingError) and code not in REASONS:
        # A fault of this program: its traceback is what helps.
        fault: Exception = error
        return fault
    return LedgerAway(REASONS.get(code, "the connection was cut"))
