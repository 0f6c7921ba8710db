"""What the index holds of each note, and the one way it changes: a note whole, or not at all."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.database.connection import (
    Connection,
    DatabaseUnwritable,
    change_counter,
    connect,
)
from vault_memory.database.migrations import migrate, version_of
from vault_memory.errors import IndexTooNew
from vault_memory.index import chunk_rows as chunks
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.delta_cache import DeltaCache, chunk_span
from vault_memory.index.schema import STEPS
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.index import fact_rows as facts
    from vault_memory.index import mention_rows
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.rules.facts.fact import Fact
else:
    facts = lazy_module("vault_memory.index.fact_rows")
    mention_rows = lazy_module("vault_memory.index.mention_rows")


GROWS_BACK = (
    "rebuild it with `vault-memory index --rebuild` (the notes are not touched)"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class State(IntEnum):
    """How much is concluded from what the index holds of a note."""

    HOT = 0
    """the text is searchable; it may still be changing, so nothing is embedded"""
    SETTLED = 1
    """the text has stood still; vectors are computed"""
    MISSING = 2
    """the file is absent or empty at the moment: its old text is kept for a while, and answers name it as stale"""


class IndexedFile(NamedTuple):
    """What the index holds of one note: the facts by which a change is noticed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    revision: str
    """SHA-256 of the note's bytes, hex"""
    state: int
    """one of `State`"""


class IndexEntry(NamedTuple):
    """A note as it is to be put into the index."""

    path: str
    scope: str
    kind: str
    date: str | None
    """of the note's name, ISO 8601"""
    bytes: int
    file: IndexedFile
    chunks: "Sequence[Chunk]"
    also: Sequence[str] = ()
    """of each chunk the scope it is in besides that of the note, often empty; empty when no chunk is in another"""
    facts: "Sequence[Fact]" = ()


class Index:
    """One file with what was read from one vault. One thread at a time uses one Index; a file may have many."""

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        """Open the index, and make or migrate it. Raises IndexTooNew, DatabaseDamaged."""
        self.path = str(path)
        self.alone = False
        """whether other processes are kept out, because there is no room for what they would share"""
        self.connection: Connection = self._connected(path, create)
        if version_of(self.connection) > len(STEPS):
            found = version_of(self.connection)
            self.connection.close()
            raise IndexTooNew(found, len(STEPS))
        migrate(self.connection, STEPS)
        self._scopes: dict[str, int] = {}
        self._recent = DeltaCache()

    def _connected(self, path: Path | str, create: bool) -> Connection:
        try:
            return connect(path, create=create, hint=GROWS_BACK)
        except DatabaseUnwritable:
            if create or not Path(path).exists():
                raise
            self.alone = True
            return connect(path, create=False, alone=True, hint=GROWS_BACK)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is written, or nothing. The write lock is taken at once, so that what is read holds."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self._scopes.clear()  # an id given inside may be given to another scope next
            self._recent.forget()
            if self.connection.in_transaction:  # a full disk may have ended it already
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever others write meanwhile."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    # ---- meta -------------------------------------------------------------------------------------------------

    def get(self, key: str) -> str:
        """A remembered value; empty when there is none."""
        row = self.connection.execute(
            "SELECT value FROM meta WHERE key = ?", (key,)
        ).fetchone()
        return str(row[0]) if row else ""

    def set(self, key: str, value: str) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)
        )

    @property
    def change_counter(self) -> int:
        """A number that differs whenever anything in the file was changed, by any process."""
        return change_counter(self.connection)

    # ---- scopes -----------------------------------------------------------------------------------------------

    def scope_ids(self, names: Sequence[str]) -> list[int]:
        """The ids of those of `names` that the index knows; compared byte by byte."""
        asked = [
            (name,) for name in dict.fromkeys(names) if not _SURROGATE.search(name)
        ]  # SQLite has no such text
        return [
            row[0]
            for row in self.connection.executemany(
                "SELECT id FROM scope WHERE name = ?", asked
            )
        ]

    def scopes(self) -> list[str]:
        """The names of all scopes that have a note, sorted."""
        rows = self.connection.execute(
            "SELECT name FROM scope s WHERE EXISTS (SELECT 1 FROM note WHERE scope = s.id) ORDER BY name"
        )
        return [row[0] for row in rows]

    def speakers(self) -> frozenset[tuple[str, bool]]:
        """Each scope that has a note, and whether that is a transcript; both, where it has notes and transcripts."""
        rows = self.connection.execute(
            "SELECT DISTINCT scope.name, note.kind = 'transcript' FROM note JOIN scope ON scope.id = note.scope"
        )
        return frozenset((name, bool(is_transcript)) for name, is_transcript in rows)

    def _scope_id(self, name: str) -> int:
        if name not in self._scopes:
            self.connection.execute(
                "INSERT OR IGNORE INTO scope(name) VALUES (?)", (name,)
            )
            row = self.connection.execute(
                "SELECT id FROM scope WHERE name = ?", (name,)
            ).fetchone()
            assert row is not None
            self._scopes[name] = row[0]
        return self._scopes[name]

    def _scope_ids(self, names: Sequence[str]) -> list[int | None]:
        return [self._scope_id(name) if name else None for name in names]

    # ---- notes ------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, IndexedFile]:
        """What is held of every note, by path."""
        rows = self.connection.execute(
            "SELECT path, size, mtime_ns, ctime_ns, ino, revision, state FROM note"
        )
        return {row[0]: IndexedFile._make(row[1:]) for row in rows}

    def files_within(self, paths: Sequence[str]) -> dict[str, IndexedFile]:
        """What is held of the notes at these paths and below them; "" is the vault."""
        if "" in paths:
            return self.files()
        query = (
            "SELECT path, size, mtime_ns, ctime_ns, ino, revision, state FROM note"
            " WHERE path = ?1 UNION ALL SELECT path, size, mtime_ns, ctime_ns, ino, revision, state FROM note"
            " WHERE path > ?1 || '/' AND path < ?1 || '0'"  # "0" comes after "/"
        )
        return {
            row[0]: IndexedFile._make(row[1:])
            for path in paths
            for row in self.connection.execute(query, (path,))
        }

    def files_after(self, path: str, limit: int) -> list[tuple[str, IndexedFile]]:
        """What is held of the next notes after this one, in the order of their paths."""
        rows = self.connection.execute(
            "SELECT path, size, mtime_ns, ctime_ns, ino, revision, state FROM note"
            " WHERE path > ? ORDER BY path LIMIT ?",
            (path, limit),
        )
        return [(row[0], IndexedFile._make(row[1:])) for row in rows]

    def indexed_paths(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of these paths that it holds a note of, or that are parked."""
        marks = ",".join("?" * len(paths))
        query = f"SELECT path FROM note WHERE path IN ({marks}) UNION ALL SELECT path FROM parked WHERE path IN ({marks})"
        return frozenset(
            row[0] for row in self.connection.execute(query, (*paths, *paths))
        )

    def file(self, path: str) -> IndexedFile | None:
        row = self.connection.execute(
            "SELECT size, mtime_ns, ctime_ns, ino, revision, state FROM note WHERE path = ?",
            (path,),
        ).fetchone()
        return IndexedFile._make(row) if row else None

    def revisions(self) -> Iterator[tuple[str, str]]:
        """Each note with the revision that it holds, in the order of the paths."""
        yield from self.connection.execute(
            "SELECT path, revision FROM note ORDER BY path"
        )

    def revision_of(self, path: str) -> str:
        """The revision of a note that it holds; empty when it holds none."""
        row = self.connection.execute(
            "SELECT revision FROM note WHERE path = ?", (path,)
        ).fetchone()
        return str(row[0]) if row else ""

    def bytes_of(self, path: str) -> int:
        """The length of the bytes that it holds of a note; 0 when it holds none."""
        row = self.connection.execute(
            "SELECT bytes FROM note WHERE path = ?", (path,)
        ).fetchone()
        return row[0] if row else 0

    def stale(self) -> list[str]:
        """The notes whose old text is held although their file is absent or empty."""
        rows = self.connection.execute(
            f"SELECT path FROM note WHERE state = {State.MISSING:d} ORDER BY path"
        )
        return [row[0] for row in rows]

    def set_state(self, path: str, state: State) -> None:
        self.connection.execute(
            "UPDATE note SET state = ? WHERE path = ?", (state, path)
        )

    def touch(self, path: str, held: IndexedFile) -> None:
        """The bytes are what they were; only what the file system says of the file is new."""
        self.connection.execute(
            "UPDATE note SET size=?, mtime_ns=?, ctime_ns=?, ino=?, revision=?, state=? WHERE path=?",
            (*held, path),
        )

    def put(self, entry: IndexEntry) -> Delta:
        """Make the index say of this note what `entry` says. Call it inside a transaction."""
        scope = self._scope_id(entry.scope)
        row = self.connection.execute(
            "SELECT id, scope, revision FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        if row is not None and row[1] != scope:
            self.remove(entry.path)
            row = None
        before = self._recent.before(entry, row[2]) if row else None
        self._recent.keep(entry)
        held = entry.file
        if row is None:
            self.connection.execute(
                "INSERT INTO note(path, scope, kind, date, bytes, size, mtime_ns, ctime_ns, ino, revision, state)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (entry.path, scope, entry.kind, entry.date, entry.bytes, *held),
            )
            note = self.connection.last_insert_rowid()
            also = self._scope_ids(entry.also)
            self._put_graph(note, scope, entry, also)
            return chunks.replace(
                self.connection,
                note,
                scope,
                entry.chunks,
                entry.date,
                also=also,
                new=True,
            )
        note = row[0]
        self.connection.execute(
            "UPDATE note SET kind=?, date=?, bytes=? WHERE id=?",
            (entry.kind, entry.date, entry.bytes, note),
        )
        self.touch(entry.path, held)
        if before is not None:
            return self._put_difference(note, scope, before, entry)
        also = self._scope_ids(entry.also)
        mention_rows.remove_mentions(self.connection, note)
        self._put_graph(note, scope, entry, also)
        return chunks.replace(
            self.connection, note, scope, entry.chunks, entry.date, also=also
        )

    def put_marked(self, entry: IndexEntry, marked: IndexedFile) -> None:
        """Make a row for a note that is written in slices, or mark the one there is. Call it inside a transaction."""
        scope = self._scope_id(entry.scope)
        self.connection.execute(
            "INSERT OR IGNORE INTO note(path, scope, kind, date, bytes, size, mtime_ns, ctime_ns, ino, revision, state)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (entry.path, scope, entry.kind, entry.date, entry.bytes, *marked),
        )
        self.touch(entry.path, marked)

    def finish_marked(self, entry: IndexEntry) -> None:
        """All chunks of a marked note are there: write what else is said of it. Call it inside a transaction."""
        row = self.connection.execute(
            "SELECT id, scope FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        assert row is not None, "only a marked note is finished"
        self.connection.execute(
            "UPDATE note SET kind=?, date=?, bytes=? WHERE id=?",
            (entry.kind, entry.date, entry.bytes, row[0]),
        )
        mention_rows.remove_mentions(self.connection, row[0])
        self._put_graph(row[0], row[1], entry, self._scope_ids(entry.also))
        self.touch(entry.path, entry.file)

    def scope_of(self, path: str) -> str:
        """The scope of a note that it holds; empty when it holds none."""
        row = self.connection.execute(
            "SELECT scope.name FROM note JOIN scope ON scope.id = note.scope WHERE path = ?",
            (path,),
        ).fetchone()
        return str(row[0]) if row else ""

    def scope_id(self, name: str) -> int:
        """The id of a scope, given to it now if it is new. Call it inside a transaction."""
        return self._scope_id(name)

    def other_scopes(self, entry: IndexEntry) -> list[int | None]:
        """Of each chunk the id of its other scope; empty when none has one. Call it inside a transaction."""
        return self._scope_ids(entry.also)

    def chunk_count(self, path: str) -> int:
        """How many chunks it holds of a note."""
        row = self.connection.execute(
            "SELECT count(*) FROM chunk WHERE note = (SELECT id FROM note WHERE path = ?)",
            (path,),
        ).fetchone()
        return row[0] if row else 0

    def _put_difference(
        self, note: int, scope: int, before: IndexEntry, entry: IndexEntry
    ) -> Delta:
        """Where the rows say what `before` says."""
        span = chunk_span(before.chunks, entry.chunks)
        gone, fresh = (
            before.chunks[span.first : span.last],
            entry.chunks[span.first : span.until],
        )
        mention_rows.change_mentions(self.connection, note, scope, gone, fresh)
        facts.change(self.connection, note, scope, before.facts, entry.facts)
        return chunks.replace(
            self.connection, note, scope, entry.chunks, entry.date, span=span
        )

    def _put_graph(
        self, note: int, scope: int, entry: IndexEntry, also: Sequence[int | None]
    ) -> None:
        if entry.facts or entry.kind == "facts":
            facts.replace(self.connection, note, scope, entry.facts)
        mention_rows.add_mentions(self.connection, note, scope, entry.chunks, also)

    def extend(self, entry: IndexEntry) -> Delta:
        """What `entry` has stands at the end of a note that the index holds. Call it inside a transaction."""
        row = self.connection.execute(
            "SELECT id, scope FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        assert row is not None, "only what is held is extended"
        self.connection.execute(
            "UPDATE note SET bytes = ? WHERE id = ?", (entry.bytes, row[0])
        )
        self.touch(entry.path, entry.file)
        also = self._scope_ids(entry.also)
        mention_rows.add_mentions(self.connection, row[0], row[1], entry.chunks, also)
        return chunks.append(
            self.connection, row[0], row[1], entry.chunks, entry.date, also
        )

    def remove(self, path: str) -> Delta:
        """Forget what was read from `path`. Call it inside a transaction."""
        row = self.connection.execute(
            "SELECT id FROM note WHERE path = ?", (path,)
        ).fetchone()
        if row is None:
            return Delta()
        delta = chunks.replace(self.connection, row[0], 0, (), None)
        facts.remove(self.connection, row[0])
        self.connection.execute("DELETE FROM note WHERE id = ?", (row[0],))
        return delta

    # ---- parked -----------------------------------------------------------------------------------------------

    def parked(self) -> dict[str, tuple[str, str]]:
        """Files that are memory and are not read, each with its reason and the stamp of the file it was said of."""
        return {
            row[0]: (row[1], row[2])
            for row in self.connection.execute("SELECT path, reason, stamp FROM parked")
        }

    def park(self, path: str, reason: str, stamp: str) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO parked VALUES (?, ?, ?)", (path, reason, stamp)
        )

    def unpark(self, path: str) -> None:
        self.connection.execute("DELETE FROM parked WHERE path = ?", (path,))

    def count_notes(self) -> int:
        """How many notes; cheaper than counting their chunks, too."""
        [(count,)] = self.connection.execute("SELECT count(*) FROM note")
        return int(count)

    def counts(self) -> tuple[int, int]:
        """How many notes and how many chunks."""
        row = self.connection.execute(
            "SELECT (SELECT count(*) FROM note), (SELECT count(*) FROM chunk)"
        ).fetchone()
        assert row is not None
        return row[0], row[1]
