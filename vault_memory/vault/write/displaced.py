"""Polls displaced files: inodes that a write replaced while an editor may still hold them open.

An editor that has the note open keeps writing to the file that was displaced. Its bytes are read
again and again, and new text is merged into the note. The file is removed only when the system
says that no process has it open, and when its bytes are safe in the snapshots.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import DisplacedFile, PendingWrite
from vault_memory.vault.write.preconditions import HOLD, half_saved
from vault_memory.vault.write.write_context import WriteContext

LOOKS = (0.1, 0.4, 1.5, 8.0)
"""Seconds from one look to the next at first; `LAST_DELAY` afterwards"""
LAST_DELAY = 60.0
QUIET = 0.3
"""Seconds for which an open file must stay the same to be believed.

The note must have been left alone for as long before a late text is merged into it.
"""
UNPROVED = 24 * 3600.0
"""Seconds for which a file is watched where the system does not say who has it open"""


@dataclass(frozen=True, slots=True)
class DisplacedSample:
    """One look at a displaced file."""

    raw: bytes
    revision: str
    alone: bool | None
    """Whether no other process has it open; None when the system does not say"""


def poll_displaced(
    context: WriteContext, entry: DisplacedFile, stamp: str, now: float
) -> PendingWrite | None:
    """Looks once. Returns the write that brings late text into the note, if there is any."""
    folder_path, _, name = entry.place.rpartition("/")
    try:
        folder = context.files.open_folder(folder_path)
    except OSError:
        # Fault (C57): a folder that is not mounted now may still contain the file. Its
        # row must survive.
        context.put_off(_next_look(entry, now))
        return None
    try:
        return _poll_in_folder(context, folder, name, entry, stamp, now)
    except OSError:
        # Fault (B40): a file that cannot be read now may still contain late text.
        context.put_off(_next_look(entry, now))
    finally:
        context.files.close(folder)
    return None


def _poll_in_folder(
    context: WriteContext, folder: int, name: str, entry: DisplacedFile, stamp: str, now: float
) -> PendingWrite | None:
    if context.files.look(folder, name) is None:
        context.purged.add(entry.place)
        return None
    sample = _sample(context.files, folder, name)
    if sample.revision != entry.incorporated:
        return _bring_in(context, entry, sample, stamp, now)
    if _is_safe_to_remove(context, entry, sample, now):
        context.files.unlink(folder, name)
        context.purged.add(entry.place)
    else:
        context.put_off(_next_look(entry, now, sample))
    return None


def _is_safe_to_remove(
    context: WriteContext, entry: DisplacedFile, sample: DisplacedSample, now: float
) -> bool:
    # Fault (A6): an editor that has the file open may write to it after an hour.
    # Without the name, that save is lost.
    unproved_for_long = sample.alone is None and now - entry.since > UNPROVED
    if not sample.alone and not unproved_for_long:
        return False
    # Fault: a damaged journal may have lost the bytes. Then this file is the last copy
    # of the replaced text.
    return entry.is_stored or context.journal.is_forgotten(sample.revision)


def _sample(files: Files, folder: int, name: str) -> DisplacedSample:
    """Reads the bytes, and asks before and after whether another process has the file open."""
    fd = files.open(folder, name)
    try:
        alone = files.alone(fd, readers_too=True)
        # Fault (A5): an editor may write during the read. Bytes that are half old and
        # half new prove nothing.
        before = files.stat(fd)
        raw = files.read(fd)
        is_same = files.stat(fd) == before
        if alone:
            # Fault (A5): a process may open, write and close the file while it is read.
            alone = files.alone(fd, readers_too=True) and is_same
    finally:
        files.close(fd)
    return DisplacedSample(raw, revision_of(raw), alone)


def _bring_in(
    context: WriteContext, entry: DisplacedFile, sample: DisplacedSample, stamp: str, now: float
) -> PendingWrite | None:
    """Returns the write for text that an editor saved late, as soon as it looks complete."""
    if not _is_settled(context, entry, sample, now):
        context.put_off(_next_look(entry, now, sample))
        return None
    if not sample.raw:
        # Fault (A3): an editor empties the file before it writes. An emptied file must
        # not empty the note.
        context.incorporated(entry, sample.raw, now)
        return None
    digest = sha256(f"{entry.place}\0{sample.revision}".encode()).hexdigest()
    op_id = "late-" + digest[:24]
    # Fault (B48): after a crash the same late text is read again. The id is made from
    # its bytes, so that it is merged once.
    if context.journal.op(op_id) is not None:
        context.put_off(_next_look(entry, now, sample))
        return None
    context.stage_content(op_id, sample.raw)
    # Fault (A4): another program may be saving the note in place at this moment.
    # Without `quiet` the late text would be merged into half of that save, and a cut
    # line would stay in the note.
    return PendingWrite(
        op_id,
        entry.path,
        "theirs",
        base=entry.incorporated,
        content=sample.revision,
        since=now,
        stamp=stamp,
        quiet=QUIET,
        entry=entry.place,
    )


def _is_settled(
    context: WriteContext, entry: DisplacedFile, sample: DisplacedSample, now: float
) -> bool:
    """Whether the save into the file is complete."""
    previous = context.snapshots.bytes_of(entry.incorporated)
    # Fault (A3): an editor writes in several steps. A truncated file must not be merged
    # as deletions.
    wait = HOLD if half_saved(sample.raw, previous) else QUIET
    if sample.alone and sample.raw:
        return True
    return entry.seen == sample.revision and now - entry.seen_at >= wait


def _next_look(
    entry: DisplacedFile, now: float, sample: DisplacedSample | None = None
) -> DisplacedFile:
    delay = LOOKS[entry.looks] if entry.looks < len(LOOKS) else LAST_DELAY
    entry = replace(entry, looks=entry.looks + 1, next_look=now + delay)
    if sample is not None and sample.revision != entry.seen:
        entry = replace(entry, seen=sample.revision, seen_at=now, looks=0)
    return entry
