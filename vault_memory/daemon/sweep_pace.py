"""Paces the look at the whole vault that is due each minute, so that neither questions nor the processor wait for it.

One slice takes about a millisecond. A round through a small vault is done at once; a large one takes as long as its
share of the processor lets it, which makes some minutes for 100,000 notes.
"""

import time

from vault_memory.ingest.scan import Ingest
from vault_memory.ingest.sweep import Findings, Sweep

AT_ONCE_SECONDS = 0.005
"""Of processor time in one turn of the loop"""
SHARE = 0.0015
"""Of one processor that sweeps take, at most"""


class Sweeping:
    """The round at hand, if there is one."""

    def __init__(self) -> None:
        self._sweep: Sweep | None = None
        self._next_slice = 0.0

    def begin(self) -> None:
        """A round is due; one that is under way goes on."""
        if self._sweep is None:
            self._sweep = Sweep()
            self._next_slice = 0.0

    def wait(self) -> float:
        """How long the loop may sleep, as far as this goes."""
        return (
            float("inf")
            if self._sweep is None
            else max(0.0, self._next_slice - time.monotonic())
        )

    def turn(self, ingest: Ingest) -> Findings:
        """The slices that are due."""
        findings = Findings()
        if self._sweep is None or time.monotonic() < self._next_slice:
            return findings
        began = time.thread_time()
        while (
            spent := time.thread_time() - began
        ) < AT_ONCE_SECONDS and not self._sweep.is_done:
            findings.add(self._sweep.slice(ingest))
        self._next_slice = time.monotonic() + spent / SHARE
        if self._sweep.is_done:
            self._sweep = None
        return findings
