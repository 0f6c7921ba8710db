"""Opens SQLite files: pragmas, migrations, sqlite-vec, repair. Callers define the tables."""

from vault_memory.database.connection import (
    BUSY_MILLISECONDS,
    Connection,
    DatabaseDamaged,
    DatabaseError,
    DatabaseUnwritable,
    change_counter,
    connect,
    is_damage,
    load_vector_functions,
    quarantine,
    quick_check,
    reason_unwritable,
)
from vault_memory.database.erasing import compact, stored_values
from vault_memory.database.foreign import ForeignDatabase, columns, open_foreign, rows, tables
from vault_memory.database.migrations import Migration, migrate, statements, version_of
from vault_memory.database.repairing import RepairingConnection, Rows

__all__ = [
    "BUSY_MILLISECONDS",
    "Connection",
    "DatabaseDamaged",
    "DatabaseError",
    "DatabaseUnwritable",
    "ForeignDatabase",
    "Migration",
    "RepairingConnection",
    "Rows",
    "change_counter",
    "columns",
    "compact",
    "connect",
    "is_damage",
    "load_vector_functions",
    "migrate",
    "open_foreign",
    "quarantine",
    "quick_check",
    "reason_unwritable",
    "rows",
    "statements",
    "stored_values",
    "tables",
    "version_of",
]
