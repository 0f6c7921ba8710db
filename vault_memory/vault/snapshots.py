"""Snapshots: the versions of notes that were seen, for merges and for undo.

The bytes of each revision are stored once, compressed. The chain of a path says which revisions
the note had, when, and who made them. The store keeps all versions of the last day, and one an hour
for 90 days. For 90 days it keeps each version that a write of the bot made or was based on. It
always keeps the newest version of a path, unless the path was a conflict copy.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vault_memory.rules.paths.conflict_names import WORDS, conflict_copy
from vault_memory.vault.reader import Note
from vault_memory.vault.write.journal import By, Journal

ALL_FOR = 24 * 3600.0
KEPT_FOR = 90 * 24 * 3600.0
AN_HOUR = 3600.0
_KEEP = """
    INSERT OR IGNORE INTO blobs SELECT ?1, ?2, pack(?3)
    WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE revision = ?1)
"""
_HEAD = """
    SELECT id FROM versions JOIN blobs USING (revision) WHERE path = ?1
    ORDER BY id DESC LIMIT 1
"""
_KEEP_HEAD = f"UPDATE versions SET kept = 1 WHERE id = ({_HEAD}) AND revision = ?2"
_SET_INO = f"UPDATE versions SET ino = ?3 WHERE id = ({_HEAD}) AND revision = ?2 AND ?3 != 0"
_ADD = f"""
    INSERT INTO versions(path, revision, at, by, kept) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE EXISTS (SELECT 1 FROM blobs WHERE revision = ?2)
    AND ?2 IS NOT (SELECT revision FROM versions WHERE id = ({_HEAD}))
"""
LAST_SEEN = f"""
    SELECT EXISTS (
        SELECT 1 FROM unjudged JOIN versions ON id = version JOIN blobs USING (revision)
    ), (SELECT value FROM state WHERE name = ?2),
    path, revision, at, by, kept, size, id, ino
    FROM (SELECT 1) LEFT JOIN (
        SELECT path, revision, at, by, kept, size, id, ino
        FROM versions JOIN blobs USING (revision) WHERE id = ({_HEAD})
    )
"""
"""Of a path and the name of a state: whether any save of any note is unjudged, the value of the
state, and the newest version of the path"""
IS_OURS = f"""
    SELECT coalesce(
        (SELECT by = 'bot' FROM versions WHERE id = ({_HEAD}) AND revision = ?2),
        EXISTS (SELECT 1 FROM ops WHERE phase = 'planned' AND path = ?1 AND fresh = ?2)
    )
"""
"""Of a path and a revision: whether a write of ours put it in place, or is about to"""
_ADD_UNJUDGED = """
    INSERT INTO unjudged SELECT last_insert_rowid()
    WHERE changes() AND EXISTS (SELECT 1 FROM versions WHERE path = ? AND by = 'bot')
"""
_UNJUDGED_AT = """
    INSERT OR IGNORE INTO unjudged
    SELECT id FROM versions AS seen WHERE path = ?1 AND by = 'person' AND EXISTS (
        SELECT 1 FROM versions WHERE path = ?2 AND by = 'bot' AND id < seen.id
    )
"""
_LAST = """
    SELECT path, revision, ino FROM (
        SELECT path, revision, ino, max(id) FROM versions WHERE path > ?
        GROUP BY path ORDER BY path LIMIT 5000
    )
"""
_RENAMED_BEFORE = """
    path != ? AND path IN (SELECT path FROM versions WHERE revision = ?)
    AND id <= (
        SELECT max(id) FROM versions other
        WHERE other.path = versions.path AND other.revision = ?
    )
    ORDER BY id DESC
"""
_GONE_BACK = """
    WITH last AS (SELECT path, max(id) AS id FROM versions GROUP BY path)
    SELECT path, head.revision, (
        SELECT revision FROM versions AS before
        WHERE before.path = head.path AND before.id < head.id
        ORDER BY before.id DESC LIMIT 1
    )
    FROM last JOIN versions AS head USING (path, id)
    WHERE EXISTS (
        SELECT 1 FROM versions AS before
        WHERE before.path = head.path
        AND before.revision = head.revision
        AND before.id < head.id
    )
    AND head.by = 'person'
    ORDER BY path
"""
_PRUNABLE = f"""
    SELECT id, path, at, kept FROM versions WHERE path IN (
        SELECT path FROM versions GROUP BY path HAVING count(*) > 1
        OR {" OR ".join(f"path LIKE '%{word}%'" for word in WORDS)}
    ) ORDER BY path, id DESC
"""
"""The versions of paths that have several, and of conflict copies; the newest first"""
_DROP_UNUSED = """
    DELETE FROM blobs WHERE revision IN (
        SELECT revision FROM blobs WHERE revision NOT IN (SELECT revision FROM versions)
    )
    AND revision NOT IN (SELECT revision FROM trash)
    AND revision NOT IN (SELECT incorporated FROM displaced)
    AND revision NOT IN (
        SELECT base FROM ops WHERE base IS NOT NULL
        UNION SELECT content FROM ops
        UNION SELECT expected FROM ops WHERE expected IS NOT NULL
        UNION SELECT fresh FROM ops
    )
"""


def revision_of(raw: bytes) -> str:
    """Returns the SHA-256 of the bytes, 64 hex digits."""
    return sha256(raw).hexdigest()


@dataclass(frozen=True, slots=True)
class Version:
    """One version in the chain of a path."""

    path: str
    revision: str
    at: float
    by: By
    kept: int
    """1 when a write of the bot was based on it, or made it"""
    size: int
    id: int = 0
    """Position in the order in which the versions of a vault were seen"""
    ino: int = 0
    """Inode of the file when it was seen; 0 when it is unknown"""


class Snapshots:
    """The chains and the bytes. Changes belong within a transaction of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    # --- Bytes ---

    def keep(self, raw: bytes, revision: str | None = None) -> str:
        """Stores bytes. Returns their revision."""
        revision = revision or revision_of(raw)
        self._journal.change(_KEEP, (revision, len(raw), raw))
        return revision

    def knows(self, revision: str) -> bool:
        """Whether the bytes of this revision are stored."""
        return bool(self._journal.first("SELECT 1 FROM blobs WHERE revision = ?", (revision,)))

    def bytes_of(self, revision: str | None) -> bytes | None:
        """Returns the bytes of a revision; None when they are not stored."""
        query = "SELECT packed FROM blobs WHERE revision = ?"
        row = self._journal.first(query, (revision,))
        if row is None:
            return None
        try:
            return zlib.decompress(row[0])
        except zlib.error as error:
            # Fault (B45): a disk changed bytes of a long value. SQLite has no checksum
            # that would notice.
            self._journal.repair(f"a version cannot be unpacked: {error}")
            return None

    def drop_unused(self) -> None:
        """Deletes bytes that no row names; call it within a transaction."""
        # Fault (A5): pending writes and displaced files name bytes that are in no chain
        # yet. Without those bytes no late save can be merged.
        self._journal.change(_DROP_UNUSED)

    # --- Adding versions ---

    def add(self, path: str, revision: str, *, at: float, by: By, kept: bool = False) -> None:
        """Adds a version to the chain of a path, if its bytes are stored.

        The same revision as the newest one adds nothing.
        """
        if kept:
            self._journal.change(_KEEP_HEAD, (path, revision))
        self._journal.change(_ADD, (path, revision, at, by, int(kept)))
        # Fault (A7): an editor that loaded the note before the bot's write drops the
        # bot's lines by its save.
        if by == "person":
            self._journal.change(_ADD_UNJUDGED, (path,))

    def note_file(self, path: str, revision: str, ino: int) -> None:
        """Stores the inode of the file that has the newest version of a path."""
        self._journal.change(_SET_INO, (path, revision, ino))

    def record(self, path: str, raw: bytes, *, at: float, by: By = "person") -> str:
        """Adds a version that was seen, in a transaction of its own. Returns its revision."""
        revision = revision_of(raw)
        last = self.head(path)
        # A commit waits for the disk: a version that is stored already must not cause one.
        if last is None or last.revision != revision:
            with self._journal.transaction():
                self.keep(raw, revision)
                self.add(path, revision, at=at, by=by)
        return revision

    def record_all(
        self, versions: Iterable[tuple[str, bytes]], *, at: float, by: By = "person"
    ) -> None:
        """Adds many versions (path, bytes) that were seen, in one transaction."""
        with self._journal.transaction():
            for path, raw in versions:
                self.add(path, self.keep(raw), at=at, by=by)

    def record_notes(self, notes: Iterable[Note], *, at: float) -> None:
        """Adds versions of notes that people saved, in one transaction."""
        with self._journal.transaction():
            for note in notes:
                revision = self.keep(note.raw, note.revision)
                self.add(note.path, revision, at=at, by="person")
                self.note_file(note.path, revision, note.stat.ino)

    def adopt(self, versions: Iterable[tuple[str, bytes]], *, at: float) -> None:
        """Adds the versions of a restored vault."""
        with self._journal.transaction():
            for path, raw in versions:
                self.add(path, self.keep(raw), at=at, by="person", kept=True)
            # Fault (B46): a backup lacks lines that no person deleted. Judged as saves,
            # these versions would make the bot believe so.
            self._journal.change("DELETE FROM unjudged")

    # --- Reading versions ---

    def wrote(self, revision: str) -> bool:
        """Whether a write of ours put this revision into some note."""
        query = "SELECT 1 FROM versions WHERE revision = ? AND by = 'bot'"
        return self._journal.first(query, (revision,)) is not None

    def head(self, path: str) -> Version | None:
        """Returns the newest version of a path that was seen."""
        return next(iter(self._chain(path, "DESC LIMIT 1")), None)

    def chain(self, path: str) -> list[Version]:
        """Returns all stored versions of a path, the newest first."""
        return self._chain(path, "DESC")

    def before(self, path: str, revision: str) -> list[Version]:
        """Returns the history under other names of a note that was renamed to this path.

        It begins with the version of this revision, and goes back in time.
        """
        return self._versions(_RENAMED_BEFORE, path, revision, revision)

    def last_seen(self) -> Iterator[tuple[str, str, int]]:
        """Yields each path that has a chain with its newest revision and its inode, by path."""
        path = ""
        while rows := list(self._journal.execute(_LAST, (path,))):
            yield from rows
            path = rows[-1][0]

    def paths_with(self, revision: str) -> set[str]:
        """Returns the paths that had this revision."""
        rows = self._journal.execute(
            "SELECT DISTINCT path FROM versions WHERE revision = ?", (revision,)
        )
        return {str(path) for (path,) in rows}

    def is_later(self, path: str, than: str) -> bool:
        """Whether a path was first seen after the other one was last seen."""
        row = self._journal.first(
            "SELECT (SELECT min(id) FROM versions WHERE path = ?)"
            " > (SELECT max(id) FROM versions WHERE path = ?)",
            (path, than),
        )
        return bool(row and row[0])

    def rename(self, old: str, new: str) -> None:
        """Gives the versions of a path to another one; call it within a transaction."""
        # Fault (A7): a person deleted lines of the bot in the save that also renamed
        # the note. That save is judged like any other.
        self._journal.change(_UNJUDGED_AT, (new, old))
        self._journal.change("UPDATE versions SET path = ? WHERE path = ?", (new, old))

    def paths(self) -> list[str]:
        """Returns all paths that have a chain."""
        rows = self._journal.execute("SELECT DISTINCT path FROM versions ORDER BY path")
        return [str(path) for (path,) in rows]

    def gone_back(self) -> list[tuple[str, str, str]]:
        """Returns the paths whose newest version repeats an older one, as a backup does.

        Each comes with its newest revision, and with the revision that it replaced.
        """
        rows = self._journal.execute(_GONE_BACK)
        return [(str(path), str(now), str(newer)) for path, now, newer in rows]

    def edited_paths(self) -> frozenset[str]:
        """Returns the paths of which more than one text is known."""
        rows = self._journal.execute(
            "SELECT path FROM versions GROUP BY path HAVING count(DISTINCT revision) > 1"
        )
        return frozenset(str(path) for (path,) in rows)

    def newest(self) -> float | None:
        """Returns when the newest of all versions was seen."""
        newest: float | None = self._journal.first(
            "SELECT max(at) FROM versions WHERE id > (SELECT max(id) - 50 FROM versions)"
        )[0]
        return newest

    # --- Saves over the bot's text ---

    def unjudged(self) -> list[Version]:
        """Returns the versions that people saved over the bot's text, until they are `judged`."""
        return self._versions("id IN (SELECT version FROM unjudged) ORDER BY id")

    def judged(self, version: Version) -> None:
        """Notes that this save was compared with the bot's text."""
        with self._journal.transaction():
            self._journal.change("DELETE FROM unjudged WHERE version = ?", (version.id,))

    # --- Age ---

    def prune(self, now: float) -> int:
        """Deletes versions that are too old. Returns how many were deleted."""
        outdated = _outdated(self._journal.execute(_PRUNABLE), now)
        with self._journal.transaction():
            for version in outdated:
                self._journal.change("DELETE FROM versions WHERE id = ?", (version,))
            self.drop_unused()
        return len(outdated)

    def _chain(self, path: str, order: str) -> list[Version]:
        return self._versions(f"path = ? ORDER BY id {order}", path)

    def _versions(self, condition: str, *values: str) -> list[Version]:
        rows = self._journal.execute(
            "SELECT path, revision, at, by, kept, size, id, ino"
            f" FROM versions JOIN blobs USING (revision) WHERE {condition}",
            values,
        )
        return [Version(*row) for row in rows]


def _outdated(rows: Iterable[tuple[Any, ...]], now: float) -> list[int]:
    """Returns the ids of the versions to delete; the rows are ordered by path, the newest first."""
    outdated = []
    path = ""
    covered_hour = -1
    for version, version_path, at, is_pinned in rows:
        is_head = version_path != path
        if is_head:
            path = version_path
            covered_hour = -1
        age = now - at
        hour = int(at // AN_HOUR)
        # A conflict copy that was resolved leaves nothing behind.
        is_copy = conflict_copy(version_path.rpartition("/")[2]) is not None
        is_first_of_hour = hour != covered_hour
        longest = KEPT_FOR if is_pinned or is_first_of_hour else ALL_FOR
        is_spared = is_head and not is_copy
        if not is_spared and age > longest:
            outdated.append(version)
        elif is_head or age > ALL_FOR:
            covered_hour = hour
    return outdated
