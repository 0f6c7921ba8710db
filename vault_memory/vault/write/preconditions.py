"""May a note be replaced now? What somebody is working on, or what we could not put back as it was, waits.

A write is never refused and never forced: it waits, with the reason, until the gate opens.
"""

from dataclasses import dataclass, field

from vault_memory.vault.fs import Files, Found
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.wait_reasons import Reason

HOLD = 3.0
"""Seconds for which half a save, or a note that somebody has open for writing, is left alone."""
PATIENCE = 600.0
"""Seconds for which an editor's lock is heeded; a dead one must not stop the memory for ever."""
SPACE = 4
"""Times the size of the note that must be free."""
_CLOCK_WAS_SET = 5.0


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A note as it stands."""

    raw: bytes = field(repr=False)
    revision: str
    found: Found
    attributes: dict[str, bytes] = field(repr=False)
    """Extended ones, access control lists among them."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What somebody wants to do to a note, as far as the gate minds."""

    size: int
    """Bytes to be written."""
    since: float
    """When it was first asked for."""
    quiet: float
    """Seconds for which the note must have been left alone."""
    now: float


def read_live(files: Files, folder: int, name: str) -> CurrentFile | Reason | None:
    """The note's bytes, or why not, or None when there is nothing of this name."""
    seen = files.look(folder, name)
    if seen is None:
        return None
    if not seen.is_file:
        return "no_file"
    try:
        fd = files.open(folder, name)
    except FileNotFoundError:
        return "hot"
    except OSError:
        return "unreadable"
    try:
        before = files.stat(fd)
        raw = files.read(fd)
        attributes = files.attributes(fd)
        after = files.stat(fd)
    except OSError:
        return "unreadable"
    finally:
        files.close(fd)
    if before != after or len(raw) != after.size:
        return "hot"
    return CurrentFile(raw, revision_of(raw), after, attributes)


def reason_to_wait(
    files: Files,
    folder: int,
    name: str,
    live: CurrentFile,
    asked: WriteRequest,
    last: bytes | None,
    *,
    own: bool,
) -> Reason | None:
    """Why this note may not be replaced now, or None. ``last`` is its version before; ``own`` when we wrote it."""
    if reason := _unkeepable(files, live.found):
        return reason
    if abs(asked.now - asked.since) < PATIENCE and _locked(files, folder, name):
        return "in_editor"
    if files.free_bytes(folder) < SPACE * asked.size:
        return "no_space"
    if own:
        return None
    age = asked.now - live.found.ctime_ns / 1e9
    if age < -_CLOCK_WAS_SET or age >= max(HOLD, asked.quiet):
        return None
    if age < asked.quiet:
        return "hot"
    if half_saved(live.raw, last):
        return "truncated"
    return "hot" if _written_to(files, folder, name) else None


def _unkeepable(files: Files, found: Found) -> Reason | None:
    if found.nlink != 1:
        return "hard_link"
    if not found.mode & 0o222:
        return "read_only"
    if files.uid not in (0, found.uid):
        return "not_ours"
    return None


def _locked(files: Files, folder: int, name: str) -> bool:
    """Whether an editor says that it has the note open."""
    return any(files.look(folder, lock) is not None for lock in editor_locks(name))


def editor_locks(name: str) -> tuple[str, ...]:
    """The names of the files by which editors say that they have a note open."""
    return f".{name}.swp", f".#{name}", f".~lock.{name}#", f".{name}.kate-swp"


def _written_to(files: Files, folder: int, name: str) -> bool:
    """Whether somebody is known to have the note open for writing."""
    try:
        fd = files.open(folder, name)
    except OSError:
        return True
    try:
        return files.alone(fd, readers_too=False) is False
    finally:
        files.close(fd)


def came_or_went(files: Files, folder: int, now: float) -> bool:
    """Whether something came into this folder, or went, so lately that a save may be under way."""
    return abs(now - files.stat(folder).mtime_ns / 1e9) < HOLD


def half_saved(raw: bytes, last: bytes | None) -> bool:
    """Whether this looks like the first part of a save: empty, a true beginning, less than half, half a character."""
    if last is None:
        return not raw
    if len(raw) < len(last) and (len(raw) * 2 < len(last) or last.startswith(raw)):
        return True
    return _ends_within_a_character(raw) and not _ends_within_a_character(last)


def _ends_within_a_character(raw: bytes) -> bool:
    for back in range(1, min(4, len(raw) + 1)):
        byte = raw[-back]
        if byte & 0xC0 != 0x80:
            return back < (
                1
                if byte < 0xC2
                else 2
                if byte < 0xE0
                else 3
                if byte < 0xF0
                else 4
                if byte < 0xF5
                else 1
            )
    return False
