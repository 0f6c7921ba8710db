"""Redacts a text from what is kept outside the vault: old versions, the trash, pending writes.

A version that contained the text stays in its chain without it, so that history, restore and undo
keep everything else. The caller decides what the new bytes are. It is called within a transaction
of the writer, and can be repeated after a crash.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from vault_memory.database.secure_delete import compact
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.write.journal import (
    FORGOTTEN,
    GAP,
    GONE,
    RECORDED,
    RENAMED,
    DisplacedFile,
    Journal,
    PendingWrite,
)
from vault_memory.vault.write.write_context import WriteContext


@dataclass(frozen=True, slots=True)
class Eraser:
    """Removes a text from bytes, from records and from names."""

    cut: Callable[[str, bytes], bytes]
    """(path, bytes) → the bytes without the text; the same bytes where it does not occur"""
    redact_record: Callable[[bytes], bytes | None]
    """Record of a write → the record without the text; None when nothing of the write remains"""
    mask_path: Callable[[str], str] = lambda path: path
    """A path → the path without it; names of notes that exist are never changed"""


@dataclass(slots=True)
class Erased:
    """Counts of what was redacted, or would be."""

    revisions: dict[str, str] = field(default_factory=dict)
    """Revisions that contained the text → the revisions that replace them"""
    versions: int = 0
    trash: int = 0
    waiting: int = 0
    """Pending writes"""
    names: int = 0
    """Names of notes that do not exist any more; their history continues under masked names"""
    lingering: list[str] = field(default_factory=list)
    """Displaced files that contain it and that an editor may have open: paths in the vault"""
    compacted: bool = True

    @property
    def count(self) -> int:
        """The number of all places that contained the text."""
        return self.versions + self.trash + self.waiting + self.names


_REVISION_COLUMNS = (
    ("versions", ("revision",)),
    ("trash", ("revision",)),
    ("ops", ("base", "content", "expected", "fresh", "after")),
)
"""Where the journal names a revision of a path"""


Changes = Mapping[tuple[str, str], str]
"""Path and revision of a text to redact → its revision afterwards"""


def look_through(journal: Journal, eraser: Eraser) -> Erased:
    """Returns what `erase` would redact. Changes nothing."""
    return _count(journal, eraser, _changes(journal, eraser))


def names_kept(context: WriteContext, eraser: Eraser) -> int:
    """Returns how many names of notes that do not exist any more contain the text."""
    return len(_masked_names(context, eraser))


def erase(context: WriteContext, eraser: Eraser) -> Erased:
    """Redacts the text, and rewrites the journal's file."""
    # Fault: an acknowledged write still has its record in the journal. Until it is
    # flushed, the record has the text.
    context.flush()
    journal, snapshots = context.journal, context.snapshots
    changes = _changes(journal, eraser)
    erased = _count(journal, eraser, changes)
    erased.lingering = _purge_displaced(context, eraser)
    erased.names = names_kept(context, eraser)
    with journal.transaction():
        _redact_writes(journal, eraser, erased.revisions)
        for (path, revision), new_revision in changes.items():
            raw = snapshots.bytes_of(revision) or b""
            snapshots.keep(eraser.cut(path, raw), new_revision)
            _replace_revision(journal, path, revision, new_revision)
        for path in {path for path, _ in changes}:
            _join_equal_versions(journal, path)
        _drop_bytes(journal, snapshots, erased.revisions)
        _mask_names(journal, _masked_names(context, eraser))
    # Fault: SQLite keeps deleted rows in free pages. Rewriting the file removes the
    # text from the disk.
    erased.compacted = compact(journal.connection)
    return erased


def _count(journal: Journal, eraser: Eraser, changes: Changes) -> Erased:
    tables = [
        table for path, revision, table in _named_revisions(journal) if (path, revision) in changes
    ]
    revisions = {revision: new for (_, revision), new in changes.items()}
    waiting = len(_affected_writes(journal, eraser, revisions))
    return Erased(revisions, tables.count("versions"), tables.count("trash"), waiting)


def _named_revisions(journal: Journal) -> Iterator[tuple[str, str, str]]:
    """Yields each path with each of its revisions, and the table that names it."""
    for table, columns in _REVISION_COLUMNS:
        for column in columns:
            rows = journal.execute(
                f"SELECT path, {column} FROM {table} WHERE coalesce({column}, '') != ''"
            )
            yield from ((str(path), str(revision), table) for path, revision in rows)


def _changes(journal: Journal, eraser: Eraser) -> Changes:
    snapshots = Snapshots(journal)
    changes = {}
    places = ((path, revision) for path, revision, _ in _named_revisions(journal))
    for path, revision in dict.fromkeys(places):
        raw = snapshots.bytes_of(revision)
        if raw is None:
            continue
        redacted = eraser.cut(path, raw)
        if redacted != raw:
            changes[path, revision] = revision_of(redacted)
    return changes


def _redact_writes(journal: Journal, eraser: Eraser, revisions: Mapping[str, str]) -> None:
    for write, record in _affected_writes(journal, eraser, revisions):
        if record is None:
            journal.remove(write.op_id)
        elif record:
            journal.put(replace(write, record=record))


def _affected_writes(
    journal: Journal, eraser: Eraser, revisions: Mapping[str, str]
) -> list[tuple[PendingWrite, bytes | None]]:
    """Returns the writes whose record or text contains it, each with its redacted record.

    None means a write of which nothing remains, b"" for a record that needs no change.
    """
    affected: list[tuple[PendingWrite, bytes | None]] = []
    for write in (*journal.ops("pending"), *journal.ops("planned"), *journal.ops("done")):
        record = eraser.redact_record(write.record) if write.record else write.record
        if record != write.record:
            affected.append((write, record))
        elif write.phase == "pending" and write.content in revisions:
            affected.append((write, b""))
    return affected


def _replace_revision(journal: Journal, path: str, revision: str, new: str) -> None:
    for table, columns in _REVISION_COLUMNS:
        for column in columns:
            journal.execute(
                f"UPDATE {table} SET {column} = ? WHERE path = ? AND {column} = ?",
                (new, path, revision),
            )


_NAME_COLUMNS = (
    ("versions", "path"),
    ("trash", "path"),
    ("displaced", "path"),
    ("displaced", "place"),
)
"""Where the journal keeps names of notes that may not exist; pending writes are treated apart"""
_NAME_STATES = (RECORDED, GAP, GONE, RENAMED)


def _masked_names(context: WriteContext, eraser: Eraser) -> dict[str, str]:
    """Returns each path without a file whose name contains the text, and its masked path."""
    masked_names = {}
    for path in sorted(_kept_paths(context.journal)):
        masked = eraser.mask_path(path)
        if masked != path and not _exists(context, path):
            masked_names[path] = masked
    return masked_names


def _kept_paths(journal: Journal) -> set[str]:
    """Returns every path that the journal names."""
    paths: set[str] = set()
    for table, column in (*_NAME_COLUMNS, ("ops", "path")):
        rows = journal.execute(f"SELECT {column} FROM {table}")
        paths.update(str(path) for (path,) in rows)
    for prefix in _NAME_STATES:
        rows = journal.execute(
            "SELECT name FROM state WHERE substr(name, 1, ?) = ?", (len(prefix), prefix)
        )
        paths.update(str(name).removeprefix(prefix) for (name,) in rows)
    return paths


def _exists(context: WriteContext, path: str) -> bool:
    """Whether a file has this path; true where that cannot be determined."""
    folder_path, _, name = path.rpartition("/")
    try:
        folder = context.files.open_folder(folder_path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # Unknown is not absent: the name of a note that exists must not change.
        return True
    try:
        context.files.close(context.files.open(folder, name))
        return True
    except FileNotFoundError:
        return False
    except OSError:
        # The same holds for a file that cannot be opened.
        return True
    finally:
        context.files.close(folder)


def _mask_names(journal: Journal, names: Mapping[str, str]) -> None:
    """Moves the history of deleted notes to masked names; discards writes to the old names."""
    for path, masked in names.items():
        for table, column in _NAME_COLUMNS:
            journal.execute(
                f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?", (masked, path)
            )
        journal.execute("DELETE FROM ops WHERE path = ? OR entry = ?", (path, path))
        for prefix in _NAME_STATES:
            journal.execute("DELETE FROM state WHERE name = ?", (prefix + path,))
        journal.execute(
            "DELETE FROM state WHERE substr(name, 1, ?) = ? AND value = ?",
            (len(RENAMED), RENAMED, path),
        )


def _join_equal_versions(journal: Journal, path: str) -> None:
    """Joins versions that became equal to the one before; the author of the last one remains."""
    cursor = journal.execute(
        "SELECT id, revision, by, kept FROM versions WHERE path = ? ORDER BY id", (path,)
    )
    # Fault: the loop changes the table that the cursor reads, and SQLite may then skip
    # rows.
    rows = list(cursor)
    first, previous = 0, ""
    for row in rows:
        version, revision, by, is_pinned = int(row[0]), str(row[1]), row[2], row[3]
        if revision != previous:
            first, previous = version, revision
            continue
        journal.execute(
            "UPDATE versions SET kept = max(kept, ?), by = ? WHERE id = ?", (is_pinned, by, first)
        )
        journal.execute("DELETE FROM versions WHERE id = ?", (version,))
        # A joined version is no save of a person any more, and must not be judged as one.
        journal.execute("DELETE FROM unjudged WHERE version IN (?, ?)", (first, version))


def _drop_bytes(journal: Journal, snapshots: Snapshots, revisions: Mapping[str, str]) -> None:
    """Deletes the bytes that no row names, and those of displaced files that contain the text."""
    snapshots.drop_unused()
    named = {revision for _, revision, _ in _named_revisions(journal)}
    for revision in revisions.keys() - named:
        journal.execute("DELETE FROM blobs WHERE revision = ?", (revision,))
    journal.execute("DELETE FROM state WHERE name LIKE ?", (f"{FORGOTTEN}%",))
    # Fault: without this mark a displaced file would wait for ever for bytes that
    # nothing keeps.
    for entry in journal.displaced():
        if not snapshots.knows(entry.incorporated):
            journal.set_state(FORGOTTEN + entry.incorporated, "")


def _purge_displaced(context: WriteContext, eraser: Eraser) -> list[str]:
    """Removes displaced files that contain the text. Returns those that an editor may have open."""
    entries = [entry for entry in context.journal.displaced() if entry.place not in context.purged]
    return [entry.place for entry in entries if not _purge(context, entry, eraser)]


def _purge(context: WriteContext, entry: DisplacedFile, eraser: Eraser) -> bool:
    """Removes one displaced file. Returns whether its name leads to the text no longer."""
    folder_path, _, name = entry.place.rpartition("/")
    files = context.files
    try:
        folder = files.open_folder(folder_path)
    except FileNotFoundError:
        # A person removed the folder, and the file with it.
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
                # Fault (A5): an editor may still save into it, or did. Its late text
                # must reach the note.
                if (
                    files.alone(fd, readers_too=True) is not True
                    or revision_of(raw) != entry.incorporated
                ):
                    return False
            finally:
                files.close(fd)
            files.unlink(folder, name)
            # Fault (B35): a power loss could bring the text back under a name that the
            # journal does not know any more.
            files.fsync(folder)
        with context.journal.transaction():
            context.journal.forget_displaced(entry.place)
        return True
    except OSError:
        return False
    finally:
        files.close(folder)
