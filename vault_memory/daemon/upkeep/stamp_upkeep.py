"""The daemon's work for fading: stamps of items whose notes or audits changed."""

import logging
import time

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.ingest.stamping import Stamping
from vault_memory.vault.watch.note_event import NoteEvent

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Time between two checks: ranking does not depend on stamps of the last second"""
RETRY_SECONDS = 30.0
"""Pause after the index could not be written"""
NOTES_PER_TURN = 5
KINDS = frozenset({"audit", "ledger"})


class StampUpkeep:
    """Writes the stamps of a few notes in each turn of the loop. Its failures do not affect search."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory
        self._changed: set[str] = set()
        """Audits and ledgers that changed"""
        self._has_more = False
        """Whether the index may have items without a stamp"""
        self._next = 0.0

    def heard(self, event: NoteEvent) -> None:
        """Notes that a file changed; only audits and ledgers matter here."""
        if event.place is not None and event.place.kind in KINDS:
            self._changed.add(event.path)

    def note_indexed(self) -> None:
        """Notes that the index got new text, which needs stamps."""
        self._has_more = True

    @property
    def is_busy(self) -> bool:
        """Whether stamps may have to be written."""
        return bool(self._changed) or self._has_more

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        if self.is_busy:
            return max(0.0, self._next - time.monotonic())
        return float("inf")

    def turn(self) -> None:
        """Does what is due."""
        if self.wait() > 0:
            return
        now = time.monotonic()
        self._next = now + PAUSE_SECONDS
        vault = self._memory.vault
        try:
            stamping = Stamping(vault.folder, vault.indexing.index(), vault.layout)
            for path in sorted(self._changed):
                stamping.mark(path)
                self._changed.discard(path)
            self._has_more = stamping.write_due(most=NOTES_PER_TURN)
        except (VaultMemoryError, DatabaseError, OSError) as error:
            logger.warning("stamps cannot be written: %s", error)
            self._next = now + RETRY_SECONDS
