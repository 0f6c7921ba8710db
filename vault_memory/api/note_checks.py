"""Checks of `doctor` on notes that search does not read, or that no edit may change."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vault_memory.api.checks import MOST_NAMES, by_reason, counted, warned
from vault_memory.edits.reports import Check
from vault_memory.index.properties import property_values
from vault_memory.ingest.crash_guard import ENDED_TWICE

if TYPE_CHECKING:
    from vault_memory.index.store import Index


def unusual_notes(index: "Index") -> Iterator[Check]:
    """List the notes that search does not read, and those that no edit may change."""
    yield from _parked(index)
    yield from _encodings(index)


def _parked(index: "Index") -> Iterator[Check]:
    parked_notes = index.parked()
    reasons = {path: reason for path, (reason, _) in parked_notes.items()}
    for reason, paths in by_reason(reasons).items():
        fix = "split it into smaller notes"
        if reason == ENDED_TWICE:
            fix = f"vault-memory index {' '.join(map(shlex.quote, paths[:MOST_NAMES]))}"
        yield warned("parked", f"{counted(paths)} cannot be read: {reason}", fix)


def _encodings(index: "Index") -> Iterator[Check]:
    notes = property_values.encodings(index)
    for encoding, paths in by_reason(notes).items():
        verb = "is" if len(paths) == 1 else "are"
        yield warned(
            "encodings",
            f"{counted(paths)} {verb} {encoding}: search reads that, and edits are refused",
            "save it as UTF-8 in an editor, then the bot can edit it",
        )
