"""The trash: notes that were moved out of the vault, kept outside of it for at least 30 days.

A note is taken away under another name, compared with what was meant, and only then counted as thrown away. What
somebody saved at the last moment is put back.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.atomic_swap import TAKEN, move_new, temporary, why
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.preconditions import CurrentFile, read_live
from vault_memory.vault.write.write_context import WriteContext

KEPT_FOR = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class TrashedNote:
    """One note in the trash."""

    id: str
    path: str
    revision: str
    at: float


def throw_away(means: WriteContext, op: PendingWrite, now: float) -> PendingWrite:
    """Take the note away, if it still is what the op was based on; else nothing is done."""
    try:
        folder = means.files.open_folder(op.folder)
    except OSError as error:
        return means.postpone(op, why(error))
    try:
        try:
            live = read_live(means.files, folder, op.name)
        except OSError as error:
            return means.postpone(op, why(error))
        if isinstance(live, str):
            return means.postpone(op, live)
        if live is None or live.revision != op.base:
            op = replace(op, expected=live.revision if live else None)
            return means.finish(op, "unchanged", now, after=op.expected)
        return _taken(means, folder, op, live, now)
    finally:
        means.files.close(folder)


def _taken(
    means: WriteContext, folder: int, op: PendingWrite, live: CurrentFile, now: float
) -> PendingWrite:
    op = means.plan(replace(op, temp=temporary(op.name, means.token())), live, None)
    taken = op.temp + TAKEN
    try:
        means.files.rename(folder, op.name, taken)
        if _revision(means, folder, taken) != op.base:
            with suppress(FileExistsError):
                move_new(means.files, folder, taken, op.name)
            if means.files.look(folder, taken) is not None:
                means.watch(op, taken, now)
            return means.finish(op, "unchanged", now, after=None)
        means.files.fsync(folder)
    except FileNotFoundError:
        return means.finish(op, "unchanged", now, after=None)
    except OSError:
        return replace(op, phase="pending", reason="io_error")
    means.synced(op.folder)
    return means.finish(op, "trashed", now, after=None, displaced=taken)


def _revision(means: WriteContext, folder: int, name: str) -> str:
    fd = means.files.open(folder, name)
    try:
        return revision_of(means.files.read(fd))
    finally:
        means.files.close(fd)


def thrown(means: WriteContext) -> list[TrashedNote]:
    """What lies in the trash, the newest first."""
    rows = means.journal.connection.execute(
        "SELECT id, path, revision, at FROM trash ORDER BY at DESC, id"
    )
    return [TrashedNote(*row) for row in rows]


def empty(means: WriteContext, now: float) -> None:
    """Let go of what has lain there for long."""
    with means.journal.transaction():
        means.journal.connection.execute(
            "DELETE FROM trash WHERE at < ?", (now - KEPT_FOR,)
        )


def take_out(means: WriteContext, one: TrashedNote) -> None:
    """It stands in the vault again."""
    with means.journal.transaction():
        means.journal.connection.execute("DELETE FROM trash WHERE id = ?", (one.id,))
