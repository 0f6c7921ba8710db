"""The texts that wait until their notes can be written: read from the journal beside whoever writes it.

Only looks: it takes no lock, makes no file and mends nothing, so that a search may ask before each answer.
"""

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from vault_memory.database.connection import Connection, DatabaseError, connect
from vault_memory.errors import VaultMemoryError

FILE = "journal.sqlite"
_WAITING = (
    "SELECT op_id, path, base, content FROM ops WHERE phase IN ('pending', 'planned')"
    " AND side = 'ours' AND entry = '' AND content <> '' ORDER BY since, rowid"
)


@dataclass(frozen=True, slots=True)
class PendingText:
    """A whole text that a write is to put into its note."""

    op_id: str
    path: str
    base: str | None
    """Revision it was made from; None for a new note"""
    content: str
    """Revision of the text itself"""
    raw: bytes = field(default=b"", repr=False)
    before: bytes | None = field(default=None, repr=False)
    """The bytes of `base`, when they are kept"""


class PendingTexts:
    """Of one vault, whose journal lies in the folder `state`."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        self._connection: Connection | None = None
        self._inode = 0

    def listed(self) -> tuple[PendingText, ...]:
        """What waits, the oldest first, without the bytes. A journal that cannot be read has nothing to say."""
        try:
            connection = self._opened()
            return (
                tuple(PendingText(*row) for row in connection.execute(_WAITING))
                if connection
                else ()
            )
        except (DatabaseError, VaultMemoryError):
            self.close()
            return ()

    def read(self, text: PendingText) -> PendingText | None:
        """The same with its bytes; None when it was written, or given up, meanwhile."""
        try:
            raw = self._bytes(text.content)
            if raw is None:
                return None
            return PendingText(
                text.op_id,
                text.path,
                text.base,
                text.content,
                raw,
                self._bytes(text.base),
            )
        except (DatabaseError, VaultMemoryError, zlib.error):
            return None

    def close(self) -> None:
        """Let go of the journal; it is opened again when it is next asked."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> Connection | None:
        """The journal that lies there now: one that was damaged is replaced by a new file."""
        try:
            inode = os.stat(self._file).st_ino
        except OSError:
            self.close()
            return None
        if self._connection is None or inode != self._inode:
            self.close()
            self._connection, self._inode = connect(self._file, read_only=True), inode
        return self._connection

    def _bytes(self, revision: str | None) -> bytes | None:
        connection = self._opened()
        if connection is None or revision is None:
            return None
        row = connection.execute(
            "SELECT packed FROM blobs WHERE revision = ?", (revision,)
        ).fetchone()
        return zlib.decompress(row[0]) if row else None
