"""Opens SQLite: pragmas, migrations, sqlite-vec. What is stored there is for the rooms above."""

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
    put_aside,
    quick_check,
    why_unwritable,
)
from vault_memory.database.erasing import compact, values_in
from vault_memory.database.foreign import ForeignDatabase, columns, look_into, rows, tables
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
    "look_into",
    "migrate",
    "put_aside",
    "quick_check",
    "rows",
    "statements",
    "tables",
    "values_in",
    "version_of",
    "why_unwritable",
]
