"""Defines the tables of the index. Their content follows from the vault, and may be deleted.

A `chunk` row is one occurrence of a chunk in one note. Equal texts in two notes share their `identity`
(SHA-256 of the exact embed text). `vector` is keyed by identity and model, so a moved, copied or restored
chunk is never embedded twice, and vectors of two models are never compared.
"""

from typing import TYPE_CHECKING

from vault_memory.database.connection import Connection
from vault_memory.database.migrations import Migration, statements
from vault_memory.index import term_volumes

if TYPE_CHECKING:
    from vault_memory.index.store import Index

MISSING = "missing"
"""The key under which an index stores how many notes it lacks, as the vault has too many files"""
ANALYSIS = "4"
"""The version of the rules that split text into words; a new version needs a new generation"""
LINK = 4
"""`note_properties.Sort.LINK`, whose module a search without links need not load"""
TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")


_TOKENIZE = " ".join(map(repr, TOKENIZER))
_CREATE = statements(f"""
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
        -- A word in the first column takes two bytes less.
        CREATE VIRTUAL TABLE chunk_fts USING fts5(
            body, heading, who, scope, content='', contentless_delete=1, tokenize="{_TOKENIZE}"
        );
""")


# Adds the second scope of a chunk: a turn in a channel is also of the person who said it.
_OWN_TURNS = statements("""
        ALTER TABLE chunk ADD COLUMN also INTEGER REFERENCES scope;
        CREATE INDEX chunk_also ON chunk(also, note) WHERE also IS NOT NULL;
""")


# Adds the facts of notes, the names of entities, and the mentions of entities.
_GRAPH = statements("""
        CREATE TABLE fact(
            id INTEGER PRIMARY KEY,
            note INTEGER NOT NULL REFERENCES note,
            scope INTEGER NOT NULL REFERENCES scope,
            ordinal INTEGER NOT NULL,   -- the order in the note, with gaps
            fact TEXT NOT NULL,         -- the id that a user types
            subject TEXT NOT NULL,
            predicate TEXT NOT NULL,
            object TEXT NOT NULL,
            valid_from TEXT,
            valid_until TEXT,
            temporary INTEGER NOT NULL,
            confidence REAL NOT NULL,
            ref TEXT NOT NULL,
            origin TEXT NOT NULL,
            struck INTEGER NOT NULL,
            supersedes TEXT NOT NULL,
            confirmed INTEGER NOT NULL,
            topic TEXT NOT NULL,
            text TEXT NOT NULL,
            subject_key TEXT NOT NULL,  -- folded, as names are compared
            object_key TEXT NOT NULL
        );
        CREATE INDEX fact_of_note ON fact(note, ordinal);
        CREATE INDEX fact_of_scope ON fact(scope);
        CREATE INDEX fact_subject ON fact(subject_key, scope);
        CREATE INDEX fact_object ON fact(object_key, scope);
        CREATE TABLE entity_name(
            note INTEGER NOT NULL REFERENCES note,
            scope INTEGER NOT NULL REFERENCES scope,
            lead TEXT NOT NULL,         -- first words of the name: the key by which a prompt is matched
            key TEXT NOT NULL,          -- the name, folded
            entity TEXT NOT NULL        -- the folded name of the entity it refers to
        );
        CREATE INDEX entity_name_of_note ON entity_name(note, key);
        CREATE INDEX entity_name_lead ON entity_name(lead, scope);
        CREATE INDEX entity_alias ON entity_name(scope) WHERE key <> entity;
        CREATE TABLE mention(
            note INTEGER NOT NULL REFERENCES note,
            scope INTEGER NOT NULL REFERENCES scope,
            key TEXT NOT NULL,
            type TEXT NOT NULL,
            count INTEGER NOT NULL
        );
        CREATE INDEX mention_of_note ON mention(note);
        CREATE INDEX mention_key ON mention(key, scope);
        DELETE FROM meta WHERE key = 'rules';  -- older indexes have no such rows: this rebuilds them
""")


# Adds the stamps of items, from which their fading follows. The next scan fills them in.
_STAMPS = statements("""
        CREATE TABLE stamp(
            chunk INTEGER PRIMARY KEY REFERENCES chunk,
            note INTEGER NOT NULL REFERENCES note,
            scope INTEGER NOT NULL REFERENCES scope,
            key TEXT NOT NULL,          -- the content key of its item
            type TEXT NOT NULL,
            learned TEXT NOT NULL,      -- the day when it was last learned or supported, ISO 8601
            confirmed INTEGER NOT NULL,
            by_bot INTEGER NOT NULL,
            supports INTEGER NOT NULL,
            fades INTEGER NOT NULL      -- see rules.learning.stamps
        );
        CREATE INDEX stamp_age ON stamp(scope, type, learned) WHERE fades > 0;
        CREATE INDEX stamp_of_note ON stamp(note);
        CREATE TRIGGER chunk_stamp AFTER DELETE ON chunk BEGIN
            DELETE FROM stamp WHERE chunk = old.id;
        END;
        CREATE TABLE read_count(
            scope INTEGER NOT NULL REFERENCES scope,
            key TEXT NOT NULL,
            days INTEGER NOT NULL,
            last TEXT NOT NULL,
            PRIMARY KEY(scope, key)
        ) WITHOUT ROWID;
        CREATE TABLE ledger(path TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
        ALTER TABLE note ADD COLUMN audits TEXT NOT NULL DEFAULT '?';
        CREATE INDEX note_due ON note(path) WHERE audits = '?';
""")


# Adds what people wrote about notes: fields, tags, aliases and links.
_PROPERTIES = statements("""
        ALTER TABLE note ADD COLUMN name TEXT NOT NULL DEFAULT '';  -- the folded name of the file, without extension
        CREATE INDEX note_name ON note(name) WHERE name <> '';
        CREATE TABLE property(
            note INTEGER NOT NULL REFERENCES note,
            sort INTEGER NOT NULL,      -- see markdown.properties.note_properties.Sort
            name TEXT NOT NULL,         -- the folded key of a field; else empty
            key TEXT NOT NULL,          -- the folded value; of a link the folded name of its note
            value TEXT NOT NULL         -- as it is written
        );
        CREATE INDEX property_of_note ON property(note);
        CREATE INDEX property_key ON property(sort, name, key);
        DELETE FROM meta WHERE key = 'rules';  -- older indexes have no such rows: this rebuilds them
""")


def _lengths(connection: Connection) -> None:
    """Add the lengths of chunks, and the words of the full text."""
    connection.execute("DELETE FROM volume;" + term_volumes.LENGTHS)
    term_volumes.fill(connection)
    # Fault: a daemon of an older version may still write to this file without counting.
    # So a new one is built.
    connection.execute("DELETE FROM meta WHERE key = 'rules'")


def _codes(connection: Connection) -> None:
    """Add the bits of vectors by note. The next run of embedding fills them in."""
    connection.execute("""
        CREATE TABLE note_code(
            note INTEGER PRIMARY KEY REFERENCES note,
            model INTEGER NOT NULL REFERENCES model,
            vectors BLOB NOT NULL,      -- the ids of the vectors of its chunks in order, as int64
            codes BLOB NOT NULL         -- of each of these a bit for each dimension, 1 above 0
        );
        CREATE TRIGGER note_code_changed AFTER UPDATE OF revision ON note
        WHEN new.revision <> old.revision BEGIN
            DELETE FROM note_code WHERE note = old.id;
        END;
        CREATE TRIGGER note_code_removed AFTER DELETE ON note BEGIN
            DELETE FROM note_code WHERE note = old.id;
        END;
    """)


STEPS: tuple[Migration, ...] = (
    _CREATE,
    _OWN_TURNS,
    _GRAPH,
    statements(term_volumes.TABLES),
    _STAMPS,
    _PROPERTIES,
    _lengths,
    _codes,
)
"""The migrations. The number of applied steps is the format of an index"""


def has_stamps(index: "Index") -> bool:
    """Return whether any item has a stamp or a count, so that it may have faded."""
    rows = index.connection.execute("SELECT 1 FROM stamp UNION ALL SELECT 1 FROM ledger LIMIT 1")
    return bool(rows.fetchall())


def has_vectors(index: "Index") -> bool:
    """Return whether any chunk has a vector."""
    row = index.connection.execute("SELECT 1 FROM vector LIMIT 1").fetchone()
    return row is not None


def has_links(index: "Index") -> bool:
    """Return whether any note links to another."""
    rows = index.connection.execute(
        f"SELECT 1 FROM property WHERE sort = {LINK:d} AND name = '' LIMIT 1"
    )
    return bool(rows.fetchall())


def missing_notes(index: "Index") -> int:
    """Return how many notes the index lacks, because a listing has no room for all files."""
    return int(index.get(MISSING) or 0)


def skip_stamps(index: "Index") -> None:
    """Mark all notes as stamped, in a vault without any audit."""
    due = index.connection.execute("SELECT 1 FROM note WHERE audits = '?' LIMIT 1")
    if due.fetchall():
        index.connection.execute("UPDATE note SET audits = '' WHERE audits = '?'")
