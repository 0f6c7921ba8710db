"""Replaces the bytes of a note in one step, and keeps the bytes that were replaced.

The new text is written beside the note, made durable, and swapped with it (`renameat2`, exchange).
After the swap the replaced file has the temporary's name, complete, and can be compared with the
version that the write expected.

A temporary has three names in its life, and a crash leaves one of them: ``.n`` appended while it
is written, nothing appended once it is complete, ``.t`` for a note that was moved away where files
cannot be exchanged.
"""

import errno
import stat
from dataclasses import dataclass

from vault_memory.rules.paths.filenames import is_private
from vault_memory.vault.fs import UNSUPPORTED, Files, FileStatus
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.preconditions import CurrentFile
from vault_memory.vault.write.wait_reasons import Reason

UNFINISHED = "n"
MOVED = "t"
_LONGEST = 255
"""Bytes of a file name"""
_SECOND_NS = 10**9
_SYSTEM_ATTRIBUTES = ("security.", "trusted.")
"""Prefixes of attributes that the system sets by itself"""

_REASONS: dict[int, Reason] = {
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
    errno.EROFS: "read_only",
    errno.EIO: "io_error",
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ELOOP: "outside",
    errno.EXDEV: "outside",
}


def why(error: OSError) -> Reason:
    """Returns the reason to wait that an error of the system means."""
    return _REASONS.get(error.errno or 0, "io_error")


def temporary(name: str, token: str) -> str:
    """Returns a name for a temporary, which sync programs ignore; leaves room for a letter."""
    room = _LONGEST - len(f"..~{token}".encode()) - 1
    return f".{name.encode()[:room].decode(errors='ignore')}.~{token}"


@dataclass(frozen=True, slots=True)
class Swapped:
    """The new text has the note's name."""

    displaced: str | None
    """Name of the file that had the note's name before; None when there was no note"""
    status: FileStatus | None = None
    """Of the note afterwards; None when another program changed it already"""


@dataclass(frozen=True, slots=True)
class TargetChanged:
    """The note is not the expected version any more; the new text was not put there."""

    moved: str | None = None
    """A file that was moved away and could not return, because a program made a new note"""


def swap_in(
    files: Files, folder: int, name: str, temp: str, new: bytes, live: CurrentFile | None
) -> Swapped | TargetChanged | Reason:
    """Replaces the note that was just read as `live` by `new`; None for a note that did not exist.

    Raises OSError when the outcome is unknown, or when a temporary remains.
    """
    unfinished = temp + UNFINISHED
    try:
        private = is_private(name)
        write_whole(files, folder, unfinished, new, live, private=private)
        # Fault (A1): an editor saves while the temporary is written. Checking here
        # spares most such swaps; the comparison of the displaced file finds the others.
        if live is not None and files.look(folder, name) != live.info:
            unlink_durably(files, folder, unfinished)
            return TargetChanged()
        complete = files.look(folder, unfinished)
        # Fault (B34): after a power loss, half a temporary must not be taken for the
        # new text. The final name says that it is complete: recovery relies on it.
        files.rename(folder, unfinished, temp)
    except OSError as error:
        # Fault (B39): a disk that fails may refuse the removal, too. The error then
        # leaves the row planned, and recovery removes the temporary.
        if not try_unlink(files, folder, unfinished):
            raise
        return "attributes" if isinstance(error, _AttributesLost) else why(error)
    try:
        result = _put_in_place(files, folder, name, temp, live)
    except OSError as error:
        return _undo(files, folder, temp, error)
    # Fault (B35): the exchange may be in memory only. The journal must not say "done"
    # before the folder is on the disk.
    files.fsync(folder)
    if isinstance(result, Swapped):
        return Swapped(result.displaced, _status_of(files, folder, name, complete))
    return result


def _status_of(
    files: Files, folder: int, name: str, complete: FileStatus | None
) -> FileStatus | None:
    """Returns the status of the note; None unless it is the file with the new text."""
    try:
        status = files.look(folder, name)
    except OSError:
        # The note is in place: an error of this question must not make the write wait.
        return None
    if status is None or complete is None:
        return None
    # The rename changed only the ctime.
    is_same = status._replace(ctime_ns=complete.ctime_ns) == complete
    return status if is_same else None


def _put_in_place(
    files: Files, folder: int, name: str, temp: str, live: CurrentFile | None
) -> Swapped | TargetChanged:
    if live is None:
        return _create(files, folder, name, temp)
    return _exchange(files, folder, name, temp, live)


def _undo(files: Files, folder: int, temp: str, error: OSError) -> TargetChanged | Reason:
    """Removes the temporary of a swap that failed. Raises the error when the outcome is unknown."""
    # The note may still have the ``.t`` name: only recovery can decide what to do with it.
    if files.look(folder, temp + MOVED) is not None:
        raise error
    if not try_unlink(files, folder, temp):
        raise error
    # Fault: a person removed or renamed the note between the read and the swap.
    if error.errno == errno.ENOENT:
        return TargetChanged()
    return "file_system" if error.errno in UNSUPPORTED else why(error)


def _create(files: Files, folder: int, name: str, temp: str) -> Swapped | TargetChanged:
    try:
        move_new(files, folder, temp, name)
    except FileExistsError:
        # A person made a note of this name after the read.
        unlink_durably(files, folder, temp)
        return TargetChanged()
    return Swapped(None)


def _exchange(
    files: Files, folder: int, name: str, temp: str, live: CurrentFile
) -> Swapped | TargetChanged:
    try:
        files.exchange(folder, temp, name)
    except OSError as error:
        # Fault: some network and FAT file systems refuse to exchange two names, and
        # only Linux has the call at all.
        if error.errno in UNSUPPORTED:
            return _move_verify_put(files, folder, name, temp, live)
        raise
    return Swapped(temp)


def _move_verify_put(
    files: Files, folder: int, name: str, temp: str, live: CurrentFile
) -> Swapped | TargetChanged:
    """Replaces the note without exchange. No byte is lost, but for an instant there is no note.

    The temporary keeps its name until it is the note, or until the moved file was compared.
    So the names in the folder are unambiguous after a crash.
    """
    moved = temp + MOVED
    # Fault (B35): without this a power loss could leave the moved note and forget the
    # temporary's name.
    files.fsync(folder)
    files.rename(folder, name, moved)
    try:
        if _holds(files, folder, moved, live.revision):
            move_new(files, folder, temp, name)
            return Swapped(moved)
        # An editor saved between the read and the move: its version gets the name back.
        move_new(files, folder, moved, name)
    except FileExistsError:
        # An editor created the note again while it was moved away.
        return TargetChanged(moved)
    # Fault (B33): while the temporary exists, recovery knows that nothing was put in
    # place. The note's name must be on the disk before the temporary goes.
    files.fsync(folder)
    unlink_durably(files, folder, temp)
    return TargetChanged()


def move_new(files: Files, folder: int, old: str, new: str) -> None:
    """Renames a file on any file system. Raises FileExistsError when the new name is taken."""
    try:
        files.rename_new(folder, old, new)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        files.link(folder, old, new)
        # A disk that saw only the unlink would have no name for the file at all.
        files.fsync(folder)
        files.unlink(folder, old)


def _holds(files: Files, folder: int, name: str, revision: str) -> bool:
    fd = files.open(folder, name)
    try:
        return revision_of(files.read(fd)) == revision
    finally:
        files.close(fd)


class _AttributesLost(OSError):
    """The new file cannot get the owner, the mode or an attribute of the old one."""


def write_whole(
    files: Files, folder: int, temp: str, new: bytes, live: CurrentFile | None, *, private: bool
) -> None:
    """Writes a complete, durable file with the metadata of the note that it will replace.

    Without such a note, only the owner can read a `private` file.
    """
    # Fault (A31): a private note must not be readable by others through its temporary.
    fd = files.create(folder, temp, private=private or live is not None)
    try:
        files.write(fd, new)
        if live is not None:
            _copy_metadata(files, fd, live)
        # Fault (B36): ext4 allocates the blocks of a renamed file late. Without this
        # sync a power loss can leave an empty note.
        files.fsync(fd)
    finally:
        files.close(fd)


def _copy_metadata(files: Files, fd: int, live: CurrentFile) -> None:
    """Copies owner, group, mode, attributes and access control lists."""
    mine = files.stat(fd)
    old = live.info
    try:
        if (mine.uid, mine.gid) != (old.uid, old.gid):
            files.set_owner(fd, old.uid, old.gid)
        # A change of the owner clears the set-id bits, so the mode comes after it.
        files.set_mode(fd, stat.S_IMODE(old.mode))
        for name, value in live.attributes.items():
            # Fault: only root may set these. One refusal would make the note unwritable
            # for ever.
            if not name.startswith(_SYSTEM_ATTRIBUTES):
                files.set_attribute(fd, name, value)
    except PermissionError as error:
        raise _AttributesLost(error.errno, error.strerror) from None
    same_second = mine.mtime_ns // _SECOND_NS == old.mtime_ns // _SECOND_NS
    if mine.size == old.size and same_second:
        # Fault (D69): a sync client that compares size and mtime in whole seconds would
        # miss the change, and overwrite it later.
        files.set_mtime(fd, mine.mtime_ns + _SECOND_NS)


def unlink_durably(files: Files, folder: int, name: str) -> None:
    """Removes a temporary and syncs its folder, because the journal is about to forget it."""
    files.unlink(folder, name)
    files.fsync(folder)


def try_unlink(files: Files, folder: int, name: str) -> bool:
    """Removes a temporary if it exists. Returns False when it cannot be removed now."""
    try:
        unlink_durably(files, folder, name)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True
