"""What stands under a note's name is not always what somebody means to stand there: nothing is planned on half a save.

An editor that saves in place leaves the note empty for a moment, one that makes a backup leaves no note at all. Ops
on that would be refused for sections that are only not there yet.
"""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Snapshots
from vault_memory.vault.write.preconditions import HOLD, half_saved

PAUSE_SECONDS = 0.02


def meant(note: Note, snapshots: Snapshots, now: datetime) -> Note:
    """The note; of half a save the version before it, to which the writer waits to add."""
    head = snapshots.head(note.path)
    if (
        head is None
        or head.revision == note.revision
        or now.timestamp() - note.stat.ctime_ns / 1e9 >= HOLD
    ):
        return note
    last = snapshots.bytes_of(head.revision)
    return (
        note._replace(raw=last, revision=head.revision)
        if last and half_saved(note.raw, last)
        else note
    )


def reappeared(
    look: Callable[[], Note | None], path: Path, now: datetime
) -> Note | None:
    """A note that is absent or empty, when its text comes back soon; waited for only where it went just now."""
    until = time.monotonic() + HOLD
    while time.monotonic() < until and _changed_just_now(path, now):
        time.sleep(PAUSE_SECONDS)
        if (note := look()) is not None and note.raw:
            return note
    return None


def _changed_just_now(path: Path, now: datetime) -> bool:
    """Whether the file, or its folder where it is gone, was changed so lately that a save may be under way."""
    try:
        changed = (path if path.exists() else path.parent).stat().st_mtime
    except OSError:
        return False
    return now.timestamp() - changed < HOLD
