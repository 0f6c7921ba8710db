"""The tables of a ledger in PostgreSQL, in a schema of their own."""

SCHEMA = "vault_memory"

TABLES = """
    CREATE SCHEMA IF NOT EXISTS vault_memory;
    CREATE TABLE vault_memory.ledger(
        fleet uuid NOT NULL,
        secret text NOT NULL,
        format int NOT NULL);
    CREATE TABLE vault_memory.vault(
        id uuid PRIMARY KEY,
        name text UNIQUE NOT NULL,
        home text UNIQUE NOT NULL,
        holder text,
        address text NOT NULL DEFAULT '',
        epoch bigint NOT NULL DEFAULT 0,
        until timestamptz NOT NULL DEFAULT 'epoch',
        due timestamptz NOT NULL DEFAULT now(),
        woken timestamptz,
        tries int NOT NULL DEFAULT 0,
        trouble text NOT NULL DEFAULT '',
        last_seq bigint NOT NULL DEFAULT 0)
        -- Room in each page for the next version of a row, which then needs no new index entry.
        WITH (fillfactor = 80);
    CREATE INDEX vault_claimable ON vault_memory.vault(greatest(due, until));
    CREATE TABLE vault_memory.token(
        hash bytea PRIMARY KEY,
        vault uuid NOT NULL REFERENCES vault_memory.vault,
        caller text NOT NULL);
    CREATE INDEX token_vault ON vault_memory.token(vault);
    CREATE TABLE vault_memory.kept(
        vault uuid NOT NULL REFERENCES vault_memory.vault,
        seq bigint NOT NULL,
        op_id text NOT NULL,
        op bytea,
        outcome bytea,
        at timestamptz NOT NULL DEFAULT now(),
        folded_at timestamptz,
        PRIMARY KEY(vault, seq),
        UNIQUE(vault, op_id));
    CREATE TABLE vault_memory.host(
        name text PRIMARY KEY,
        address text NOT NULL DEFAULT '',
        seen timestamptz NOT NULL DEFAULT now(),
        draining boolean NOT NULL DEFAULT false);
    CREATE TABLE vault_memory.scratch(
        vault uuid NOT NULL,
        host text NOT NULL,
        erase boolean NOT NULL DEFAULT false,
        PRIMARY KEY(vault, host));
    CREATE INDEX scratch_erase ON vault_memory.scratch(host) WHERE erase;
"""

STEPS = (TABLES,)
"""The migrations. The number of applied steps is the format of a ledger"""

# A number of our own: two `init` at once must not both make the tables.
LOCK = "SELECT pg_advisory_xact_lock(7318349394477056)"
IS_MADE = "SELECT to_regclass('vault_memory.ledger') IS NOT NULL"
IDENTITY = "SELECT fleet::text, secret, format FROM vault_memory.ledger"
ADD_IDENTITY = "INSERT INTO vault_memory.ledger VALUES (%s, %s, %s)"
SET_FORMAT = "UPDATE vault_memory.ledger SET format = %s"
