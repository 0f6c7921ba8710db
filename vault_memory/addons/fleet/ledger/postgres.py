"""A ledger in PostgreSQL, for the hosts of several machines.

The time in each statement is PostgreSQL's ``now()``: the moment when its transaction began. A
transaction that waited for a lock sees an earlier time, so it never takes a lease that has not run
out.
"""

from psycopg import Connection

from vault_memory.addons.fleet.ledger import ledger_statements
from vault_memory.addons.fleet.ledger.contract import LEASE_SECONDS
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerMissing, LedgerTooNew
from vault_memory.addons.fleet.ledger.ledger_rows import Clock, new_fleet, new_secret, utc_now
from vault_memory.addons.fleet.ledger.postgres_connections import SCHEMA, Connections, with_password

POSTGRES = ledger_statements.Dialect(
    now="extract(epoch FROM now())::float8",
    least="least",
    greatest="greatest",
    bytewise=' COLLATE "C"',
    leases="SELECT value->>0 AS id, (value->>1)::bigint AS epoch"
    " FROM json_array_elements(:leases::json)",
    # With a join, the planner expects a tenth of the table, and may read all of it.
    among="= ANY(ARRAY({chosen}))",
    locked=" FOR NO KEY UPDATE",
    skip_locked="FOR UPDATE SKIP LOCKED",
    # Room in each page for the next version of a row, which then needs no new index entry.
    table_end=" WITH (fillfactor = 80)",
    placeholder=r"%(\1)s",
)

TABLES = f"""
    CREATE SCHEMA IF NOT EXISTS {SCHEMA};
    CREATE TABLE ledger(
        fleet text NOT NULL,
        secret text NOT NULL,
        format bigint NOT NULL);
    {ledger_statements.TABLES}
"""
STEPS = (TABLES,)
"""The migrations. The number of applied steps is the format of a ledger"""

# A number of our own: two `init` at once must not both make the tables.
LOCK = "SELECT pg_advisory_xact_lock(7318349394477056)"
IS_MADE = f"SELECT to_regclass('{SCHEMA}.ledger') IS NOT NULL"


class PostgresLedger(Ledger):
    """A ledger in PostgreSQL; threads share its connections."""

    def __init__(
        self,
        database: str,
        *,
        password: str = "",
        create: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        """Connect to `database`, a URL or ``host=… dbname=…``. `clock` is the host's.

        `password` is that of the database, where neither `database` nor a variable has it.

        `create` makes the tables and the fleet, or migrates older tables. Raises ConfigError,
        LedgerRefused, LedgerMissing, LedgerTooNew, LedgerAway.
        """
        connections = Connections(with_password(database, password), _check)
        try:
            if create:
                _create(connections)
            super().__init__(connections, POSTGRES, lease_seconds, clock)
        except BaseException:
            connections.close()
            raise


def _create(connections: Connections) -> None:
    with connections.connection(checked=False) as connection, connection.transaction():
        connection.execute(LOCK)
        version = _format_of(connection)
        for step in STEPS[version:]:
            connection.execute(POSTGRES.say(step))
        if version == 0:
            row = (new_fleet(), new_secret(), len(STEPS))
            connection.execute("INSERT INTO ledger VALUES (%s, %s, %s)", row)
        elif version < len(STEPS):
            connection.execute("UPDATE ledger SET format = %s", (len(STEPS),))


def _format_of(connection: Connection) -> int:
    """Return the format of the ledger; 0 when the database has none. Raises LedgerTooNew."""
    made = connection.execute(IS_MADE).fetchone()
    if not made or not made[0]:
        return 0
    found = connection.execute("SELECT format FROM ledger").fetchone()
    version = int(found[0]) if found else 0
    # Fault: an older version would ignore columns that restrict a token.
    if version > len(STEPS):
        raise LedgerTooNew(version, len(STEPS))
    return version


def _check(connection: Connection) -> None:
    """Check the format of the ledger. Raises LedgerMissing, LedgerTooNew."""
    if _format_of(connection) < len(STEPS):
        raise LedgerMissing
