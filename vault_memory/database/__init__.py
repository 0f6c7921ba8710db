"""Opens SQLite: pragmas, migrations, sqlite-vec. What is stored there is for the rooms above."""

from vault_memory.database.connection import (
    Connection,
    DatabaseDamaged,
    DatabaseError,
    connect,
    is_damage,
    load_vector_functions,
)
from vault_memory.database.erasing import compact, values_in
from vault_memory.database.migrations import Migration, migrate, version_of

__all__ = [
    "Connection",
    "DatabaseDamaged",
    "DatabaseError",
    "Migration",
    "compact",
    "connect",
    "is_damage",
    "load_vector_functions",
    "migrate",
    "values_in",
    "version_of",
]
