"""The statements of a ledger, once, in the words that its two databases have in common.

Times are seconds since 1970 by the clock of the database. What a database says in its own way is a
name in braces, and a field of `Dialect`.
"""

import re
from typing import NamedTuple


class Dialect(NamedTuple):
    """What one database says in its own way."""

    now: str
    """The present: seconds since 1970"""
    least: str
    greatest: str
    """The functions of the least and the greatest of two values"""
    bytewise: str = ""
    """Sorts a text as SQLite does"""
    leases: str = ""
    """Rows of `id` and `epoch` from the JSON in `:leases`"""
    among: str = "IN ({chosen})"
    """Is one of the ids that `{chosen}` selects"""
    locked: str = ""
    """Keeps a selected row from other transactions"""
    skip_locked: str = ""
    """The same, and passes over the rows that others keep"""
    table_end: str = ""
    """Options of a table"""
    placeholder: str = r":\1"
    """How a value is named, with its name as the first group"""

    def say(self, statement: str) -> str:
        """Return a statement in this dialect."""
        words = self._asdict()
        words["among"] = self.among.format(chosen=CHOSEN.format(**words))
        return _VALUE.sub(self.placeholder, statement.format(**words))


_VALUE = re.compile(r"(?<!:):([a-z_]+)")

TABLES = """
    CREATE TABLE vault(
        id text PRIMARY KEY,
        name text UNIQUE NOT NULL,
        home text UNIQUE NOT NULL,
        holder text,
        address text NOT NULL DEFAULT '',
        epoch bigint NOT NULL DEFAULT 0,
        until double precision NOT NULL DEFAULT 0,
        due double precision NOT NULL,
        woken double precision,
        tries bigint NOT NULL DEFAULT 0,
        trouble text NOT NULL DEFAULT '',
        last_seq bigint NOT NULL DEFAULT 0){table_end};
    CREATE INDEX vault_claimable ON vault({greatest}(due, until));
    CREATE INDEX vault_holder ON vault(holder) WHERE holder IS NOT NULL;
    CREATE TABLE token(
        hash bytea PRIMARY KEY,
        vault text NOT NULL,
        caller text NOT NULL){table_end};
    CREATE INDEX token_vault ON token(vault);
    CREATE TABLE kept(
        vault text NOT NULL,
        seq bigint NOT NULL,
        op_id text NOT NULL,
        op bytea,
        outcome bytea,
        folded_at double precision,
        PRIMARY KEY(vault, seq));
    CREATE UNIQUE INDEX kept_id ON kept(vault, op_id);
    CREATE TABLE host(
        name text PRIMARY KEY,
        address text NOT NULL DEFAULT '',
        seen double precision NOT NULL DEFAULT 0,
        draining bigint NOT NULL DEFAULT 0){table_end};
    CREATE TABLE scratch(
        vault text NOT NULL,
        host text NOT NULL,
        erase bigint NOT NULL DEFAULT 0,
        PRIMARY KEY(vault, host)){table_end};
    CREATE INDEX scratch_erase ON scratch(host) WHERE erase = 1;
"""

# --- Vaults ---

ADD = """
    INSERT INTO vault(id, name, home, due) VALUES (:vault, :name, :home, {now})
    ON CONFLICT DO NOTHING
    RETURNING id
"""

_VAULTS = """
    SELECT id, name, home, epoch, due, holder, address, until, until - {now}, tries, trouble,
        (SELECT count(*) FROM kept WHERE kept.vault = vault.id AND folded_at IS NULL)
    FROM vault
"""
ALL_VAULTS = f"{_VAULTS} ORDER BY name{{bytewise}}"
VAULT = f"{_VAULTS} WHERE id = :vault OR name = :name"

COUNTS = """
    SELECT count(*),
        count(*) FILTER (WHERE until > {now}),
        count(*) FILTER (WHERE {greatest}(due, until) <= {now}),
        count(*) FILTER (WHERE tries > 0),
        (SELECT count(*) FROM kept WHERE folded_at IS NULL)
    FROM vault
"""

# `woken` remembers a wake during a lease, which the end of the lease must not postpone.
WAKE = """
    UPDATE vault SET
        due = {least}(due, {now} + :seconds),
        woken = {least}(coalesce(woken, 1e11), {now} + :seconds)
    WHERE id = :vault
    RETURNING id
"""

# The epoch of a current lease, else NULL.
LOCK_VAULT = """
    SELECT CASE WHEN holder IS NOT NULL THEN epoch END FROM vault WHERE id = :vault{locked}
"""

# --- Leases ---

_CLAIMABLE = """
    FROM vault
    WHERE {greatest}(due, until) <= {now}
        AND NOT EXISTS (SELECT 1 FROM host WHERE name = :host AND draining = 1)
"""
_FIRST = f"{_CLAIMABLE} ORDER BY {{greatest}}(due, until)"
# Fault: without an order, PostgreSQL reads all of the table.
IS_CLAIMABLE = f"SELECT 1 {_FIRST} LIMIT 1"

# The limit is a number in the text: for one that is a value, the planner of PostgreSQL expects a
# tenth of the table, and may read all of it.
CHOSEN = f"SELECT id {_FIRST} LIMIT $MOST {{skip_locked}}"

# A leased vault is due at once: if its holder dies, the next one looks at it.
_LEASE = """
    UPDATE vault SET
        holder = :host,
        address = :address,
        epoch = epoch + 1,
        until = {now} + :seconds,
        due = {now},
        woken = NULL
"""
_LEASED = "RETURNING id, home, epoch, until, name, tries"
CLAIM = f"{_LEASE} WHERE id {{among}} {_LEASED}"
TAKE = f"{_LEASE} WHERE id = :vault AND until <= {{now}} {_LEASED}"

ADD_SCRATCHES = """
    INSERT INTO scratch(vault, host) SELECT lease.id, :host FROM ({leases}) AS lease WHERE true
    ON CONFLICT DO NOTHING
"""

HOLDER = "SELECT holder, address, until, until - {now} FROM vault WHERE id = :vault"

RENEW = """
    UPDATE vault SET until = {now} + :seconds
    FROM ({leases}) AS lease
    WHERE vault.id = lease.id AND vault.epoch = lease.epoch AND vault.holder IS NOT NULL
    RETURNING vault.id, vault.holder
"""
SEE_HOST = "UPDATE host SET seen = {now} WHERE name = :host"

# Fault: an operation that was acknowledged during the visit must not wait for the next
# due moment. After trouble it waits, so that a poisoned vault does not come at once.
GIVE_BACK = """
    UPDATE vault SET
        holder = NULL,
        address = '',
        until = 0,
        due = CASE
            WHEN :trouble = '' AND EXISTS (
                SELECT 1 FROM kept WHERE kept.vault = vault.id AND folded_at IS NULL)
            THEN {now}
            ELSE {least}({now} + :seconds, coalesce(woken, 1e11))
        END,
        woken = NULL,
        tries = CASE WHEN :trouble = '' THEN 0 ELSE tries + 1 END,
        trouble = :trouble
    WHERE id = :vault AND epoch = :epoch AND holder IS NOT NULL
    RETURNING id
"""

# --- Acknowledged operations ---

SEQ = "SELECT seq FROM kept WHERE vault = :vault AND op_id = :op_id"

# Fault: with a sequence, a lower number may commit after a higher one, and `folded` would
# remove an operation that its holder never saw. The row of the vault gives the number: it
# is locked until the commit.
NEXT_SEQ = """
    UPDATE vault SET
        last_seq = last_seq + 1,
        due = {least}(due, {now})
    WHERE id = :vault
    RETURNING last_seq
"""

KEEP = "INSERT INTO kept(vault, seq, op_id, op) VALUES (:vault, :seq, :op_id, :op)"

KEPT = """
    SELECT seq, op, outcome FROM kept WHERE vault = :vault AND folded_at IS NULL ORDER BY seq
"""

OUTCOME = """
    UPDATE kept SET outcome = :outcome WHERE vault = :vault AND seq = :seq AND folded_at IS NULL
"""

# Fault: a client repeats a request whose answer was lost. The id of the operation must
# be known for a while, without its words.
FOLDED = """
    UPDATE kept SET op = NULL, outcome = NULL, folded_at = {now}
    WHERE vault = :vault AND seq <= :seq AND folded_at IS NULL
"""
DROP_TOMBSTONES = "DELETE FROM kept WHERE vault = :vault AND folded_at < {now} - :seconds"
DROP_KEPT = "DELETE FROM kept WHERE vault = :vault"

# --- Tokens ---

CALLER = "SELECT vault, caller FROM token WHERE hash = :hash"

SET_TOKEN = """
    INSERT INTO token(hash, vault, caller) VALUES (:hash, :vault, :caller)
    ON CONFLICT (hash) DO UPDATE SET caller = excluded.caller
        WHERE token.vault = excluded.vault
    RETURNING hash
"""

DROP_TOKENS = "DELETE FROM token WHERE vault = :vault"

# --- Hosts ---

NOTE_HOST = """
    INSERT INTO host(name, address, seen) VALUES (:host, :address, {now})
    ON CONFLICT (name) DO UPDATE SET address = excluded.address, seen = excluded.seen
"""

HOSTS = """
    SELECT name, address, seen, {now} - seen, draining,
        (SELECT count(*) FROM vault WHERE holder = host.name AND until > {now})
    FROM host
    WHERE seen > {now} - :seconds
    ORDER BY name{bytewise}
"""

SET_DRAINING = """
    INSERT INTO host(name, draining, seen) VALUES (:host, :draining, {now})
    ON CONFLICT (name) DO UPDATE SET draining = excluded.draining
"""

DRAINING = "SELECT 1 FROM host WHERE name = :host AND draining = 1"

# --- Scratch ---

SCRATCHES = "SELECT host FROM scratch WHERE vault = :vault ORDER BY host{bytewise}"
ASK_TO_ERASE = "UPDATE scratch SET erase = 1 WHERE vault = :vault"
TO_ERASE = "SELECT vault FROM scratch WHERE host = :host AND erase = 1 ORDER BY vault{bytewise}"
ERASED = "DELETE FROM scratch WHERE vault = :vault AND host = :host"
