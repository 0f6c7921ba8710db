"""The sync state: what is stored between two passes, in SQLite.

It holds the base (what both sides last had) and observations of either side, but no tasks. Losing it
loses no text: equal files become the base again, others are merged without a common text, and nothing
is deleted.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from vault_memory import places
from vault_memory.database.connection import (
    Connection,
    DatabaseDamaged,
    DatabaseError,
    connect,
    is_damage,
    quarantine,
)
from vault_memory.database.migrations import migrate, statements
from vault_memory.remote.contract import Entry
from vault_memory.sync.plan.safety_limits import WITHIN, Rewrite
from vault_memory.sync.trees import BaseDir, BaseFile, BaseNode, ancestors, within

logger = logging.getLogger(__name__)

FILE = "sync.sqlite"
YOUNG, NEW, UNSIGNED = 1, 2, 3
"""Why a tag is racy, so that its bytes must be fetched again: another write may get the same tag.

NEW is for a file that this device created. UNSIGNED is for such a file without a checksum, on a
server that keeps checksums.
"""

STEPS = (
    """
    CREATE TABLE base(
        path TEXT PRIMARY KEY, hash TEXT, tag TEXT NOT NULL, local_id TEXT NOT NULL, remote_id TEXT NOT NULL,
        racy INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE hashed(
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
        ino INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE entries(
        path TEXT PRIMARY KEY, is_folder INTEGER NOT NULL, etag TEXT NOT NULL, size INTEGER NOT NULL,
        modified INTEGER NOT NULL, fileid TEXT NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE behind(path TEXT PRIMARY KEY, tag TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE absent(side TEXT NOT NULL, path TEXT NOT NULL, since REAL NOT NULL, PRIMARY KEY(side, path))
        WITHOUT ROWID;
    CREATE TABLE uploads(path TEXT PRIMARY KEY, hash TEXT NOT NULL, size INTEGER NOT NULL, tag TEXT) WITHOUT ROWID;
    CREATE TABLE rewrites(path TEXT NOT NULL, at REAL NOT NULL, by TEXT NOT NULL);
    CREATE TABLE info(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE sent(
        number INTEGER NOT NULL, path TEXT NOT NULL, revision TEXT NOT NULL, before TEXT NOT NULL,
        size INTEGER NOT NULL, at REAL NOT NULL, modified INTEGER NOT NULL, evidence TEXT NOT NULL,
        in_parts INTEGER NOT NULL, tries INTEGER NOT NULL, PRIMARY KEY(path, number)) WITHOUT ROWID;
    DELETE FROM info WHERE name LIKE 'delivery %' OR name LIKE 'unanswered %';
    """,
)


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """An upload that was begun, and whose outcome is unknown."""

    path: str
    hash: str
    size: int
    tag: str | None
    """of the file that it replaces; None: a new file"""


class FileHash(NamedTuple):
    """The hash of a local file, and its metadata when it was read."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    hash: str


class SyncState:
    """The stored rows. Changes are made within `transaction`, and are durable when that ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Fault: the name of a note may contain what the user forgot. It must not remain
        # in free pages of the file.
        connection.pragma("secure_delete", True)
        migrate(connection, [statements(text) for text in STEPS])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes or none. May be nested."""
        with self._connection:
            yield

    @property
    def connection(self) -> Connection:
        """The connection, for callers that search all tables."""
        return self._connection

    def close(self) -> None:
        self._connection.close()

    # --- The base: what both sides last had ---

    def base(self) -> dict[str, BaseNode]:
        """The base, by path."""
        rows = self._connection.execute("SELECT path, hash, tag, local_id, remote_id FROM base")
        return {path: _base_node(*row) for path, *row in rows}

    def base_of(self, path: str) -> BaseNode | None:
        """The base of one path."""
        rows = self._connection.execute(
            "SELECT hash, tag, local_id, remote_id FROM base WHERE path = ?", (path,)
        )
        return next((_base_node(*row) for row in rows), None)

    def set_base(self, path: str, node: BaseNode, *, racy: int = 0) -> None:
        """Record what both sides have now.

        `racy` (YOUNG, NEW, UNSIGNED): another write within the same second may get the same tag.
        """
        hashed, tag = None, ""
        if isinstance(node, BaseFile):
            hashed, tag = node.hash, node.tag
        self._connection.execute(
            "INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?, ?)",
            (path, hashed, tag, node.local_id, node.remote_id, int(racy)),
        )
        self._connection.execute("DELETE FROM absent WHERE path = ?", (path,))

    def forget(self, path: str) -> None:
        """Forget a path that neither side has any more, or that is no longer synced."""
        for table in ("base", "behind", "absent", "hashed", "sent"):
            self._connection.execute(f"DELETE FROM {table} WHERE path = ?", (path,))

    def move(self, path: str, to: str) -> None:
        """Record that a path, and everything below it, has a new name on both sides."""
        for old in [each for each in self.base() if within(each, path)]:
            new = to + old.removeprefix(path)
            # What an earlier file of that name had sent concerns no file any more.
            self._connection.execute("DELETE FROM sent WHERE path = ?", (new,))
            for table in ("base", "behind", "sent"):
                self._connection.execute(
                    f"UPDATE OR REPLACE {table} SET path = ? WHERE path = ?", (new, old)
                )

    def racy(self) -> frozenset[str]:
        """The paths whose bytes must be fetched again, since their tag may hide another write."""
        rows = self._connection.execute("SELECT path FROM base WHERE racy > 0")
        return frozenset(path for (path,) in rows)

    def racy_creations(self, *, unsigned: bool = False) -> frozenset[str]:
        """The racy paths that this device created: no other device knew them when they got their tag.

        `unsigned`: only those without a checksum.
        """
        rows = self._connection.execute(
            "SELECT path FROM base WHERE racy = ?", (UNSIGNED if unsigned else NEW,)
        )
        return frozenset(path for (path,) in rows)

    def mark_racy(self, paths: Iterable[str]) -> None:
        """Record that the tags of these paths may hide other bytes."""
        rows = [(YOUNG, path) for path in paths]
        self._connection.executemany("UPDATE base SET racy = ? WHERE path = ? AND racy = 0", rows)

    def clear_racy(self, path: str) -> None:
        """Record that the tag of a path was checked and has the bytes of the base."""
        self.clear_racy_all([path])

    def clear_racy_all(self, paths: Iterable[str]) -> None:
        """Record the same for several paths."""
        self._connection.executemany(
            "UPDATE base SET racy = 0 WHERE path = ?", [(path,) for path in paths]
        )

    # --- What was seen on disk ---

    def hashes(self) -> dict[str, FileHash]:
        """The cached hashes of local files, by path."""
        rows = self._connection.execute(
            "SELECT path, size, mtime_ns, ctime_ns, ino, hash FROM hashed"
        )
        return {path: FileHash(*row) for path, *row in rows}

    def store_hashes(self, hashes: Mapping[str, FileHash]) -> None:
        """Cache the hashes of files that were read."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO hashed VALUES (?, ?, ?, ?, ?, ?)",
            [(path, *hashed) for path, hashed in hashes.items()],
        )

    # --- What was seen on the server ---

    def entries(self) -> dict[str, Entry]:
        """The server as it was last listed."""
        rows = self._connection.execute(
            "SELECT path, is_folder, etag, size, modified, fileid, checksum FROM entries"
        )
        return {path: _entry(path, *row) for path, *row in rows}

    def entry_of(self, path: str) -> Entry | None:
        """One entry of the last listing; None when it lacks the path."""
        rows = self._connection.execute(
            "SELECT is_folder, etag, size, modified, fileid, checksum FROM entries WHERE path = ?",
            (path,),
        )
        return next((_entry(path, *row) for row in rows), None)

    def store_listing(self, entries: Mapping[str, Entry]) -> None:
        """Store a complete listing of the server."""
        previous = self.entries()
        deleted = [(path,) for path in previous.keys() - entries.keys()]
        changed = [entry for path, entry in entries.items() if previous.get(path) != entry]
        self._connection.executemany("DELETE FROM entries WHERE path = ?", deleted)
        self._connection.executemany(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_row(entry) for entry in changed],
        )
        # Fault: a tag that returns later may mean other bytes, of the same length and time.
        self._connection.executemany(
            "DELETE FROM behind WHERE path = ? AND tag != ?",
            [(entry.path, entry.etag) for entry in changed],
        )

    def store_entry(self, entry: Entry) -> None:
        """Store one entry that is newer than the last listing."""
        self._connection.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", _row(entry)
        )

    def delete_entry(self, path: str) -> None:
        """Record that the server has nothing at a path any more."""
        self._connection.execute("DELETE FROM entries WHERE path = ?", (path,))

    def move_entries(self, path: str, to: str) -> None:
        """Record that this device renamed a path on the server, with everything below it."""
        olds = [old for old in self.entries() if within(old, path)]
        self._connection.executemany(
            "UPDATE OR REPLACE entries SET path = ? WHERE path = ?",
            [(to + old.removeprefix(path), old) for old in olds],
        )
        self.clear_folder_tags(path)
        self.clear_folder_tags(to)

    def clear_folder_tags(self, path: str) -> None:
        """Forget the tags of the folders above a path that this device wrote to."""
        # Fault: our own write changes these tags. The change would count as a hidden write.
        rows = [(folder,) for folder in ancestors(path)]
        self._connection.executemany(
            "UPDATE entries SET etag = '' WHERE path = ? AND is_folder", rows
        )

    def fetched_hashes(self) -> dict[str, tuple[str, str]]:
        """Path → a tag, and the hash of the bytes that were fetched under it."""
        rows = self._connection.execute("SELECT path, tag, hash FROM behind")
        return {path: (tag, hashed) for path, tag, hashed in rows}

    def store_fetched(self, path: str, tag: str, hashed: str) -> None:
        """Record the hash of the bytes that were fetched under a tag."""
        self._connection.execute(
            "INSERT OR REPLACE INTO behind VALUES (?, ?, ?)", (path, tag, hashed)
        )

    def mark_doubtful(self, path: str, tag: str, now: datetime, *, why: str = "doubt") -> float:
        """Mark the bytes behind a tag as doubtful. Returns since when they are, in Unix seconds."""
        since = self.doubted_since(path, tag, why=why)
        if since is None:
            since = now.timestamp()
            self.set_meta(f"{why} {path}", [tag, since])
        return since

    def doubted_since(self, path: str, tag: str, *, why: str = "doubt") -> float | None:
        """Since when the bytes behind a tag are doubtful, in Unix seconds; None when they are not."""
        doubt = self.meta(f"{why} {path}")
        if not isinstance(doubt, list) or doubt[0] != tag:
            return None
        return float(str(doubt[1]))

    # --- Absence, which is believed when it was seen twice ---

    def store_missing(self, side: str, missing: Iterable[str], now: float) -> dict[str, float]:
        """Store which paths of the base are missing on a side. Returns since when each is."""
        previous = self.missing_since(side)
        current = set(missing)
        returned = [(side, path) for path in previous.keys() - current]
        new = [(side, path, now) for path in current - previous.keys()]
        self._connection.executemany("DELETE FROM absent WHERE side = ? AND path = ?", returned)
        self._connection.executemany("INSERT INTO absent VALUES (?, ?, ?)", new)
        # Fault (B50): a clock that was set back would make an absence begin in the
        # future, and no deletion would ever count as seen twice.
        return {path: min(float(previous.get(path, now)), now) for path in current}

    def missing_since(self, side: str) -> dict[str, float]:
        """The paths of the base that were missing on a side in its last listing, and since when."""
        rows = self._connection.execute("SELECT path, since FROM absent WHERE side = ?", (side,))
        return dict(rows)

    # --- Uploads under way ---

    def begin_uploads(self, uploads: Iterable[OpenUpload]) -> None:
        """Record uploads that are about to begin."""
        rows = [(upload.path, upload.hash, upload.size, upload.tag) for upload in uploads]
        self._connection.executemany("INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?)", rows)

    def end_upload(self, path: str) -> None:
        """Record that the outcome of an upload is known."""
        self._connection.execute("DELETE FROM uploads WHERE path = ?", (path,))

    def open_uploads(self) -> list[OpenUpload]:
        """The uploads whose outcome is unknown."""
        rows = self._connection.execute("SELECT path, hash, size, tag FROM uploads")
        return [OpenUpload(*row) for row in rows]

    # --- Which program rewrites what ---

    def record_rewrite(self, path: str, by: str, at: float) -> None:
        """Record that a path got other bytes."""
        self._connection.execute("INSERT INTO rewrites VALUES (?, ?, ?)", (path, at, by))

    def rewrites(self, now: float) -> list[Rewrite]:
        """The rewrites of the last minute; older ones are deleted."""
        self._connection.execute("DELETE FROM rewrites WHERE at < ? OR at > ?", (now - WITHIN, now))
        rows = self._connection.execute("SELECT path, at, by FROM rewrites ORDER BY at")
        return [Rewrite(*row) for row in rows]

    def uploaded_lately(self, path: str, now: float) -> bool:
        """Whether the latest rewrite of a path within the last minute was an upload of this device."""
        for rewrite in reversed(self.rewrites(now)):
            if rewrite.path == path:
                return rewrite.by == "us"
        return False

    # --- Single values by name ---

    def set_meta(self, name: str, value: object) -> None:
        """Store a value under a name."""
        self._connection.execute(
            "INSERT OR REPLACE INTO info VALUES (?, ?)", (name, json.dumps(value))
        )

    def delete_meta(self, name: str) -> None:
        """Delete a value."""
        self._connection.execute("DELETE FROM info WHERE name = ?", (name,))

    def metas_with_prefix(self, prefix: str) -> dict[str, dict[str, Any]]:
        """The objects whose names begin with a prefix, e.g. one for each of several paths."""
        rows = self._connection.execute(
            "SELECT name, value FROM info WHERE substr(name, 1, ?) = ? ORDER BY name",
            (len(prefix), prefix),
        )
        values = {name: json.loads(value) for name, value in rows}
        return {name: value for name, value in values.items() if isinstance(value, dict)}

    def meta(self, name: str) -> object:
        """The value under a name, or None."""
        row = self._connection.execute("SELECT value FROM info WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None


def open_state(folder: Path) -> SyncState:
    """Open the sync state in a folder; a damaged one is quarantined, and a new one is created."""
    places.make_private(folder)
    try:
        return SyncState(connect(folder / FILE, durable=True))
    except (DatabaseDamaged, DatabaseError) as error:
        if isinstance(error, DatabaseError) and not is_damage(error):
            raise
        quarantine_state(folder)
        return SyncState(connect(folder / FILE, durable=True))


def quarantine_state(folder: Path) -> None:
    """Move a damaged sync state aside. The next pass compares both sides, and deletes and reverts nothing."""
    # Fault: a salvaged old row would name a base that both sides have replaced since. So no row is
    # salvaged.
    aside = quarantine(folder / FILE)
    logger.warning(
        "`%s` was damaged: what both sides hold is compared again; it is kept as `%s`",
        FILE,
        aside.name,
    )


def _base_node(hashed: str | None, tag: str, local_id: str, remote_id: str) -> BaseNode:
    if hashed is None:
        return BaseDir(local_id, remote_id)
    return BaseFile(hashed, tag, local_id, remote_id)


def _entry(path: str, is_folder: int, *row: Any) -> Entry:
    return Entry(path, bool(is_folder), *row)


def _row(entry: Entry) -> tuple[str, int, str, int, int, str, str]:
    return (
        entry.path,
        int(entry.is_folder),
        entry.etag,
        entry.size,
        entry.modified,
        entry.fileid,
        entry.checksum,
    )
