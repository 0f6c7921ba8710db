"""Paces the sweep of the vault, which is due each minute: it must not delay questions.

One slice takes about a millisecond. A round through a small vault ends at once. A round through a
large vault may use only a small share of the processor: 100,000 notes take some minutes.
"""

import time

from vault_memory.ingest.scan import Ingest
from vault_memory.ingest.sweep import Findings, Sweep

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

    def turn(self, ingest: Ingest) -> Findings:
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
