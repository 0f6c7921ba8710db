"""The daemon's work for fading: stamps of items whose notes or audits changed."""

import logging
import time

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.ingest.scan import Ingest
from vault_memory.ingest.stamping import Stamping
from vault_memory.ingest.sweep import Findings, Sweep
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

    def note_event(self, event: NoteEvent) -> None:
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

    def write_due_stamps(self) -> None:
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


# --- Sweep pace ---

# Paces the sweep of the vault, which is due each minute: it must not delay questions.
#
# One slice takes about a millisecond. A round through a small vault ends at once. A round through a
# large vault may use only a small share of the processor: 100,000 notes take some minutes.

AT_ONCE_SECONDS = 0.005
"""Processor time of one turn of the loop"""
SHARE = 0.0015
"""Largest share of one processor for sweeps"""


class Sweeping:
    """The current round, if one is under way."""

    def __init__(self) -> None:
        self._sweep: Sweep | None = None
        self._next_slice = 0.0

    def begin(self) -> None:
        """Begins a round, unless one is under way."""
        if self._sweep is None:
            self._sweep = Sweep()
            self._next_slice = 0.0

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next slice."""
        if self._sweep is None:
            return float("inf")
        return max(0.0, self._next_slice - time.monotonic())

    def compare_slices(self, ingest: Ingest) -> Findings:
        """Compares the slices that are due."""
        findings = Findings()
        if self._sweep is None or time.monotonic() < self._next_slice:
            return findings
        start = time.thread_time()
        spent = 0.0
        while spent < AT_ONCE_SECONDS and not self._sweep.is_done:
            findings.add(self._sweep.slice(ingest))
            spent = time.thread_time() - start
        self._next_slice = time.monotonic() + spent / SHARE
        if self._sweep.is_done:
            self._sweep = None
        return findings
