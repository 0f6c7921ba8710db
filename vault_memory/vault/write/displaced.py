"""Files that lost their name to a write: watched until it is certain that nobody writes to them any more.

Whoever had the note open keeps writing to the file that was displaced. Its bytes are looked at again and again, and
what is new there is merged into the note. It is taken away only when the system says that nobody has it open and its
bytes are safe in the snapshots.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.journal import DisplacedFile, PendingWrite
from vault_memory.vault.write.preconditions import HOLD, half_saved
from vault_memory.vault.write.write_context import WriteContext

LOOKS = (0.1, 0.4, 1.5, 8.0)
"""Seconds from one look to the next at first; afterwards a minute."""
QUIET = 0.3
"""Seconds for which a file that somebody has open must stay the same to be believed.

For as long the note must have been left alone before a late text goes into it.
"""
UNPROVED = 24 * 3600.0
"""Seconds for which a file lingers where the system does not tell who has it open."""


@dataclass(frozen=True, slots=True)
class DisplacedSample:
    """One look at a displaced file."""

    raw: bytes
    revision: str
    alone: bool | None
    """Whether nobody else has it open, if the system tells."""


def poll_displaced(
    means: WriteContext, entry: DisplacedFile, stamp: str, now: float
) -> PendingWrite | None:
    """Look once: purge it, wait, or give the op that brings its late text into the note."""
    folder_path, _, name = entry.place.rpartition("/")
    try:
        folder = means.files.open_folder(folder_path)
    except OSError:
        means.put_off(_next(entry, now))
        return None
    try:
        if means.files.look(folder, name) is None:
            means.purged.add(entry.place)
            return None
        seen = _seen(means.files, folder, name)
        if seen.revision != entry.incorporated:
            return _changed(means, entry, seen, stamp, now)
        if _done_with(means, entry, seen, now):
            means.files.unlink(folder, name)
            means.purged.add(entry.place)
        else:
            means.put_off(_next(entry, now, seen))
    except OSError:
        means.put_off(_next(entry, now))
    finally:
        means.files.close(folder)
    return None


def _done_with(
    means: WriteContext, entry: DisplacedFile, seen: DisplacedSample, now: float
) -> bool:
    proved = seen.alone or (seen.alone is None and now - entry.since > UNPROVED)
    return proved and (
        means.snapshots.knows(seen.revision)
        or means.journal.is_forgotten(seen.revision)
    )


def _seen(files: Files, folder: int, name: str) -> DisplacedSample:
    """The bytes, and whether nobody could have changed them since: asked before and after they were read."""
    fd = files.open(folder, name)
    try:
        alone = files.alone(fd, readers_too=True)
        before = files.stat(fd)
        raw = files.read(fd)
        same = files.stat(fd) == before
        if alone:
            alone = files.alone(fd, readers_too=True) and same
    finally:
        files.close(fd)
    return DisplacedSample(raw, revision_of(raw), alone)


def _changed(
    means: WriteContext,
    entry: DisplacedFile,
    seen: DisplacedSample,
    stamp: str,
    now: float,
) -> PendingWrite | None:
    """Somebody saved into it: bring that into the note as soon as it looks whole."""
    known = means.snapshots.bytes_of(entry.incorporated)
    wait = HOLD if half_saved(seen.raw, known) else QUIET
    same = entry.seen == seen.revision
    if not (seen.alone and seen.raw) and not (same and now - entry.seen_at >= wait):
        means.put_off(_next(entry, now, seen))
        return None
    if not seen.raw:  # an emptied file has no text to save, and must not empty the note
        means.incorporated(entry, seen.raw, now)
        return None
    op_id = (
        "late-" + sha256(f"{entry.place}\0{seen.revision}".encode()).hexdigest()[:24]
    )
    if means.journal.op(op_id) is not None:
        means.put_off(_next(entry, now, seen))
        return None
    means.stage_content(op_id, seen.raw)
    # Somebody else may be saving the note in place at this moment. Without `quiet` the late text
    # would be merged into half of that save, and a cut line would stay in the note.
    return PendingWrite(
        op_id,
        entry.path,
        "theirs",
        base=entry.incorporated,
        content=seen.revision,
        since=now,
        stamp=stamp,
        quiet=QUIET,
        entry=entry.place,
    )


def _next(
    entry: DisplacedFile, now: float, seen: DisplacedSample | None = None
) -> DisplacedFile:
    delay = LOOKS[entry.looks] if entry.looks < len(LOOKS) else 60.0
    entry = replace(entry, looks=entry.looks + 1, next_look=now + delay)
    if seen is not None and seen.revision != entry.seen:
        entry = replace(entry, seen=seen.revision, seen_at=now, looks=0)
    return entry
