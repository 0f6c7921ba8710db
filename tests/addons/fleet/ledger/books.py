"""Databases for ledgers, which the tests open several times, as several hosts do."""

from pathlib import Path
from typing import Any, Protocol

import apsw

from tests.addons.fleet.ledger.servers import PostgresServer
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.local import LocalLedger


class Book(Protocol):
    """One database of a fleet."""

    def open(self, **options: Any) -> Ledger:
        """Open it as one more host."""
        ...

    def set_format(self, version: int) -> None:
        """Make the database look as if another version of the program had written it."""
        ...

    def execute(self, sql: str) -> list[Any]:
        """Run a statement without a ledger."""
        ...

    def text(self) -> bytes:
        """Everything that the tables and indexes still show."""
        ...


class LocalBook:
    """A file of SQLite."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.sqlite"

    def open(self, **options: Any) -> Ledger:
        return LocalLedger(self.path, **{"create": True, **options})

    def set_format(self, version: int) -> None:
        self.execute(f"PRAGMA user_version = {version}")

    def execute(self, sql: str) -> list[Any]:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(5000)
        try:
            return list(connection.execute(sql))
        finally:
            connection.close()

    def text(self) -> bytes:
        files = self.path.parent.glob("ledger.sqlite*")
        return b"".join(file.read_bytes() for file in files)


class PostgresBook:
    """A database of PostgreSQL."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.url = server.database()

    def open(self, **options: Any) -> Ledger:
        from vault_memory.addons.fleet.ledger.postgres import PostgresLedger

        return PostgresLedger(self.url, **{"create": True, **options})

    def set_format(self, version: int) -> None:
        self.execute(f"UPDATE vault_memory.ledger SET format = {version}")

    def execute(self, sql: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def text(self) -> bytes:
        tables = ("kept", "token", "vault")
        rows = [self.execute(f"SELECT * FROM vault_memory.{name}") for name in tables]
        return repr(rows).encode()
