"""Stores notes in the index. A note is written completely or not at all."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.database.connection import (
    BUSY_MILLISECONDS,
    Connection,
    DatabaseUnwritable,
    change_counter,
    connect,
)
from vault_memory.database.migrations import migrate, version_of
from vault_memory.errors import IndexTooNew
from vault_memory.index import chunk_rows as chunks
from vault_memory.index import fact_rows as facts
from vault_memory.index import mention_rows
from vault_memory.index.chunk_rows import Delta, NoteChunks, chunk_span
from vault_memory.index.delta_cache import DeltaCache
from vault_memory.index.properties import property_rows
from vault_memory.index.schema import STEPS

if TYPE_CHECKING:
    from vault_memory.markdown.chunking.chunk_text import Chunk
    from vault_memory.markdown.properties.note_properties import Property
    from vault_memory.rules.facts.fact import Fact


REBUILD_HINT = "rebuild it with `vault-memory index --rebuild` (the notes are not touched)"
_SURROGATE = re.compile("[\ud800-\udfff]")
_FILE_COLUMNS = "size, mtime_ns, ctime_ns, ino, revision, state"
"""The columns of an IndexedFile"""
_INSERT_NOTE = (
    f"INSERT INTO note(path, scope, kind, date, bytes, name, {_FILE_COLUMNS})"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
)


class State(IntEnum):
    """How far the text of a note in the index may be trusted."""

    HOT = 0
    """The text is searchable; it may still be changing, so nothing is embedded"""
    SETTLED = 1
    """The text does not change any more; vectors are computed"""
    MISSING = 2
    """The file is absent or empty now: its old text is kept for a while, and answers call it stale"""


class IndexedFile(NamedTuple):
    """The file of a note as it was indexed: the values by which a change is noticed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    revision: str
    """SHA-256 of the note's bytes, hex"""
    state: int
    """One of `State`"""


class IndexEntry(NamedTuple):
    """A note to be written into the index."""

    path: str
    scope: str
    kind: str
    date: str | None
    """The date in the name of the note, ISO 8601"""
    bytes: int
    file: IndexedFile
    chunks: "Sequence[Chunk]"
    also: Sequence[str] = ()
    """The second scope of each chunk, often empty; no entries when no chunk has one"""
    facts: "Sequence[Fact]" = ()
    properties: "Sequence[Property]" = ()


class Index:
    """The index file of one vault. One thread at a time uses an Index; a file may have many."""

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        """Open the index, and create or migrate it. Raises IndexTooNew, DatabaseDamaged."""
        self.path = str(path)
        self.alone = False
        """Whether other processes are locked out, because the disk has no room for shared memory"""
        self.connection: Connection = self._connected(path, create)
        version = version_of(self.connection)
        if version > len(STEPS):
            self.connection.close()
            raise IndexTooNew(version, len(STEPS))
        migrate(self.connection, STEPS)
        self._scopes: dict[str, int] = {}
        self._recent = DeltaCache()

    def _connected(self, path: Path | str, create: bool) -> Connection:
        try:
            return connect(path, create=create, hint=REBUILD_HINT)
        except DatabaseUnwritable:
            # Fault (B39): on a full disk an existing index can still be read, by one
            # process.
            if create or not Path(path).exists():
                raise
            self.alone = True
            return connect(path, create=False, alone=True, hint=REBUILD_HINT)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing. The write lock is taken at once, so reads stay true.

        Inside of another transaction it is a part of that one.
        """
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            # Fault (H124): the id of a scope that was rolled back may be given to
            # another scope next. Cached, it would open that one.
            self._scopes.clear()
            self._recent.forget()
            # Fault (B39): a full disk may have ended the transaction already.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the index inside, whatever other processes write; it may be nested."""
        self.connection.execute("SAVEPOINT reading")
        try:
            yield
        finally:
            # Fault: an error of the disk may have ended the transaction already.
            if self.connection.in_transaction:
                self.connection.execute("RELEASE reading")

    @contextmanager
    def waiting(self, milliseconds: int) -> Iterator[None]:
        """Inside, wait so long for other writers instead of the usual time."""
        self.connection.set_busy_timeout(milliseconds)
        try:
            yield
        finally:
            self.connection.set_busy_timeout(BUSY_MILLISECONDS)

    # --- Meta ---

    def get(self, key: str) -> str:
        """Return a stored value; empty without any."""
        return str(_value(self.connection, "SELECT value FROM meta WHERE key = ?", key) or "")

    def set(self, key: str, value: str) -> None:
        """Store a value under a key."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def change_counter(self) -> int:
        """A number that changes with every change of the file, by any process."""
        return change_counter(self.connection)

    # --- Scopes ---

    def scope_ids(self, names: Sequence[str]) -> list[int]:
        """Return the ids of the scopes with these names; names are compared byte by byte."""
        # Fault (F109): SQLite cannot store surrogates, so no scope has such a name.
        valid = [name for name in dict.fromkeys(names) if not _SURROGATE.search(name)]
        rows = self.connection.execute(
            "SELECT s.id FROM json_each(?) wanted CROSS JOIN scope s ON s.name = wanted.value",
            (json.dumps(valid),),
        )
        return [row[0] for row in rows]

    def scopes(self) -> list[str]:
        """Return the names of all scopes that have a note, sorted."""
        rows = self.connection.execute(
            "SELECT name"
            " FROM scope s"
            " WHERE EXISTS (SELECT 1 FROM note WHERE scope = s.id)"
            " ORDER BY name"
        )
        return [row[0] for row in rows]

    def speakers(self) -> frozenset[tuple[str, bool]]:
        """Return each scope that has a note, and whether that is a transcript.

        A scope with notes and transcripts is there twice.
        """
        rows = self.connection.execute(
            "SELECT DISTINCT scope.name, note.kind = 'transcript'"
            " FROM note"
            " JOIN scope ON scope.id = note.scope"
        )
        return frozenset((name, bool(is_transcript)) for name, is_transcript in rows)

    def scope_id(self, name: str) -> int:
        """Return the id of a scope, which is added if it is new. Call it inside a transaction."""
        if name not in self._scopes:
            self.connection.execute("INSERT OR IGNORE INTO scope(name) VALUES (?)", (name,))
            scope_id = _value(self.connection, "SELECT id FROM scope WHERE name = ?", name)
            self._scopes[name] = scope_id
        return self._scopes[name]

    # --- Notes ---

    def files(self) -> dict[str, IndexedFile]:
        """Return the indexed file of every note, by path."""
        return dict(self.files_within([""]))

    def files_within(self, paths: Sequence[str]) -> Iterator[tuple[str, IndexedFile]]:
        """Yield the indexed files at these paths and below them; "" is the vault."""
        notes = f"SELECT path, {_FILE_COLUMNS} FROM note"
        # "0" is the letter after "/", so this is the range of paths below a folder.
        query = (
            f"{notes} WHERE path = ?1 UNION ALL {notes} WHERE path > ?1 || '/' AND path < ?1 || '0'"
        )
        for path in paths:
            rows = self.connection.execute(*((query, (path,)) if path else (notes,)))
            for row in rows:
                yield row[0], IndexedFile._make(row[1:])

    def files_after(self, path: str, limit: int) -> list[tuple[str, IndexedFile]]:
        """Return the indexed files of the next `limit` notes after a path, in order."""
        rows = self.connection.execute(
            f"SELECT path, {_FILE_COLUMNS} FROM note WHERE path > ? ORDER BY path LIMIT ?",
            (path, limit),
        )
        return [(row[0], IndexedFile._make(row[1:])) for row in rows]

    def indexed_paths(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the paths that have an indexed note, or that are parked."""
        marks = ",".join("?" * len(paths))
        query = (
            "SELECT path"
            " FROM note"
            f" WHERE path IN ({marks})"
            " UNION ALL SELECT path"
            " FROM parked"
            f" WHERE path IN ({marks})"
        )
        return frozenset(row[0] for row in self.connection.execute(query, (*paths, *paths)))

    def file(self, path: str) -> IndexedFile | None:
        """Return the indexed file of a note; None when the note is not indexed."""
        row = self.connection.execute(
            f"SELECT {_FILE_COLUMNS} FROM note WHERE path = ?", (path,)
        ).fetchone()
        return IndexedFile._make(row) if row else None

    def revisions(self) -> Iterator[tuple[str, str]]:
        """Yield each path with its indexed revision, in order."""
        yield from self.connection.execute("SELECT path, revision FROM note ORDER BY path")

    def revision_of(self, path: str) -> str:
        """Return the indexed revision of a note; empty when the note is not indexed."""
        sql = "SELECT revision FROM note WHERE path = ?"
        return str(_value(self.connection, sql, path) or "")

    def bytes_of(self, path: str) -> int:
        """Return the indexed length of a note in bytes; 0 when the note is not indexed."""
        return _value(self.connection, "SELECT bytes FROM note WHERE path = ?", path) or 0

    def stale(self) -> list[str]:
        """Return the notes whose old text is kept although their file is absent or empty."""
        rows = self.connection.execute(
            f"SELECT path FROM note WHERE state = {State.MISSING:d} ORDER BY path"
        )
        return [row[0] for row in rows]

    def set_state(self, path: str, state: State) -> None:
        self.connection.execute("UPDATE note SET state = ? WHERE path = ?", (state, path))

    def touch(self, path: str, file: IndexedFile) -> None:
        """Replace the indexed file of a note, whose text has not changed."""
        self.connection.execute(
            "UPDATE note"
            " SET size=?, mtime_ns=?, ctime_ns=?, ino=?, revision=?, state=?"
            " WHERE path=?",
            (*file, path),
        )

    def put(self, entry: IndexEntry) -> Delta:
        """Write a note, and only where it differs. Call it inside a transaction."""
        scope = self.scope_id(entry.scope)
        row = self.connection.execute(
            "SELECT id, scope, revision FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        if row is not None and row[1] != scope:
            self.remove(entry.path)
            row = None
        previous = self._recent.before(entry, row[2]) if row else None
        if row is None:
            return self.put_new([entry])
        self._recent.keep(entry)
        note = row[0]
        self._update_note(note, entry)
        if previous is not None:
            return self._put_difference(note, scope, previous, entry)
        also = self.other_scopes(entry)
        mention_rows.remove_mentions(self.connection, note)
        self._put_graph(note, scope, entry, also)
        content = NoteChunks(note, scope, entry.chunks, entry.date, also)
        return chunks.replace(self.connection, content)

    def put_new(self, entries: Iterable[IndexEntry]) -> Delta:
        """Write notes that are not indexed. Call it inside a transaction."""
        contents: list[NoteChunks] = []
        for entry in entries:
            self._recent.keep(entry)
            scope = self.scope_id(entry.scope)
            values = (entry.path, scope, *_columns(entry), *entry.file)
            self.connection.execute(_INSERT_NOTE, values)
            note = self.connection.last_insert_rowid()
            also = self.other_scopes(entry)
            self._put_graph(note, scope, entry, also, is_new=True)
            contents.append(NoteChunks(note, scope, entry.chunks, entry.date, also))
        return chunks.insert(self.connection, contents)

    def _update_note(self, note: int, entry: IndexEntry) -> None:
        self.connection.execute(
            "UPDATE note SET kind=?, date=?, bytes=?, audits='?' WHERE id=?",
            (entry.kind, entry.date, entry.bytes, note),
        )
        self.touch(entry.path, entry.file)

    def put_marked(self, entry: IndexEntry, marked: IndexedFile) -> None:
        """Insert a note that is written in slices, or mark its row. Call it inside a transaction."""
        scope = self.scope_id(entry.scope)
        self.connection.execute(
            _INSERT_NOTE.replace("INSERT", "INSERT OR IGNORE", 1),
            (entry.path, scope, *_columns(entry), *marked),
        )
        self.touch(entry.path, marked)

    def finish_marked(self, entry: IndexEntry) -> None:
        """Write the remaining rows of a note whose chunks are all written. Call it inside a transaction."""
        row = self.connection.execute(
            "SELECT id, scope FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        assert row is not None, "only a marked note is finished"
        note, scope = row
        mention_rows.remove_mentions(self.connection, note)
        self._put_graph(note, scope, entry, self.other_scopes(entry))
        self._update_note(note, entry)

    def scope_of(self, path: str) -> str:
        """Return the scope of a note; empty when the note is not indexed."""
        sql = "SELECT name FROM scope WHERE id = (SELECT scope FROM note WHERE path = ?)"
        return str(_value(self.connection, sql, path) or "")

    def other_scopes(self, entry: IndexEntry) -> list[int | None]:
        """Return the id of the second scope of each chunk; empty when no chunk has one.

        Call it inside a transaction.
        """
        return [self.scope_id(name) if name else None for name in entry.also]

    def _put_difference(
        self, note: int, scope: int, before: IndexEntry, entry: IndexEntry
    ) -> Delta:
        """Write a note whose rows are those of the entry `before`."""
        span = chunk_span(before.chunks, entry.chunks)
        removed = before.chunks[span.first : span.last]
        added = entry.chunks[span.first : span.until]
        mention_rows.change_mentions(self.connection, note, scope, removed, added)
        facts.change(self.connection, note, scope, before.facts, entry.facts)
        if before.properties != entry.properties:
            property_rows.replace(self.connection, note, scope, entry)
        content = NoteChunks(note, scope, entry.chunks, entry.date)
        return chunks.replace_span(self.connection, content, span)

    def _put_graph(
        self,
        note: int,
        scope: int,
        entry: IndexEntry,
        also: Sequence[int | None],
        *,
        is_new: bool = False,
    ) -> None:
        """Write the facts, mentions and properties of a note that has no mentions yet."""
        if entry.facts or entry.kind == "facts":
            facts.replace(self.connection, note, scope, entry.facts)
        mention_rows.insert_mentions(self.connection, note, scope, entry.chunks, also)
        write_properties = property_rows.insert if is_new else property_rows.replace
        write_properties(self.connection, note, scope, entry)

    def extend(self, entry: IndexEntry) -> Delta:
        """Add the chunks of `entry` at the end of an indexed note. Call it inside a transaction."""
        row = self.connection.execute(
            "SELECT id, scope FROM note WHERE path = ?", (entry.path,)
        ).fetchone()
        assert row is not None, "only an indexed note is extended"
        note, scope = row
        self.connection.execute("UPDATE note SET bytes = ? WHERE id = ?", (entry.bytes, note))
        self.touch(entry.path, entry.file)
        also = self.other_scopes(entry)
        mention_rows.add_mentions(self.connection, note, scope, entry.chunks, also)
        content = NoteChunks(note, scope, entry.chunks, entry.date, also)
        return chunks.append(self.connection, content)

    def remove(self, path: str) -> Delta:
        """Delete everything that was read from `path`. Call it inside a transaction."""
        row = self.connection.execute("SELECT id FROM note WHERE path = ?", (path,)).fetchone()
        if row is None:
            return Delta()
        [note] = row
        nothing = NoteChunks(note, scope=0, chunks=(), date=None)
        delta = chunks.replace(self.connection, nothing)
        facts.remove(self.connection, note)
        self.connection.execute("DELETE FROM property WHERE note = ?", (note,))
        self.connection.execute("DELETE FROM note WHERE id = ?", (note,))
        return delta

    # --- Parked ---

    def parked(self) -> dict[str, tuple[str, str]]:
        """Return the notes that are not read, each with the reason and the stamp of its file."""
        rows = self.connection.execute("SELECT path, reason, stamp FROM parked")
        return {path: (reason, stamp) for path, reason, stamp in rows}

    def park(self, path: str, reason: str, stamp: str) -> None:
        """Record that a note is not read. `stamp` identifies the version of its file."""
        self.connection.execute(
            "INSERT OR REPLACE INTO parked VALUES (?, ?, ?)", (path, reason, stamp)
        )

    def unpark(self, path: str) -> None:
        self.connection.execute("DELETE FROM parked WHERE path = ?", (path,))

    def count_notes(self) -> int:
        """Return the number of notes; cheaper than `counts`."""
        [(count,)] = self.connection.execute("SELECT count(*) FROM note")
        return int(count)

    def counts(self) -> tuple[int, int]:
        """Return the numbers of notes and of chunks."""
        [(notes, chunk_count)] = self.connection.execute(
            "SELECT (SELECT count(*) FROM note), (SELECT count(*) FROM chunk)"
        )
        return notes, chunk_count


def _columns(entry: IndexEntry) -> tuple[object, ...]:
    return entry.kind, entry.date, entry.bytes, property_rows.name_of(entry)


def _value(connection: Connection, sql: str, key: str) -> Any:
    """Return the first value of the row with a key; None when there is no row."""
    row = connection.execute(sql, (key,)).fetchone()
    return row[0] if row else None


def give_back_pages(index: Index) -> None:
    """Give back the memory of cached pages. The next query reads what it needs again."""
    index.connection.pragma("shrink_memory")
