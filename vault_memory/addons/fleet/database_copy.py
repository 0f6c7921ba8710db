"""Copies a SQLite database that may be open: the copy has one moment of it, and no free pages."""

import tempfile
from pathlib import Path

from vault_memory.database.connection import connect

_SCHEMA_COOKIE = slice(40, 44)
"""Bytes of the file's header: a number that each copy of a copy counts up"""


def copy_database(file: Path) -> bytes:
    """Return the bytes of a compact copy. Raises FileNotFoundError, DatabaseError."""
    if not file.exists():
        raise FileNotFoundError(file)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".copy-") as folder:
        target = Path(folder, "copy.sqlite")
        connection = connect(file, create=False)
        try:
            # Fault: rows that were deleted stay in free pages, and a forgotten text with them.
            connection.execute("VACUUM INTO ?", (str(target),))
        finally:
            connection.close()
        raw = bytearray(target.read_bytes())
    # Equal rows must make equal bytes, so that an unchanged bundle is not stored again.
    raw[_SCHEMA_COOKIE] = (1).to_bytes(4)
    return bytes(raw)
