"""Remembers which conflict copies were left to a person.

A copy that was called a conflict stays one for as long as its bytes are the same: a later save of
an unrelated line must not make it look mergeable. The journal keeps this over restarts. A name is a
hash, so that no path and no text is kept.
"""

import logging
from datetime import datetime, timedelta
from hashlib import sha256

from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.vault.write.writer import Writer

logger = logging.getLogger(__name__)

PREFIX = "conflict:"
KEPT_FOR = timedelta(days=400)
"""After the verdict was last given: a copy exists until a person resolves it"""
RENEWED_AFTER = timedelta(days=30)


class Verdicts:
    """The copies that wait for a person, by note and revision."""

    def __init__(self, writer: Writer) -> None:
        self._journal = writer.journal

    def is_conflict(self, note: str, revision: str) -> bool:
        """Whether a copy with these bytes was called a conflict before."""
        return self._journal.state(_name(note, revision)) is not None

    def call_conflict(self, note: str, revision: str, now: datetime) -> None:
        """Remembers that a person has to resolve a copy with these bytes. A failing journal is logged."""
        name = _name(note, revision)
        try:
            last_verdict = self._journal.state(name)
            if last_verdict is not None:
                age = now - datetime.fromisoformat(last_verdict)
                # A commit waits for the disk, and the daemon looks at each copy again
                # and again.
                if age < RENEWED_AFTER:
                    return
            with self._journal.transaction():
                self._journal.set_state(name, now.isoformat())
                self._journal.drop_states(PREFIX, (now - KEPT_FOR).isoformat())
        except (VaultMemoryError, DatabaseError) as error:
            logger.warning("cannot remember that a conflict copy waits for a person: %s", error)


def _name(note: str, revision: str) -> str:
    return PREFIX + sha256(f"{note}\0{revision}".encode()).hexdigest()
