"""What is known of a closed vault: how its index was, and what other processes leave in its state."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vault_memory.conversations.drop_folder import FOLDER as DROPS
from vault_memory.conversations.sessions import FOLDER as SESSIONS
from vault_memory.ingest.lifecycle import Indexing

SCAN_SECONDS = 3600.0
"""Age of the last scan of a vault after which it is scanned although nothing seems changed"""
FileTimes = tuple[int, int]
"""When a database and its log changed last; 0 for a log without content"""


@dataclass(frozen=True, slots=True)
class RestingState:
    """What is known of a vault whose work is all done, so that the next opening need not scan it."""

    generation: tuple[int, int]
    """The generation of its index, as `Indexing` names it"""
    rules: str
    """The rules by which it was built"""
    scanned_at: float
    """When all its notes were last compared with the index, by the monotonic clock"""

    def holds_for(self, indexing: Indexing) -> bool:
        """Whether the index is the same, and the last scan was not long ago."""
        # Fault (C62): some changes raise no event, such as those through a memory map.
        is_recent = time.monotonic() - self.scanned_at < SCAN_SECONDS
        is_same = self.rules == indexing.rules and self.generation == indexing.generation_in_use
        return is_recent and is_same


class Leftovers(NamedTuple):
    """Values that differ when another process left something in a state folder."""

    drops: int
    """of dropped turns"""
    journal: FileTimes
    """of writes that wait"""


def leftovers_in(state: Path) -> Leftovers:
    """Returns the values of a state folder; cheap."""
    return Leftovers(_modified(f"{state}/{DROPS}"), journal_in(state))


def journal_in(state: Path) -> FileTimes:
    """Returns when the journal of a state folder changed last; cheap."""
    journal = f"{state}/journal.sqlite"
    # A reader makes an empty log.
    return _modified(journal), _modified(f"{journal}-wal", fewest=1)


def _modified(path: str, fewest: int = 0) -> int:
    """Returns when a path changed last; 0 if it is missing, or has fewer bytes."""
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_mtime_ns if status.st_size >= fewest else 0


def sessions_in(state: Path) -> tuple[int, ...]:
    """Returns values that differ when a conversation went on or ended; cheap."""
    try:
        with os.scandir(state / SESSIONS) as people:
            folders = [entry.path for entry in people]
    except OSError:
        return ()
    times = [_newest(path) for path in folders]
    return tuple(sorted(times))


def _newest(folder: str) -> int:
    """Returns when a folder or a file in it changed last."""
    newest = _modified(folder)
    try:
        with os.scandir(folder) as entries:
            times = [_modified(entry.path) for entry in entries]
    except OSError:
        return newest
    return max([newest, *times])
