"""Taking a text out of what is kept outside the vault: earlier versions, the trash, writes that wait.

A version that held the text stays in its chain without it, so that history, restore and undo keep all else. What the
new bytes are is for the caller to say. Called within a turn of the writer, and cut short it can be done again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from vault_memory.database.secure_delete import compact
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.write.journal import (
    FORGOTTEN,
    GAP,
    RECORDED,
    DisplacedFile,
    Journal,
    PendingWrite,
)
from vault_memory.vault.write.write_context import WriteContext


@dataclass(frozen=True, slots=True)
class Eraser:
    """What is to be taken out."""

    cut: Callable[[str, bytes], bytes]
    """(path, bytes) → the bytes without it; the same where it does not stand"""
    told: Callable[[bytes], bytes | None]
    """What a write was to record → the same without it; None when nothing of the write is left"""
    masked: Callable[[str], str] = lambda path: path
    """a path → the same without it; names of notes that are there are never changed"""


@dataclass(slots=True)
class Erased:
    """What was taken out, or would be."""

    revisions: dict[str, str] = field(default_factory=dict)
    """those that held it → those that stand in their place"""
    versions: int = 0
    trash: int = 0
    waiting: int = 0
    """writes that waited"""
    names: int = 0
    """of notes that are not there any more: what is kept of them goes on under names without it"""
    lingering: list[str] = field(default_factory=list)
    """displaced files that hold it, and that somebody may still have open: paths in the vault"""
    compacted: bool = True

    @property
    def count(self) -> int:
        """Of all that held it."""
        return self.versions + self.trash + self.waiting + self.names


_PLACES = (
    ("versions", ("revision",)),
    ("trash", ("revision",)),
    ("ops", ("base", "content", "expected", "fresh", "after")),
)
"""Where the journal names a revision of a path"""


Changes = Mapping[tuple[str, str], str]
"""Path and revision of what held it → the revision of the same without it"""


def look_through(journal: Journal, eraser: Eraser) -> Erased:
    """What `erase` would take out. Changes nothing."""
    return _counted(journal, eraser, _changes(journal, eraser))


def names_kept(means: WriteContext, eraser: Eraser) -> int:
    """How many names of notes that are not there any more hold it."""
    return len(_named_so(means, eraser))


def erase(means: WriteContext, eraser: Eraser) -> Erased:
    """Take it out, and write the journal's file anew."""
    means.flush()
    journal, snapshots = means.journal, means.snapshots
    changes = _changes(journal, eraser)
    erased = _counted(journal, eraser, changes)
    erased.lingering = _purge(means, eraser)
    erased.names = names_kept(means, eraser)
    with journal.transaction():
        for op, told in _waiting(journal, eraser, erased.revisions):
            if told is None:
                journal.remove(op.op_id)
            elif told:
                journal.put(replace(op, record=told))
        for (path, revision), instead in changes.items():
            snapshots.keep(
                eraser.cut(path, snapshots.bytes_of(revision) or b""), instead
            )
            _rename(journal, path, revision, instead)
        for path in {path for path, _ in changes}:
            _join_twins(journal, path)
        _let_go(journal, snapshots, erased.revisions)
        _mask_names(journal, _named_so(means, eraser))
    erased.compacted = compact(journal.connection)
    return erased


def _counted(journal: Journal, eraser: Eraser, changes: Changes) -> Erased:
    tables = [
        table
        for path, revision, table in _named(journal)
        if (path, revision) in changes
    ]
    revisions = {revision: instead for (_, revision), instead in changes.items()}
    waiting = len(_waiting(journal, eraser, revisions))
    return Erased(revisions, tables.count("versions"), tables.count("trash"), waiting)


def _named(journal: Journal) -> Iterator[tuple[str, str, str]]:
    """Each path with each of its revisions, and the table that says so."""
    for table, columns in _PLACES:
        for column in columns:
            rows = journal.connection.execute(
                f"SELECT path, {column} FROM {table} WHERE coalesce({column}, '') != ''"
            ).fetchall()
            yield from ((str(path), str(revision), table) for path, revision in rows)


def _changes(journal: Journal, eraser: Eraser) -> Changes:
    snapshots, found = Snapshots(journal), {}
    for path, revision in dict.fromkeys(
        (path, revision) for path, revision, _ in _named(journal)
    ):
        raw = snapshots.bytes_of(revision)
        if raw is not None and (rest := eraser.cut(path, raw)) != raw:
            found[path, revision] = revision_of(rest)
    return found


def _waiting(
    journal: Journal, eraser: Eraser, revisions: Mapping[str, str]
) -> list[tuple[PendingWrite, bytes | None]]:
    """The writes that have it in what they are to record, or to write, with that record; b"" where it may stay."""
    found: list[tuple[PendingWrite, bytes | None]] = []
    for op in (*journal.ops("pending"), *journal.ops("planned"), *journal.ops("done")):
        told = eraser.told(op.record) if op.record else op.record
        if told != op.record:
            found.append((op, told))
        elif op.phase == "pending" and op.content in revisions:
            found.append((op, b""))
    return found


def _rename(journal: Journal, path: str, revision: str, instead: str) -> None:
    for table, columns in _PLACES:
        for column in columns:
            journal.connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE path = ? AND {column} = ?",
                (instead, path, revision),
            )


_NAMES = (
    ("versions", "path"),
    ("trash", "path"),
    ("displaced", "path"),
    ("displaced", "place"),
)
"""Where the journal keeps names of notes that may be gone; writes that wait are dealt with apart"""
_STATE_NAMES = (RECORDED, GAP)


def _named_so(means: WriteContext, eraser: Eraser) -> dict[str, str]:
    """Paths that hold it and lead to no file, each with the path that takes its place."""
    connection = means.journal.connection
    paths = {
        str(path)
        for table, column in _NAMES
        for (path,) in connection.execute(f"SELECT {column} FROM {table}")
    }
    paths |= {str(path) for (path,) in connection.execute("SELECT path FROM ops")}
    for start in _STATE_NAMES:
        rows = connection.execute(
            "SELECT name FROM state WHERE substr(name, 1, ?) = ?", (len(start), start)
        )
        paths |= {str(name).removeprefix(start) for (name,) in rows}
    return {
        path: masked
        for path in sorted(paths)
        if (masked := eraser.masked(path)) != path and not _is_there(means, path)
    }


def _is_there(means: WriteContext, path: str) -> bool:
    """Whether a file has this path; also where nobody can say."""
    folder_path, _, name = path.rpartition("/")
    try:
        folder = means.files.open_folder(folder_path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        means.files.close(means.files.open(folder, name))
        return True
    except FileNotFoundError:
        return False
    except OSError:
        return True
    finally:
        means.files.close(folder)


def _mask_names(journal: Journal, names: Mapping[str, str]) -> None:
    """What is kept of a note that is gone goes on under another name; writes to that name are given up."""
    connection = journal.connection
    for path, masked in names.items():
        for table, column in _NAMES:
            connection.execute(
                f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?",
                (masked, path),
            )
        connection.execute("DELETE FROM ops WHERE path = ? OR entry = ?", (path, path))
        for start in _STATE_NAMES:
            connection.execute("DELETE FROM state WHERE name = ?", (start + path,))


def _join_twins(journal: Journal, path: str) -> None:
    """Versions that have become the same as the one before them are one, of whoever put the last of them there."""
    rows = journal.connection.execute(
        "SELECT id, revision, by, kept FROM versions WHERE path = ? ORDER BY id",
        (path,),
    )
    first, last = 0, ""
    for one, revision, by, kept in [
        (int(row[0]), str(row[1]), row[2], row[3]) for row in rows
    ]:
        if revision != last:
            first, last = one, revision
            continue
        journal.connection.execute(
            "UPDATE versions SET kept = max(kept, ?), by = ? WHERE id = ?",
            (kept, by, first),
        )
        journal.connection.execute("DELETE FROM versions WHERE id = ?", (one,))
        journal.connection.execute(
            "DELETE FROM unjudged WHERE version IN (?, ?)", (first, one)
        )


def _let_go(
    journal: Journal, snapshots: Snapshots, revisions: Mapping[str, str]
) -> None:
    """The bytes go that nobody names any more, and those that held it also where a displaced file is of them."""
    snapshots.drop_unused()
    named = {revision for _, revision, _ in _named(journal)}
    for revision in revisions.keys() - named:
        journal.connection.execute("DELETE FROM blobs WHERE revision = ?", (revision,))
    journal.connection.execute(
        "DELETE FROM state WHERE name LIKE ?", (f"{FORGOTTEN}%",)
    )
    for entry in journal.displaced():
        if not snapshots.knows(entry.incorporated):
            journal.set_state(FORGOTTEN + entry.incorporated, "")


def _purge(means: WriteContext, eraser: Eraser) -> list[str]:
    """Take away the displaced files that hold it; those that somebody may still write to are named."""
    entries = [
        entry for entry in means.journal.displaced() if entry.place not in means.purged
    ]
    return [entry.place for entry in entries if not _purged(means, entry, eraser)]


def _purged(means: WriteContext, entry: DisplacedFile, eraser: Eraser) -> bool:
    """Whether nothing of it is under this name any more."""
    folder_path, _, name = entry.place.rpartition("/")
    files = means.files
    try:
        folder = files.open_folder(folder_path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        with suppress(FileNotFoundError):
            fd = files.open(folder, name)
            try:
                raw = files.read(fd)
                if eraser.cut(entry.path, raw) == raw:
                    return True
                if (
                    files.alone(fd, readers_too=True) is not True
                    or revision_of(raw) != entry.incorporated
                ):
                    return False
            finally:
                files.close(fd)
            files.unlink(folder, name)
            files.fsync(folder)
        with means.journal.transaction():
            means.journal.forget_displaced(entry.place)
        return True
    except OSError:
        return False
    finally:
        files.close(folder)
