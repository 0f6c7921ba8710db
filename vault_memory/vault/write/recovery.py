"""After a crash: what had been begun is finished or undone, told by what lies in the folder. Can be cut short too.

Every temporary was in the journal before it was in the folder, and its name says how far it had come.
"""

from contextlib import suppress

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.atomic_swap import TAKEN, UNFINISHED, move_new
from vault_memory.vault.write.attempt import finish_swap
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.write_context import WriteContext


def recover(means: WriteContext, now: float) -> list[PendingWrite]:
    """Every op that was under way, now done or waiting; what could not be looked at stays as it is."""
    return [_recovered(means, op, now) for op in means.journal.ops("planned")]


def _recovered(means: WriteContext, op: PendingWrite, now: float) -> PendingWrite:
    try:
        folder = means.files.open_folder(op.folder)
    except (FileNotFoundError, NotADirectoryError):
        return means.postpone(op, "absent")
    except OSError:
        return op
    try:
        return _judged(means, folder, op, now)
    except OSError:
        return op
    finally:
        means.files.close(folder)


def _judged(
    means: WriteContext, folder: int, op: PendingWrite, now: float
) -> PendingWrite:
    files, taken = means.files, op.temp + TAKEN
    if files.look(folder, op.temp + UNFINISHED) is not None:
        files.unlink(folder, op.temp + UNFINISHED)
    if files.look(folder, taken) is not None:
        return _after_taking(means, folder, op, taken, now)
    live, temp = _revision(files, folder, op.name), _revision(files, folder, op.temp)
    if (
        temp is not None and temp != op.fresh
    ):  # it was whole before it got this name: so the two were swapped
        if op.expected is None and _is_one_file(
            files, folder, op.temp, op.name
        ):  # or a new note has both names still
            _keep_one(files, folder, op.temp)
            return _happened(means, folder, op, None, now)
        return _happened(means, folder, op, op.temp, now)
    if temp is not None:
        files.unlink(folder, op.temp)
    if op.fresh and live == op.fresh:
        return _happened(means, folder, op, None, now)
    files.fsync(folder)
    return means.postpone(op, "interrupted")


def _is_one_file(files: Files, folder: int, one: str, other: str) -> bool:
    found, same = files.look(folder, one), files.look(folder, other)
    return found is not None and same is not None and found.ino == same.ino


def _keep_one(files: Files, folder: int, other: str) -> None:
    """Take the other name of the note away, once its own is on the disk."""
    files.fsync(folder)
    files.unlink(folder, other)


def _after_taking(
    means: WriteContext, folder: int, op: PendingWrite, taken: str, now: float
) -> PendingWrite:
    """The note was taken away, and perhaps another put in its place."""
    files = means.files
    used = _revision(files, folder, op.temp) not in (
        None,
        op.fresh,
    )  # somebody wrote, while it had the note's name
    if used:
        if _is_one_file(files, folder, op.temp, op.name):
            _keep_one(files, folder, op.temp)
        else:
            means.watch_ours(op, op.temp, now)
        return _happened(means, folder, op, taken, now)
    put = (
        _was_put(means, folder, op, taken)
        if op.content
        else _revision(files, folder, taken) == op.expected
    )
    if not put:  # all of this before the temporary goes, whose being there says so
        if files.look(folder, op.name) is None:
            with suppress(FileExistsError):
                move_new(files, folder, taken, op.name)
        files.fsync(folder)
        if _is_one_file(
            files, folder, taken, op.name
        ):  # it was put back, and has both names still
            _keep_one(files, folder, taken)
        elif files.look(folder, taken) is not None:
            means.watch(op, taken, now)
    with suppress(FileNotFoundError):
        files.unlink(folder, op.temp)
    if put:
        return _happened(means, folder, op, taken, now)
    files.fsync(folder)
    return means.postpone(op, "interrupted")


def _was_put(means: WriteContext, folder: int, op: PendingWrite, taken: str) -> bool:
    """The temporary was there before the note was taken, and lost its name to the note or once that was written down.

    What stands under the note's name tells nothing: somebody may have saved since.
    """
    there, temp = means.files.look(folder, op.name), means.files.look(folder, op.temp)
    if temp is not None:
        return there is not None and there.ino == temp.ino
    return means.journal.entry(f"{op.folder}/{taken}" if op.folder else taken) is None


def _happened(
    means: WriteContext,
    folder: int,
    op: PendingWrite,
    displaced: str | None,
    now: float,
) -> PendingWrite:
    means.files.fsync(folder)
    means.synced(op.folder)
    if not op.content:
        return means.finish(op, "trashed", now, after=None, displaced=displaced)
    return finish_swap(means, op, displaced, now)


def _revision(files: Files, folder: int, name: str) -> str | None:
    """Of the bytes under a name; None when there is nothing."""
    found = files.look(folder, name)
    if found is None:
        return None
    if not found.is_file:
        return ""
    fd = files.open(folder, name)
    try:
        return revision_of(files.read(fd))
    finally:
        files.close(fd)
