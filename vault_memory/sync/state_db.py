"""What is remembered between two passes: when both sides were last the same, and what was seen of either since.

All of it is observation, none of it work to do: losing the book loses no text. Then equal files are taken for agreed,
others are merged without a common text, and nothing is deleted.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

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
"""Why a tag must be looked at once more: other bytes may come to stand behind it; the same, of a file we have made;
and of a file we have made without a checksum, although the server keeps them"""

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
)


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """An upload that was begun and of which no good end is known."""

    path: str
    hash: str
    size: int
    tag: str | None
    """that it was to replace; None: nothing"""


class SyncState:
    """The rows. Changes are made within `writing`, and are durable when that ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.pragma("secure_delete", True)
        migrate(connection, [statements(text) for text in STEPS])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; may be nested."""
        with self._connection:
            yield

    @property
    def connection(self) -> Connection:
        """For what looks through all rows."""
        return self._connection

    def close(self) -> None:
        self._connection.close()

    # when both sides were the same

    def base(self) -> dict[str, BaseNode]:
        """What both sides last held, by path."""
        rows = self._connection.execute(
            "SELECT path, hash, tag, local_id, remote_id FROM base"
        )
        return {path: _agreed(*row) for path, *row in rows}

    def base_of(self, path: str) -> BaseNode | None:
        """What both sides last held at a path."""
        rows = self._connection.execute(
            "SELECT hash, tag, local_id, remote_id FROM base WHERE path = ?", (path,)
        )
        return next((_agreed(*row) for row in rows), None)

    def set_base(self, path: str, node: BaseNode, *, racy: int = 0) -> None:
        """Both sides hold this.

        `racy` (YOUNG, NEW, UNSIGNED): under a tag that other bytes may get within the same second.
        """
        hashed, tag = (
            (node.hash, node.tag) if isinstance(node, BaseFile) else (None, "")
        )
        self._connection.execute(
            "INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?, ?)",
            (path, hashed, tag, node.local_id, node.remote_id, int(racy)),
        )
        self._connection.execute("DELETE FROM absent WHERE path = ?", (path,))

    def forget(self, path: str) -> None:
        """Neither side holds it any more, or it is no longer ours to sync."""
        for table in ("base", "behind", "absent", "hashed"):
            self._connection.execute(f"DELETE FROM {table} WHERE path = ?", (path,))

    def move(self, path: str, to: str) -> None:
        """What was agreed on for a path, and for all below it, holds for another from now on."""
        for was in [one for one in self.base() if within(one, path)]:
            for table in ("base", "behind"):
                self._connection.execute(
                    f"UPDATE OR REPLACE {table} SET path = ? WHERE path = ?",
                    (to + was.removeprefix(path), was),
                )
            for start in ("delivery ", "unanswered "):
                self._move_fact(start, was, to + was.removeprefix(path))

    def _move_fact(self, start: str, path: str, to: str) -> None:
        """A fact about a path holds for another from now on."""
        fact = self.meta(start + path)
        if fact is not None:
            self.delete_meta(start + path)
            self.set_meta(
                start + to, {**fact, "path": to} if isinstance(fact, dict) else fact
            )

    def racy(self) -> frozenset[str]:
        """Paths whose tag must be looked at once more."""
        return frozenset(
            path
            for (path,) in self._connection.execute(
                "SELECT path FROM base WHERE racy > 0"
            )
        )

    def racy_creations(self, *, unsigned: bool = False) -> frozenset[str]:
        """Of those, files that we have made: nobody but us can have known of them when they got their tag."""
        why = UNSIGNED if unsigned else NEW
        return frozenset(
            path
            for (path,) in self._connection.execute(
                "SELECT path FROM base WHERE racy = ?", (why,)
            )
        )

    def mark_racy(self, paths: Iterable[str]) -> None:
        """Other bytes may stand behind the tags of these."""
        rows = [(YOUNG, path) for path in paths]
        self._connection.executemany(
            "UPDATE base SET racy = ? WHERE path = ? AND racy = 0", rows
        )

    def clear_racy(self, path: str) -> None:
        """The tag was looked at again, and stood for the same bytes."""
        self._connection.execute("UPDATE base SET racy = 0 WHERE path = ?", (path,))

    def clear_racy_all(self, paths: Iterable[str]) -> None:
        """The same for many."""
        self._connection.executemany(
            "UPDATE base SET racy = 0 WHERE path = ?", [(path,) for path in paths]
        )

    # what was seen on disk

    def hashes(self) -> dict[str, tuple[int, int, int, int, str]]:
        """Path → size, mtime, ctime, inode and hash of files as they were last read."""
        rows = self._connection.execute(
            "SELECT path, size, mtime_ns, ctime_ns, ino, hash FROM hashed"
        )
        return {
            path: (size, mtime, ctime, ino, hashed)
            for path, size, mtime, ctime, ino, hashed in rows
        }

    def store_hashes(self, rows: Iterable[tuple[str, int, int, int, int, str]]) -> None:
        """These files were read."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO hashed VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    # what was seen on the server

    def entries(self) -> dict[str, Entry]:
        """The server as it was last listed."""
        rows = self._connection.execute(
            "SELECT path, is_folder, etag, size, modified, fileid, checksum FROM entries"
        )
        return {
            path: Entry(path, bool(is_folder), *rest) for path, is_folder, *rest in rows
        }

    def entry_of(self, path: str) -> Entry | None:
        """One of these."""
        rows = self._connection.execute(
            "SELECT is_folder, etag, size, modified, fileid, checksum FROM entries WHERE path = ?",
            (path,),
        )
        return next(
            (Entry(path, bool(is_folder), *rest) for is_folder, *rest in rows), None
        )

    def store_listing(self, entries: Mapping[str, Entry]) -> None:
        """The server as it is listed now."""
        known = self.entries()
        gone = [(path,) for path in known.keys() - entries.keys()]
        fresh = [
            _row(entry) for path, entry in entries.items() if known.get(path) != entry
        ]
        self._connection.executemany("DELETE FROM entries WHERE path = ?", gone)
        self._connection.executemany(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", fresh
        )
        # A tag that comes back later may stand for other bytes: of the same length, with the time of those before.
        moved = [
            (entry.path, entry.etag)
            for path, entry in entries.items()
            if known.get(path) != entry
        ]
        self._connection.executemany(
            "DELETE FROM behind WHERE path = ? AND tag != ?", moved
        )

    def store_entry(self, entry: Entry) -> None:
        """One entry is known better than it was listed."""
        self._connection.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", _row(entry)
        )

    def delete_entry(self, path: str) -> None:
        """Nothing is there any more."""
        self._connection.execute("DELETE FROM entries WHERE path = ?", (path,))

    def clear_folder_tags(self, path: str) -> None:
        """We wrote to a path, so the next tags of the folders above tell nothing about anybody else."""
        rows = [(folder,) for folder in ancestors(path)]
        self._connection.executemany(
            "UPDATE entries SET etag = '' WHERE path = ? AND is_folder", rows
        )

    def fetched_hashes(self) -> dict[str, tuple[str, str]]:
        """Path → a tag, and the hash of the bytes that were fetched under it."""
        return {
            path: (tag, hashed)
            for path, tag, hashed in self._connection.execute("SELECT * FROM behind")
        }

    def store_fetched(self, path: str, tag: str, hashed: str) -> None:
        """These bytes stand behind this tag."""
        self._connection.execute(
            "INSERT OR REPLACE INTO behind VALUES (?, ?, ?)", (path, tag, hashed)
        )

    def mark_doubtful(
        self, path: str, tag: str, now: datetime, *, why: str = "doubt"
    ) -> float:
        """Since when the bytes behind this tag have been in doubt: Unix seconds."""
        since = self.doubted_since(path, tag, why=why)
        if since is None:
            since = now.timestamp()
            self.set_meta(f"{why} {path}", [tag, since])
        return since

    def doubted_since(self, path: str, tag: str, *, why: str = "doubt") -> float | None:
        """The same, or None when they are not in doubt."""
        last = self.meta(f"{why} {path}")
        return (
            float(str(last[1])) if isinstance(last, list) and last[0] == tag else None
        )

    # absence, which is believed when it was seen twice

    def store_missing(
        self, side: str, missing: Iterable[str], now: float
    ) -> dict[str, float]:
        """Note which paths of the base are missing on a side; since when each is."""
        known = dict(
            self._connection.execute(
                "SELECT path, since FROM absent WHERE side = ?", (side,)
            )
        )
        now_missing = set(missing)
        back = [(side, path) for path in known.keys() - now_missing]
        fresh = [(side, path, now) for path in now_missing - known.keys()]
        self._connection.executemany(
            "DELETE FROM absent WHERE side = ? AND path = ?", back
        )
        self._connection.executemany("INSERT INTO absent VALUES (?, ?, ?)", fresh)
        return {path: min(float(known.get(path, now)), now) for path in now_missing}

    def missing_since(self, side: str) -> dict[str, float]:
        """Which paths of the base were missing on a side when it was last looked at; since when each is."""
        return dict(
            self._connection.execute(
                "SELECT path, since FROM absent WHERE side = ?", (side,)
            )
        )

    # uploads under way

    def begin_uploads(self, uploads: Iterable[OpenUpload]) -> None:
        """These uploads are about to begin."""
        rows = [(one.path, one.hash, one.size, one.tag) for one in uploads]
        self._connection.executemany(
            "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?)", rows
        )

    def end_upload(self, path: str) -> None:
        """It is known what became of an upload."""
        self._connection.execute("DELETE FROM uploads WHERE path = ?", (path,))

    def open_uploads(self) -> list[OpenUpload]:
        """Uploads of which it is not known what became of them."""
        return [
            OpenUpload(*row)
            for row in self._connection.execute(
                "SELECT path, hash, size, tag FROM uploads"
            )
        ]

    # who rewrites what

    def record_rewrite(self, path: str, by: str, at: float) -> None:
        """A path got other bytes."""
        self._connection.execute(
            "INSERT INTO rewrites VALUES (?, ?, ?)", (path, at, by)
        )

    def rewrites(self, now: float) -> list[Rewrite]:
        """The rewrites of the last minute; older ones are forgotten."""
        self._connection.execute(
            "DELETE FROM rewrites WHERE at < ? OR at > ?", (now - WITHIN, now)
        )
        return [
            Rewrite(*row)
            for row in self._connection.execute(
                "SELECT path, at, by FROM rewrites ORDER BY at"
            )
        ]

    def uploaded_lately(self, path: str, now: float) -> bool:
        """Whether the last that wrote to a path, within the last minute, was us."""
        return next(
            (
                one.by == "us"
                for one in reversed(self.rewrites(now))
                if one.path == path
            ),
            False,
        )

    # single facts

    def set_meta(self, name: str, value: object) -> None:
        """Remember a fact under a name."""
        self._connection.execute(
            "INSERT OR REPLACE INTO info VALUES (?, ?)", (name, json.dumps(value))
        )

    def delete_meta(self, name: str) -> None:
        """Forget a fact."""
        self._connection.execute("DELETE FROM info WHERE name = ?", (name,))

    def metas_with_prefix(self, start: str) -> dict[str, dict[str, Any]]:
        """Those of several values whose names begin so, e.g. one for each of some paths."""
        rows = self._connection.execute(
            "SELECT name, value FROM info WHERE substr(name, 1, ?) = ? ORDER BY name",
            (len(start), start),
        )
        found = {name: json.loads(value) for name, value in rows}
        return {name: value for name, value in found.items() if isinstance(value, dict)}

    def meta(self, name: str) -> object:
        """A fact, or None."""
        row = self._connection.execute(
            "SELECT value FROM info WHERE name = ?", (name,)
        ).fetchone()
        return json.loads(row[0]) if row else None


def open_state(folder: Path) -> SyncState:
    """The book in this folder; a damaged one is put aside, and a new one begun."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        return SyncState(connect(folder / FILE, durable=True))
    except (DatabaseDamaged, DatabaseError) as error:
        if isinstance(error, DatabaseError) and not is_damage(error):
            raise
        quarantine_state(folder)
        return SyncState(connect(folder / FILE, durable=True))


def quarantine_state(folder: Path) -> None:
    """Put a damaged book aside. Losing it deletes nothing and reverts nothing: both sides are compared again.

    Its rows are not salvaged: an older row would say that both sides had agreed on a text that one has replaced since.
    """
    aside = quarantine(folder / FILE)
    logger.warning(
        "`%s` was damaged: what both sides hold is compared again; it is kept as `%s`",
        FILE,
        aside.name,
    )


def _agreed(hashed: str | None, tag: str, local_id: str, remote_id: str) -> BaseNode:
    return (
        BaseDir(local_id, remote_id)
        if hashed is None
        else BaseFile(hashed, tag, local_id, remote_id)
    )


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
