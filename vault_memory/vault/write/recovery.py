"""Finishes or rolls back the writes that a crash interrupted, from the names in the folder.

Every temporary was in the journal before it was in the folder, and its name says how far the write
had come. A crash during recovery is recovered in the same way.
"""

from contextlib import suppress

from vault_memory.vault import version_distance
from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.atomic_swap import MOVED, UNFINISHED, move_new
from vault_memory.vault.write.attempt import finish_swap
from vault_memory.vault.write.journal import Backlog, PendingWrite
from vault_memory.vault.write.write_context import WriteContext


def recover(context: WriteContext, now: float) -> Backlog:
    """Makes every interrupted write done or waiting. Returns the journal's rows afterwards.

    A write whose folder cannot be examined stays planned.
    """
    backlog = context.journal.backlog()
    interrupted = backlog.in_phase("planned")
    if not interrupted:
        return backlog
    for write in interrupted:
        _recover(context, write, now)
    return context.journal.backlog()


def _recover(context: WriteContext, write: PendingWrite, now: float) -> PendingWrite:
    try:
        folder = context.files.open_folder(write.folder)
    except (FileNotFoundError, NotADirectoryError):
        # A person removed the folder after the crash.
        return context.postpone(write, "absent")
    except OSError:
        # Fault (C57): the folder cannot be opened now, perhaps because its disk is not
        # mounted. The row stays planned, and a later recovery tries again.
        return write
    try:
        return _recover_in_folder(context, folder, write, now)
    except OSError:
        # Fault (B40): the disk failed. The row stays planned, and the names still say
        # how far the write came.
        return write
    finally:
        context.files.close(folder)


def _recover_in_folder(
    context: WriteContext, folder: int, write: PendingWrite, now: float
) -> PendingWrite:
    files = context.files
    unfinished, moved = write.temp + UNFINISHED, write.temp + MOVED
    # Fault (B34): nothing was fsynced under this name, so its bytes prove nothing.
    if files.look(folder, unfinished) is not None:
        files.unlink(folder, unfinished)
    if files.look(folder, moved) is not None:
        return _recover_moved(context, folder, write, moved, now)
    live_revision = _revision(files, folder, write.name)
    temp_revision = _revision(files, folder, write.temp)
    # Fault (B38): the temporary was complete before it got this name. Other bytes mean
    # that the two were swapped, and that these are a person's.
    if temp_revision is not None and temp_revision != write.fresh:
        displaced: str | None = write.temp
        # Or a new note has both names still, and an editor wrote through the note's name.
        if write.expected is None and _is_same_file(files, folder, write.temp, write.name):
            _drop_second_name(files, folder, write.temp)
            displaced = None
        return _complete(context, folder, write, displaced, now)
    if temp_revision is not None:
        files.unlink(folder, write.temp)
    # Fault (B37): the crash came between the swap and the commit.
    if write.fresh and live_revision == write.fresh:
        return _complete(context, folder, write, None, now)
    files.fsync(folder)
    return context.postpone(write, "interrupted")


def _is_same_file(files: Files, folder: int, first: str, second: str) -> bool:
    first_status = files.look(folder, first)
    second_status = files.look(folder, second)
    if first_status is None or second_status is None:
        return False
    return first_status.ino == second_status.ino


def _drop_second_name(files: Files, folder: int, name: str) -> None:
    """Removes a second name of the note, once the note's own name is on the disk."""
    files.fsync(folder)
    files.unlink(folder, name)


def _recover_moved(
    context: WriteContext, folder: int, write: PendingWrite, moved: str, now: float
) -> PendingWrite:
    """Recovers a write that moved the note away, and perhaps put the new text in its place."""
    files = context.files
    temp_revision = _revision(files, folder, write.temp)
    # Fault (B38): an editor wrote into the temporary while that had the note's name. So
    # it was put in place.
    if temp_revision not in (None, write.fresh):
        if _is_same_file(files, folder, write.temp, write.name):
            _drop_second_name(files, folder, write.temp)
        else:
            context.watch_ours(write, write.temp, now)
        return _complete(context, folder, write, moved, now)
    if write.content:
        is_done = _was_put(context, folder, write, moved)
    else:
        is_done = _revision(files, folder, moved) == write.expected
    # Fault (B48): power was lost between link and unlink, and a person saved by rename.
    # The new file of that save hides that the temporary was the note. Planned again, a
    # line of the bot that a person moved to another section would come twice.
    if not is_done and temp_revision is not None and _was_read(context, folder, write):
        context.watch_ours(write, write.temp, now)
        return _complete(context, folder, write, moved, now)
    if not is_done:
        # Fault (B48): a crash in this recovery is recovered in the same way. So the
        # note returns before the temporary goes: its presence says that nothing was
        # put.
        _restore_moved(context, folder, write, moved, now)
    # The temporary has no name of its own any more if it became the note.
    with suppress(FileNotFoundError):
        files.unlink(folder, write.temp)
    if is_done:
        return _complete(context, folder, write, moved, now)
    files.fsync(folder)
    return context.postpone(write, "interrupted")


def _was_read(context: WriteContext, folder: int, write: PendingWrite) -> bool:
    """Whether a person saved the note after reading this attempt: it has one of its lines.

    A note without such a line proves nothing: the person may have deleted it.
    """
    # A person's late text was in an editor before it was in the note.
    if write.side != "ours":
        return False
    new = context.snapshots.bytes_of(write.fresh)
    old = context.snapshots.bytes_of(write.expected)
    status = context.files.look(folder, write.name)
    if new is None or old is None or status is None or not status.is_file:
        return False
    saved = _bytes(context.files, folder, write.name)
    return version_distance.contains_new_lines(saved, [new], [old])


def _restore_moved(
    context: WriteContext, folder: int, write: PendingWrite, moved: str, now: float
) -> None:
    """Gives the note its name again, or watches it when an editor made a new note."""
    files = context.files
    if files.look(folder, write.name) is None:
        # Fault (A1): an editor may create the note between the look and the move.
        with suppress(FileExistsError):
            move_new(files, folder, moved, write.name)
    files.fsync(folder)
    # Fault (B48): a crash between link and unlink left the note with both names.
    if _is_same_file(files, folder, moved, write.name):
        _drop_second_name(files, folder, moved)
    elif files.look(folder, moved) is not None:
        context.watch(write, moved, now)


def _was_put(context: WriteContext, folder: int, write: PendingWrite, moved: str) -> bool:
    """Whether the temporary became the note.

    The temporary existed before the note was moved away. It loses its name when it becomes the
    note, or after the journal knows of the moved file. Other bytes of the note prove nothing:
    an editor may have saved since.
    """
    note = context.files.look(folder, write.name)
    temp = context.files.look(folder, write.temp)
    if temp is not None:
        return note is not None and note.ino == temp.ino
    place = f"{write.folder}/{moved}" if write.folder else moved
    # Fault (A1): the bytes of the note prove nothing, since an editor may have saved.
    # The temporary loses its name when it becomes the note, or after the journal knows
    # of the moved file.
    return context.journal.entry(place) is None


def _complete(
    context: WriteContext, folder: int, write: PendingWrite, displaced: str | None, now: float
) -> PendingWrite:
    """Records a write that reached the folder before the crash."""
    # The crash may have come before the folder's sync; the record must not precede it.
    context.files.fsync(folder)
    context.synced(write.folder)
    if not write.content:
        return context.finish(write, "trashed", now, after=None, displaced=displaced)
    return finish_swap(context, write, displaced, now)


def _revision(files: Files, folder: int, name: str) -> str | None:
    """Returns the revision of a file; None when there is no such name, "" when it is no file."""
    status = files.look(folder, name)
    if status is None:
        return None
    # Fault (H120): a person or a program may have put a folder or a pipe under this
    # name since.
    if not status.is_file:
        return ""
    return revision_of(_bytes(files, folder, name))


def _bytes(files: Files, folder: int, name: str) -> bytes:
    fd = files.open(folder, name)
    try:
        return files.read(fd)
    finally:
        files.close(fd)
