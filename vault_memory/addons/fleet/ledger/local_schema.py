"""The tables of a ledger in SQLite. Times are seconds since 1970 by the clock of the machine."""

from vault_memory.addons.fleet.ledger.ledger_rows import new_fleet, new_secret
from vault_memory.database.connection import Connection
from vault_memory.database.migrations import Migration

TABLES = """
    CREATE TABLE ledger(fleet TEXT NOT NULL, secret TEXT NOT NULL);
    CREATE TABLE vault(
        id TEXT PRIMARY KEY,
        name TEXT UNIQUE NOT NULL,
        home TEXT UNIQUE NOT NULL,
        holder TEXT,
        address TEXT NOT NULL DEFAULT '',
        epoch INTEGER NOT NULL DEFAULT 0,
        until REAL NOT NULL DEFAULT 0,
        due REAL NOT NULL,
        woken REAL,
        tries INTEGER NOT NULL DEFAULT 0,
        trouble TEXT NOT NULL DEFAULT '',
        last_seq INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
    CREATE INDEX vault_claimable ON vault(max(due, until));
    CREATE INDEX vault_holder ON vault(holder) WHERE holder IS NOT NULL;
    CREATE TABLE token(hash BLOB PRIMARY KEY, vault TEXT NOT NULL, caller TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX token_vault ON token(vault);
    CREATE TABLE kept(
        vault TEXT NOT NULL,
        seq INTEGER NOT NULL,
        op_id TEXT NOT NULL,
        op BLOB,
        outcome BLOB,
        folded_at REAL,
        PRIMARY KEY(vault, seq));
    CREATE UNIQUE INDEX kept_id ON kept(vault, op_id);
    CREATE TABLE host(
        name TEXT PRIMARY KEY,
        address TEXT NOT NULL DEFAULT '',
        seen REAL NOT NULL DEFAULT 0,
        draining INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
    CREATE TABLE scratch(
        vault TEXT NOT NULL,
        host TEXT NOT NULL,
        erase INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY(vault, host)) WITHOUT ROWID;
    CREATE INDEX scratch_erase ON scratch(host) WHERE erase;
"""


def _make_tables(connection: Connection) -> None:
    connection.execute(TABLES)
    connection.execute("INSERT INTO ledger VALUES (?, ?)", (new_fleet(), new_secret()))


STEPS: tuple[Migration, ...] = (_make_tables,)
"""The migrations. The number of applied steps is the format of a ledger"""
