"""Putting new bytes under a note's name in one step, such that what stood there is never lost.

The new text is written beside the note, made durable, and swapped with it (`renameat2`, exchange). Whatever stood
there at that very moment then lies under the temporary's name, complete, to be compared with what was expected.
A temporary has three names in its life, and a crash leaves one of them: ``.n`` appended while it is written, none
once it is whole, ``.t`` for a note that was taken away where files cannot be exchanged.
"""

import errno
import stat
from dataclasses import dataclass

from vault_memory.vault.fs import UNSUPPORTED, Files
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.preconditions import CurrentFile
from vault_memory.vault.write.wait_reasons import Reason

UNFINISHED = "n"
TAKEN = "t"
_LONGEST = 255
_SYSTEMS_OWN = ("security.", "trusted.")
"""Attributes that the system sets by itself."""

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
    """A reason to wait, from what the system said."""
    return _REASONS.get(error.errno or 0, "io_error")


def temporary(name: str, token: str) -> str:
    """A name for a temporary, of the class that sync programs leave alone; room is left for one letter more."""
    room = _LONGEST - len(f"..~{token}".encode()) - 1
    return f".{name.encode()[:room].decode(errors='ignore')}.~{token}"


@dataclass(frozen=True, slots=True)
class Swapped:
    """The new text stands under the note's name."""

    displaced: str | None
    """The name under which lies what stood there; None when nothing did."""


@dataclass(frozen=True, slots=True)
class TargetChanged:
    """The note is no longer what was expected; the new text does not stand there."""

    taken: str | None = None
    """A file of the expected bytes that could not be put back, because somebody made a new note."""


def swap_in(
    files: Files,
    folder: int,
    name: str,
    temp: str,
    new: bytes,
    live: CurrentFile | None,
) -> Swapped | TargetChanged | Reason:
    """Put ``new`` under the name of a note that was just read as ``live``, or that was not there.

    Raises OSError when it cannot be told what became of it, or when a temporary is left.
    """
    unfinished = temp + UNFINISHED
    try:
        write_whole(files, folder, unfinished, new, live)
        if live is not None and files.look(folder, name) != live.found:
            unlink_durably(files, folder, unfinished)
            return TargetChanged()
        files.rename(folder, unfinished, temp)
    except OSError as error:
        if not try_unlink(files, folder, unfinished):
            raise
        return "attributes" if isinstance(error, _AttributesLost) else why(error)
    try:
        if live is None:
            result: Swapped | TargetChanged = _create(files, folder, name, temp)
        else:
            result = _exchange(files, folder, name, temp, live)
    except OSError as error:
        return _undone(files, folder, temp, error)
    files.fsync(folder)
    return result


def _undone(
    files: Files, folder: int, temp: str, error: OSError
) -> TargetChanged | Reason:
    """Nothing was swapped; the temporary is taken away. Raises the error when that cannot be told."""
    if files.look(folder, temp + TAKEN) is not None:
        raise error
    if not try_unlink(files, folder, temp):
        raise error
    return (
        TargetChanged()
        if error.errno == errno.ENOENT
        else "file_system"
        if error.errno in UNSUPPORTED
        else why(error)
    )


def _create(files: Files, folder: int, name: str, temp: str) -> Swapped | TargetChanged:
    try:
        move_new(files, folder, temp, name)
    except FileExistsError:
        unlink_durably(files, folder, temp)
        return TargetChanged()
    return Swapped(None)


def _exchange(
    files: Files, folder: int, name: str, temp: str, live: CurrentFile
) -> Swapped | TargetChanged:
    try:
        files.exchange(folder, temp, name)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return _take_verify_put(files, folder, name, temp, live)
        raise
    return Swapped(temp)


def _take_verify_put(
    files: Files, folder: int, name: str, temp: str, live: CurrentFile
) -> Swapped | TargetChanged:
    """Without exchange: no byte can be lost here either, but for an instant there is no note.

    The temporary keeps its name until it is the note, or until it is known what was taken: so a crash leaves no doubt.
    """
    taken = temp + TAKEN
    files.fsync(folder)
    files.rename(folder, name, taken)
    try:
        if _holds(files, folder, taken, live.revision):
            move_new(files, folder, temp, name)
            return Swapped(taken)
        move_new(files, folder, taken, name)
    except FileExistsError:
        return TargetChanged(taken)
    files.fsync(folder)
    unlink_durably(files, folder, temp)
    return TargetChanged()


def move_new(files: Files, folder: int, old: str, new: str) -> None:
    """Rename, raising FileExistsError when the new name is taken, however the file system does that."""
    try:
        files.rename_new(folder, old, new)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        files.link(folder, old, new)
        files.fsync(
            folder
        )  # a disk that saw only the second step would have no name for the file at all
        files.unlink(folder, old)


def _holds(files: Files, folder: int, name: str, revision: str) -> bool:
    fd = files.open(folder, name)
    try:
        return revision_of(files.read(fd)) == revision
    finally:
        files.close(fd)


class _AttributesLost(OSError):
    """Something about the old file could not be given to the new one."""


def write_whole(
    files: Files, folder: int, temp: str, new: bytes, live: CurrentFile | None
) -> None:
    """A whole, durable file beside the note, like the one it is to replace."""
    fd = files.create(folder, temp, private=live is not None)
    try:
        files.write(fd, new)
        if live is not None:
            _copy_metadata(files, fd, live)
        files.fsync(fd)
    finally:
        files.close(fd)


def _copy_metadata(files: Files, fd: int, live: CurrentFile) -> None:
    """Owner, group, mode, attributes and access control lists as they were."""
    mine, old = files.stat(fd), live.found
    try:
        if (mine.uid, mine.gid) != (old.uid, old.gid):
            files.set_owner(fd, old.uid, old.gid)
        files.set_mode(fd, stat.S_IMODE(old.mode))
        for name, value in live.attributes.items():
            if not name.startswith(_SYSTEMS_OWN):
                files.set_attribute(fd, name, value)
    except PermissionError as error:
        raise _AttributesLost(error.errno, error.strerror) from None
    if mine.size == old.size and mine.mtime_ns // 10**9 == old.mtime_ns // 10**9:
        files.set_mtime(
            fd, mine.mtime_ns + 10**9
        )  # else watchers that see whole seconds would miss the change


def unlink_durably(files: Files, folder: int, name: str) -> None:
    """Take a temporary of ours away for good: the journal is about to forget it."""
    files.unlink(folder, name)
    files.fsync(folder)


def try_unlink(files: Files, folder: int, name: str) -> bool:
    """The same, if it is there; False when that cannot be done now."""
    try:
        unlink_durably(files, folder, name)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True
