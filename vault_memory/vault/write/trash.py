"""Moves notes to the trash, outside the vault, for at least 30 days.

The note gets another name, is compared with the version that was meant, and counts as deleted only
then. A version that an editor saved at the last moment gets its name back.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.atomic_swap import MOVED, move_new, temporary, why
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.preconditions import CurrentFile, read_live
from vault_memory.vault.write.write_context import WriteContext

KEPT_FOR = 30 * 24 * 3600.0
"""Seconds"""


@dataclass(frozen=True, slots=True)
class TrashedNote:
    """One note in the trash."""

    id: str
    path: str
    revision: str
    at: float


def throw_away(context: WriteContext, write: PendingWrite, now: float) -> PendingWrite:
    """Moves the note to the trash if it still is the version that the write was based on."""
    try:
        folder = context.files.open_folder(write.folder)
    except OSError as error:
        return context.postpone(write, why(error))
    try:
        return _throw_away_in_folder(context, folder, write, now)
    finally:
        context.files.close(folder)


def _throw_away_in_folder(
    context: WriteContext, folder: int, write: PendingWrite, now: float
) -> PendingWrite:
    try:
        live = read_live(context.files, folder, write.name)
    except OSError as error:
        return context.postpone(write, why(error))
    if isinstance(live, str):
        return context.postpone(write, live)
    # Fault (A1): an edit beats a deletion. A person changed the note after it was
    # chosen for the trash.
    if live is None or live.revision != write.base:
        write = replace(write, expected=live.revision if live else None)
        return context.finish(write, "unchanged", now, after=write.expected)
    return _move_away(context, folder, write, live, now)


def _move_away(
    context: WriteContext, folder: int, write: PendingWrite, live: CurrentFile, now: float
) -> PendingWrite:
    named = replace(write, temp=temporary(write.name, context.token()))
    write = context.plan(named, live, None)
    moved = write.temp + MOVED
    try:
        context.files.rename(folder, write.name, moved)
        # Fault (A1): an editor may have saved between the read and the rename.
        if _revision(context, folder, moved) != write.base:
            # Fault (A1): an editor may have created the note again while it was moved
            # away.
            with suppress(FileExistsError):
                move_new(context.files, folder, moved, write.name)
            # Fault (A5): the editor made a new note. Its late saves may go to the moved
            # file.
            if context.files.look(folder, moved) is not None:
                context.watch(write, moved, now)
            return context.finish(write, "unchanged", now, after=None)
        context.files.fsync(folder)
    except FileNotFoundError:
        # A person deleted the note after the read.
        return context.finish(write, "unchanged", now, after=None)
    except OSError:
        # Fault (B41): the outcome is unknown. The row stays planned, so that recovery
        # examines the folder.
        return replace(write, phase="pending", reason="io_error")
    context.synced(write.folder)
    return context.finish(write, "trashed", now, after=None, displaced=moved)


def _revision(context: WriteContext, folder: int, name: str) -> str:
    fd = context.files.open(folder, name)
    try:
        return revision_of(context.files.read(fd))
    finally:
        context.files.close(fd)


def list_trash(context: WriteContext) -> list[TrashedNote]:
    """Returns the notes in the trash, the newest first."""
    rows = context.journal.execute("SELECT id, path, revision, at FROM trash ORDER BY at DESC, id")
    return [TrashedNote(*row) for row in rows]


def empty(context: WriteContext, now: float) -> None:
    """Deletes what has been in the trash for longer than `KEPT_FOR`."""
    with context.journal.transaction():
        context.journal.change("DELETE FROM trash WHERE at < ?", (now - KEPT_FOR,))


def take_out(context: WriteContext, note: TrashedNote) -> None:
    """Removes a note that is in the vault again from the trash."""
    with context.journal.transaction():
        context.journal.change("DELETE FROM trash WHERE id = ?", (note.id,))
