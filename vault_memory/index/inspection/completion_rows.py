"""Reads values for a shell's completion from the index as it is, without writing.

A Tab key waits for the answer, so this opens the file itself, and migrates and repairs nothing.
"""

from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import apsw


def scope_names(folder: Path, kind: str, most: int) -> list[str]:
    """Return the names of the scopes of a kind, such as `user`. Raises OSError without an index."""
    return _column(
        folder,
        "SELECT substr(name, length(?1) + 1)"
        " FROM scope"
        " WHERE substr(name, 1, length(?1)) = ?1"
        " ORDER BY name"
        " LIMIT ?2",
        f"{kind}:",
        most,
    )


def subjects(folder: Path, beginning: str, most: int) -> list[str]:
    """Return the subjects of facts that begin so. Raises OSError without an index."""
    return _column(
        folder,
        "SELECT DISTINCT subject"
        " FROM fact"
        " WHERE substr(subject, 1, length(?1)) = ?1"
        " ORDER BY subject"
        " LIMIT ?2",
        beginning,
        most,
    )


def _column(folder: Path, statement: str, beginning: str, most: int) -> list[str]:
    """Return a column of the current index of this folder."""
    number = int((folder / "current").read_text(encoding="ascii"))
    file = folder / f"index-{number}.sqlite"
    log = Path(f"{file}-wal")
    address = f"file:{quote(str(file))}?mode=ro"
    # Without a log an ordinary reader would create one; it is removed only by a writer.
    if not log.exists():
        address += "&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(address, flags=flags)) as connection:
        rows = connection.execute(statement, (beginning, most)).fetchall()
    return [str(row[0]) for row in rows]
