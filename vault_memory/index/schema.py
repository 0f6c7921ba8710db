"""The tables of the index. Everything in them follows from the files of the vault and can be deleted.

A `chunk` row is one occurrence of a chunk in one note; its `identity` (SHA-256 of the exact embed text) is what the
same text in two notes shares. `vector` is keyed by identity and model, so a moved, copied or restored chunk
is never embedded twice, and vectors of two models never meet.
"""

from vault_memory.database.connection import Connection
from vault_memory.database.migrations import Migration
from vault_memory.index import fact_rows, term_volumes

ANALYSIS = "1"
"""Stamp of how text becomes words; another one means a new generation of the index"""
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"


def _create(connection: Connection) -> None:
    connection.execute(f"""
        CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE scope(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE note(
            id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            scope INTEGER NOT NULL REFERENCES scope,
            kind TEXT NOT NULL,
            date TEXT,                  -- of the note's name, ISO 8601
            bytes INTEGER NOT NULL,
            revision TEXT NOT NULL,     -- SHA-256 of the bytes, hex
            size INTEGER NOT NULL,      -- this and the next three: the file as it was read, -1 when that was too fresh
            mtime_ns INTEGER NOT NULL,
            ctime_ns INTEGER NOT NULL,
            ino INTEGER NOT NULL,
            state INTEGER NOT NULL      -- see index.store.State
        );
        CREATE INDEX note_held ON note(path) WHERE state = 2;  -- asked with every answer
        CREATE TABLE chunk(
            id INTEGER PRIMARY KEY,
            note INTEGER NOT NULL REFERENCES note,
            scope INTEGER NOT NULL REFERENCES scope,
            ordinal INTEGER NOT NULL,
            first_line INTEGER NOT NULL,
            last_line INTEGER NOT NULL,
            date TEXT,                  -- of the item, else of the note's name
            identity BLOB NOT NULL,
            heading TEXT NOT NULL,      -- the heading path, joined by U+001F
            who TEXT NOT NULL,
            topic TEXT NOT NULL,
            text TEXT NOT NULL
        );
        CREATE INDEX note_of_scope ON note(scope, date);
        CREATE INDEX chunk_of_note ON chunk(note, ordinal);
        CREATE TABLE parked(path TEXT PRIMARY KEY, reason TEXT NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE model(
            id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL, dimensions INTEGER NOT NULL
        );
        CREATE TABLE vector(
            id INTEGER PRIMARY KEY,
            identity BLOB NOT NULL,
            model INTEGER NOT NULL REFERENCES model,
            embedding BLOB NOT NULL,    -- float32, little-endian, unit length
            UNIQUE(identity, model)
        );
        CREATE VIRTUAL TABLE chunk_fts USING fts5(
            scope, heading, who, body, content='', contentless_delete=1, tokenize="{TOKENIZER}"
        );
    """)


def _own_turns(connection: Connection) -> None:
    """A turn in a channel is also of the person who said it."""
    connection.execute("""
        ALTER TABLE chunk ADD COLUMN also INTEGER REFERENCES scope;
        CREATE INDEX chunk_also ON chunk(also, note) WHERE also IS NOT NULL;
    """)


def _graph(connection: Connection) -> None:
    """What pages of facts say, and whom notes mention."""
    connection.execute(fact_rows.TABLES)


def _volumes(connection: Connection) -> None:
    """How much the scopes have, by which words are weighed."""
    connection.execute(term_volumes.TABLES)
    term_volumes.fill(connection)
    # A daemon of an older version may still write to this file, and counts nothing: build a new file.
    connection.execute("DELETE FROM meta WHERE key = 'rules'")


STEPS: tuple[Migration, ...] = (_create, _own_turns, _graph, _volumes)
"""The format of an index is the number of these steps it has had."""
