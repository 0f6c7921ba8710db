"""Decides whether a note may be replaced now.

A write waits, with a reason, while an editor works on the note, and while the note cannot be
replaced without loss. It is never refused and never forced.
"""

from dataclasses import dataclass, field

from vault_memory.vault.fs import Files, FileStatus
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.utf8_tail import ends_within_character
from vault_memory.vault.write.wait_reasons import Reason

HOLD = 3.0
"""Seconds for which half a save, or a note that is open for writing, is left alone"""
PATIENCE = 600.0
"""Seconds for which an editor's lock is respected"""
SPACE = 4
"""Times the size of the note that must be free"""
_CLOCK_WAS_SET = 5.0
"""Seconds by which a file may be newer than the clock says"""


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A note as it was just read."""

    raw: bytes = field(repr=False)
    revision: str
    info: FileStatus
    attributes: dict[str, bytes] = field(repr=False)
    """Extended attributes, access control lists among them"""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """The facts of a write that decide whether it waits."""

    size: int
    """Bytes to be written"""
    since: float
    """When the write was first requested"""
    quiet: float
    """Seconds for which the note must have been left alone"""
    now: float
    previous: bytes | None
    """The version before the current one; None when there was none, or it is not needed"""
    is_over_ours: bool
    """Whether the bot wrote the current version"""


def read_live(
    files: Files, folder: int, name: str, *, max_bytes: int | None = None
) -> CurrentFile | Reason | None:
    """Reads a note. Returns a reason when it cannot be read now, None when it does not exist."""
    status = files.look(folder, name)
    if status is None:
        return None
    # Fault (H120): opening a pipe or a device could block for ever, or have an effect.
    if not status.is_file:
        return "no_file"
    if max_bytes is not None and status.size > max_bytes:
        return "unreadable"
    try:
        fd = files.open(folder, name)
    except FileNotFoundError:
        # The name existed a moment ago: an editor is saving by rename.
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
    # Fault (A4): an editor wrote during the read. The bytes may be half of the old and
    # half of the new text.
    if before != after or len(raw) != after.size:
        return "hot"
    return CurrentFile(raw, revision_of(raw), after, attributes)


def reason_to_wait(
    files: Files, folder: int, name: str, live: CurrentFile, request: WriteRequest
) -> Reason | None:
    """Returns why this note may not be replaced now, or None."""
    if reason := _unkeepable(files, live.info):
        return reason
    # Fault: a crashed editor leaves its lock file. It must not stop the memory for
    # ever.
    is_patient = abs(request.now - request.since) < PATIENCE
    if is_patient and _is_locked(files, folder, name):
        return "in_editor"
    # Fault (B39): a disk that fills up in the middle of the protocol could leave the
    # journal behind the vault.
    if files.free_bytes(folder) < SPACE * request.size:
        return "no_space"
    if request.is_over_ours:
        return None
    return _reason_in_last_change(files, folder, name, live, request)


def _reason_in_last_change(
    files: Files, folder: int, name: str, live: CurrentFile, request: WriteRequest
) -> Reason | None:
    """Returns the sign that another program's save into the note may still be under way."""
    age = request.now - live.info.ctime_ns / 1e9
    # Fault (B50): a file from the future means that the clock was set back. Its age
    # proves nothing.
    if age < -_CLOCK_WAS_SET or age >= max(HOLD, request.quiet):
        return None
    if age < request.quiet:
        return "hot"
    # Fault (A3): an editor truncates the note before it writes. A merge with that half
    # would delete the other lines for good.
    if half_saved(live.raw, request.previous):
        return "truncated"
    return "hot" if _is_open_for_writing(files, folder, name) else None


def _unkeepable(files: Files, status: FileStatus) -> Reason | None:
    """Returns the property of a file that a swap would destroy."""
    # Fault (A29): a swap gives the note a new inode. The second name would keep the old
    # text, and the two would part without a sign.
    if status.nlink != 1:
        return "hard_link"
    # Fault (A28): a rename ignores the mode of the file it replaces. Only this check
    # respects a person who made the note read-only.
    if not status.mode & 0o222:
        return "read_only"
    # Fault (A28): the new file would belong to us, and its owner could not save it any
    # more.
    if files.uid not in (0, status.uid):
        return "not_ours"
    return None


def _is_locked(files: Files, folder: int, name: str) -> bool:
    """Whether an editor's lock file says that the note is open."""
    return any(files.look(folder, lock) is not None for lock in editor_locks(name))


def editor_locks(name: str) -> tuple[str, ...]:
    """Returns the names of the lock files that editors make for an open note."""
    return f".{name}.swp", f".#{name}", f".~lock.{name}#", f".{name}.kate-swp"


def _is_open_for_writing(files: Files, folder: int, name: str) -> bool:
    try:
        fd = files.open(folder, name)
    except OSError:
        # An editor may be replacing the file: its save must end first.
        return True
    try:
        return files.alone(fd, readers_too=False) is False
    finally:
        files.close(fd)


def came_or_went(files: Files, folder: int, now: float) -> bool:
    """Whether a name in this folder changed so recently that a save by rename may be under way."""
    # Fault (B50): with a clock that was set back, the folder's time is in the future.
    # The absolute difference ends that wait, too.
    return abs(now - files.stat(folder).mtime_ns / 1e9) < HOLD


def half_saved(raw: bytes, last: bytes | None) -> bool:
    """Whether the bytes look like the first part of a save, given the version before.

    That is: empty, less than half, a true beginning, or an unfinished character at the end.
    """
    if last is None:
        return not raw
    # Fault (A4): editors write in blocks, so the first part of a save is a true
    # beginning of a text, or ends inside a character.
    if len(raw) < len(last) and (len(raw) * 2 < len(last) or last.startswith(raw)):
        return True
    return ends_within_character(raw) and not ends_within_character(last)
