"""The tables of the journal, as steps from one format of the file to the next."""

STEPS = (
    """
    CREATE TABLE ops(
        op_id TEXT PRIMARY KEY,
        path TEXT NOT NULL,
        side TEXT NOT NULL,
        base TEXT,
        content TEXT NOT NULL,
        since REAL NOT NULL,
        stamp TEXT NOT NULL,
        quiet REAL NOT NULL,
        record BLOB NOT NULL,
        entry TEXT NOT NULL,
        phase TEXT NOT NULL,
        reason TEXT NOT NULL,
        expected TEXT,
        fresh TEXT NOT NULL,
        temp TEXT NOT NULL,
        outcome TEXT NOT NULL,
        after TEXT
    );
    CREATE INDEX ops_by_phase ON ops(phase);
    CREATE TABLE displaced(
        place TEXT PRIMARY KEY,
        path TEXT NOT NULL,
        incorporated TEXT NOT NULL,
        since REAL NOT NULL,
        seen TEXT NOT NULL,
        seen_at REAL NOT NULL,
        looks INTEGER NOT NULL,
        next_look REAL NOT NULL
    );
    CREATE TABLE blobs(
        revision TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE versions(
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        revision TEXT NOT NULL,
        at REAL NOT NULL,
        by TEXT NOT NULL,
        kept INTEGER NOT NULL
    );
    CREATE INDEX versions_by_path ON versions(path, id);
    CREATE TABLE trash(
        id TEXT PRIMARY KEY, path TEXT NOT NULL, revision TEXT NOT NULL, at REAL NOT NULL
    );
    CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    "CREATE TABLE unjudged(version INTEGER PRIMARY KEY);",
    "ALTER TABLE ops ADD COLUMN by TEXT NOT NULL DEFAULT 'bot';",
    "CREATE INDEX versions_by_revision ON versions(revision);",
    "ALTER TABLE versions ADD COLUMN ino INTEGER NOT NULL DEFAULT 0;",
    # In a table without row ids each long text had pages of its own: 2.4 times the size.
    """
    CREATE TABLE texts(
        revision TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL
    );
    INSERT INTO texts SELECT * FROM blobs;
    DROP TABLE blobs;
    ALTER TABLE texts RENAME TO blobs;
    """,
)
