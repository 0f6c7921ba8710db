"""Reads the texts of pending writes from the journal, for searches beside the writer.

It takes no lock, creates no file and repairs nothing, so that a search can ask before each answer.
"""

import os
import zlib
from dataclasses import dataclass, field, replace
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
    """A text that a pending write will put into its note."""

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
    """The pending texts of one vault, whose journal is in the folder `state`."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        self._connection: Connection | None = None
        self._inode = 0

    def listed(self) -> tuple[PendingText, ...]:
        """Returns the pending texts without their bytes, the oldest first.

        Returns nothing when the journal cannot be read.
        """
        try:
            connection = self._open()
            if connection is None:
                return ()
            return tuple(PendingText(*row) for row in connection.execute(_WAITING))
        except (DatabaseError, VaultMemoryError):
            # A damaged or locked journal must not fail a search.
            self.close()
            return ()

    def read(self, text: PendingText) -> PendingText | None:
        """Returns the text with its bytes; None when it was written or discarded meanwhile."""
        try:
            raw = self._bytes(text.content)
            if raw is None:
                return None
            return replace(text, raw=raw, before=self._bytes(text.base))
        except (DatabaseError, VaultMemoryError, zlib.error):
            # The write may have ended since `listed`, and damage must not fail a search.
            return None

    def close(self) -> None:
        """Closes the journal; the next call opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> Connection | None:
        try:
            inode = os.stat(self._file).st_ino
        except OSError:
            self.close()
            return None
        # Fault (B45): a damaged journal is replaced by a new file. An old connection
        # would read the damaged one.
        if self._connection is None or inode != self._inode:
            self.close()
            self._connection = connect(self._file, read_only=True)
            self._inode = inode
        return self._connection

    def _bytes(self, revision: str | None) -> bytes | None:
        connection = self._open()
        if connection is None or revision is None:
            return None
        row = connection.execute(
            "SELECT packed FROM blobs WHERE revision = ?", (revision,)
        ).fetchone()
        return zlib.decompress(row[0]) if row else None
