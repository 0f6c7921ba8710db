"""Every version of a note that was seen, kept for a while: what merges are based on, and what can be gone back to.

The bytes are kept once for each revision, compressed; a chain for each path says which revisions stood there, when,
and who put them there. All versions of the last day are kept, one an hour for 90 days, and for 90 days each that a
write of the bot was based on or led to. The newest version of a path is always kept, unless it was a conflict copy.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.vault.write.journal import By, Journal

ALL_FOR = 24 * 3600.0
KEPT_FOR = 90 * 24 * 3600.0
AN_HOUR = 3600.0
LEVEL = 3
"""Of compression: higher ones cost several times as much and save little on notes."""


def revision_of(raw: bytes) -> str:
    """SHA-256 of the bytes, 64 hex digits."""
    return sha256(raw).hexdigest()


@dataclass(frozen=True, slots=True)
class Version:
    """One link of a path's chain."""

    path: str
    revision: str
    at: float
    by: By
    kept: bool
    """Whether a write of the bot was based on it, or led to it."""
    size: int
    id: int = 0
    """in the order in which the versions of a vault were seen"""


class Snapshots:
    """The chains and the bytes; changes are made within a transaction of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._connection = journal.connection

    def keep(self, raw: bytes, revision: str | None = None) -> str:
        """Keep bytes; returns their revision."""
        revision = revision or revision_of(raw)
        if not self.knows(revision):
            self._connection.execute(
                "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)",
                (revision, len(raw), zlib.compress(raw, LEVEL)),
            )
        return revision

    def add(
        self, path: str, revision: str, *, at: float, by: By, kept: bool = False
    ) -> None:
        """Say that this revision, whose bytes are kept, stood at this path. The same again is no new link."""
        last = self.head(path)
        if last is not None and last.revision == revision:
            if kept and not last.kept:
                self._connection.execute(
                    "UPDATE versions SET kept = 1 WHERE id = (SELECT max(id) FROM versions WHERE path = ?)",
                    (path,),
                )
            return
        self._connection.execute(
            "INSERT INTO versions(path, revision, at, by, kept) VALUES (?, ?, ?, ?, ?)",
            (path, revision, at, by, int(kept)),
        )
        if by == "person":
            self._connection.execute(
                "INSERT INTO unjudged SELECT last_insert_rowid()"
                " WHERE EXISTS (SELECT 1 FROM versions WHERE path = ? AND by = 'bot')",
                (path,),
            )

    def record(self, path: str, raw: bytes, *, at: float, by: By = "person") -> str:
        """A version was seen at this path; in a transaction of its own, if it is news. Returns its revision."""
        revision = revision_of(raw)
        last = self.head(path)
        if last is None or last.revision != revision:
            with self._journal.transaction():
                self.keep(raw, revision)
                self.add(path, revision, at=at, by=by)
        return revision

    def record_all(
        self, versions: Iterable[tuple[str, bytes]], *, at: float, by: By = "person"
    ) -> None:
        """Many versions (path, bytes) that were seen, in one transaction."""
        with self._journal.transaction():
            for path, raw in versions:
                self.add(path, self.keep(raw), at=at, by=by)

    def knows(self, revision: str) -> bool:
        """Whether the bytes of this revision are kept."""
        return bool(
            self._connection.execute(
                "SELECT 1 FROM blobs WHERE revision = ?", (revision,)
            ).fetchone()
        )

    def wrote(self, revision: str) -> bool:
        """Whether a write of ours is known to have put this revision somewhere."""
        query = "SELECT 1 FROM versions WHERE revision = ? AND by = 'bot'"
        return bool(self._connection.execute(query, (revision,)).fetchone())

    def bytes_of(self, revision: str | None) -> bytes | None:
        """The bytes of a revision, or None when they are not kept."""
        row = self._connection.execute(
            "SELECT packed FROM blobs WHERE revision = ?", (revision,)
        ).fetchone()
        try:
            return zlib.decompress(row[0]) if row else None
        except (
            zlib.error
        ) as error:  # SQLite does not notice other bytes on the pages of a long value
            self._journal.repair(f"a version cannot be unpacked: {error}")
            return None

    def head(self, path: str) -> Version | None:
        """The newest version of a path that was seen."""
        return next(iter(self._chain(path, "DESC LIMIT 1")), None)

    def chain(self, path: str) -> list[Version]:
        """All versions of a path that are kept, the newest first."""
        return self._chain(path, "DESC")

    def before(self, path: str, revision: str) -> list[Version]:
        """What led to a text under other names, itself first: of a note that was renamed to this path."""
        return self._versions(
            "path != ? AND path IN (SELECT path FROM versions WHERE revision = ?)"
            " AND id <= (SELECT max(id) FROM versions other WHERE other.path = versions.path"
            " AND other.revision = ?) ORDER BY id DESC",
            path,
            revision,
            revision,
        )

    def unjudged(self) -> list[Version]:
        """The versions that people saved over what the bot had written, the oldest first, until they were `judged`."""
        return self._versions("id IN (SELECT version FROM unjudged) ORDER BY id")

    def judged(self, version: Version) -> None:
        """Whether this version was saved by somebody who knew of the bot's lines needs not be asked again."""
        with self._journal.transaction():
            self._connection.execute(
                "DELETE FROM unjudged WHERE version = ?", (version.id,)
            )

    def heads(self) -> Iterator[tuple[str, str]]:
        """Each path that has a chain with its newest revision, in the order of the paths."""
        for path, revision, _ in self._connection.execute(
            "SELECT path, revision, max(id) FROM versions GROUP BY path ORDER BY path"
        ):
            yield str(path), str(revision)

    def paths(self) -> list[str]:
        """All paths that have a chain."""
        return [
            str(path)
            for (path,) in self._connection.execute(
                "SELECT DISTINCT path FROM versions ORDER BY path"
            )
        ]

    def adopt(self, versions: Iterable[tuple[str, bytes]], *, at: float) -> None:
        """These stand at their paths now, however they came there: nothing is concluded from what they lack."""
        with self._journal.transaction():
            for path, raw in versions:
                self.add(path, self.keep(raw), at=at, by="person", kept=True)
            self._connection.execute("DELETE FROM unjudged")

    def gone_back(self) -> list[tuple[str, str, str]]:
        """The paths whose newest version had stood there before: with its revision, and that which it replaced."""
        rows = self._connection.execute(
            "WITH last AS (SELECT path, max(id) AS id FROM versions GROUP BY path)"
            " SELECT path, one.revision, (SELECT revision FROM versions AS before WHERE before.path = one.path"
            "  AND before.id < one.id ORDER BY before.id DESC LIMIT 1)"
            " FROM last JOIN versions AS one USING (path, id) WHERE EXISTS (SELECT 1 FROM versions AS before"
            "  WHERE before.path = one.path AND before.revision = one.revision AND before.id < one.id)"
            " AND one.by = 'person' ORDER BY path"
        )
        return [(str(path), str(now), str(newer)) for path, now, newer in rows]

    def newest(self) -> float | None:
        """When the newest of all versions was seen."""
        at = self._connection.execute(
            "SELECT max(at) FROM versions WHERE id > (SELECT max(id) - 50 FROM versions)"
        )
        return next((float(seen) for (seen,) in at if seen is not None), None)

    def prune(self, now: float) -> int:
        """Let go of what is older than it is kept; returns how many versions went."""
        rows = self._connection.execute(
            "SELECT id, path, at, kept FROM versions ORDER BY path, id DESC"
        )
        gone = _outdated(rows, now)
        with self._journal.transaction():
            self._connection.executemany(
                "DELETE FROM versions WHERE id = ?", [(one,) for one in gone]
            )
            self.drop_unused()
        return len(gone)

    def drop_unused(self) -> None:
        """Let go of bytes that nobody names; within a transaction."""
        self._connection.execute(
            "DELETE FROM blobs WHERE revision NOT IN (SELECT revision FROM versions)"
            " AND revision NOT IN (SELECT revision FROM trash)"
            " AND revision NOT IN (SELECT incorporated FROM displaced)"
            " AND revision NOT IN (SELECT base FROM ops WHERE base IS NOT NULL UNION SELECT content FROM ops"
            " UNION SELECT expected FROM ops WHERE expected IS NOT NULL UNION SELECT fresh FROM ops)"
        )

    def _chain(self, path: str, order: str) -> list[Version]:
        return self._versions(f"path = ? ORDER BY id {order}", path)

    def _versions(self, which: str, *values: str) -> list[Version]:
        rows = self._connection.execute(
            f"SELECT path, revision, at, by, kept, size, id FROM versions JOIN blobs USING (revision) WHERE {which}",
            values,
        )
        return [
            Version(path, revision, at, by, bool(kept), size, id)
            for path, revision, at, by, kept, size, id in rows
        ]


def _outdated(rows: Iterable[tuple[Any, ...]], now: float) -> list[int]:
    """Ids of the versions to let go, given all of them by path with the newest first."""
    gone = []
    path, hour = "", -1
    for one, its_path, at, kept in rows:
        newest = its_path != path
        if newest:
            path, hour = its_path, -1
        age = now - at
        first_of_its_hour = int(at // AN_HOUR) != hour
        spared = newest and conflict_copy(its_path.rpartition("/")[2]) is None
        if (
            spared
            or age <= ALL_FOR
            or (age <= KEPT_FOR and (kept or first_of_its_hour))
        ):
            hour = int(at // AN_HOUR) if age > ALL_FOR or newest else hour
            continue
        gone.append(one)
    return gone
