"""Databases for ledgers, which the tests open several times, as several hosts do."""

from pathlib import Path
from typing import Any, Protocol

from vault_memory.ledger.contract import Ledger
from vault_memory.ledger.local import LocalLedger


class Book(Protocol):
    """One database of a fleet."""

    def open(self, **options: Any) -> Ledger:
        """Open it as one more host."""
        ...

    def set_format(self, version: int) -> None:
        """Make the database look as if another version of the program had written it."""
        ...

    def text(self) -> bytes:
        """Everything that the tables and indexes still show."""
        ...


class LocalBook:
    """A file of SQLite."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.sqlite"

    def open(self, **options: Any) -> Ledger:
        return LocalLedger(self.path, **options)

    def set_format(self, version: int) -> None:
        import apsw

        connection = apsw.Connection(str(self.path))
        connection.pragma("user_version", version)
        connection.close()

    def text(self) -> bytes:
        files = self.path.parent.glob("ledger.sqlite*")
        return b"".join(file.read_bytes() for file in files)
