"""A ledger in PostgreSQL, for the hosts of several machines.

The time in each statement is PostgreSQL's ``now()``: the moment when the statement began. A statement
that waited for a lock sees an earlier time, so it never takes a lease that has not run out.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection

from vault_memory.addons.fleet.ledger import postgres_queries, postgres_schema
from vault_memory.addons.fleet.ledger.contract import (
    LEASE_SECONDS,
    Holder,
    KeptOp,
    Lease,
    LedgerCaller,
    LedgerCounts,
    LedgerHost,
    LedgerVault,
)
from vault_memory.addons.fleet.ledger.ledger_errors import (
    LeaseLost,
    LedgerMissing,
    LedgerTooNew,
    TokenTaken,
    UnknownVault,
    VaultAddedTwice,
)
from vault_memory.addons.fleet.ledger.ledger_rows import (
    HOST_SECONDS,
    TOMBSTONE_SECONDS,
    Clock,
    SeenHosts,
    caller_of,
    caller_text,
    distance,
    new_fleet,
    new_secret,
    new_vault_id,
    trouble_text,
    utc_now,
    vault_id,
)
from vault_memory.addons.fleet.ledger.postgres_connections import Connections, with_password
from vault_memory.rules.paths.caller import Caller

TRACES = "the write-ahead log of the database, and rows that it has not vacuumed yet"
"""What only the server itself removes, later"""


class PostgresLedger:
    """A ledger in PostgreSQL. Implements `contract.Ledger`; threads share its connections."""

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
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._seen = SeenHosts()
        self._connections = Connections(with_password(database, password), _check)
        try:
            if create:
                self._create()
            [self._identity] = self._connections.rows(postgres_schema.IDENTITY)
        except BaseException:
            self._connections.close()
            raise

    def _create(self) -> None:
        with self._connections.connection(checked=False) as connection, connection.transaction():
            connection.execute(postgres_schema.LOCK)
            version = _format_of(connection)
            for step in postgres_schema.STEPS[version:]:
                connection.execute(step)
            newest = len(postgres_schema.STEPS)
            if version == 0:
                row = (new_fleet(), new_secret(), newest)
                connection.execute(postgres_schema.ADD_IDENTITY, row)
            elif version < newest:
                connection.execute(postgres_schema.SET_FORMAT, (newest,))

    def close(self) -> None:
        self._connections.close()

    @property
    def fleet(self) -> str:
        return str(self._identity[0])

    @property
    def secret(self) -> str:
        return str(self._identity[1])

    @property
    def lease_seconds(self) -> float:
        return self._lease_seconds

    def _rows(self, sql: str, *values: object) -> list[Any]:
        return self._connections.rows(sql, values)

    # --- Vaults ---

    def add(self, vault: str, name: str, home: str) -> None:
        if not self._rows(postgres_queries.ADD, new_vault_id(vault), name, home):
            raise VaultAddedTwice(name)

    def vaults(self) -> list[LedgerVault]:
        rows = self._rows(postgres_queries.ALL_VAULTS)
        return [postgres_queries.listed_vault(row) for row in rows]

    def vault(self, name: str) -> LedgerVault:
        rows = self._rows(postgres_queries.VAULT, vault_id(name) or None, name)
        if not rows:
            raise UnknownVault(name)
        return postgres_queries.listed_vault(rows[0])

    def counts(self) -> LedgerCounts:
        [row] = self._rows(postgres_queries.COUNTS)
        return LedgerCounts(*row)

    def wake(self, vault: str, at: datetime) -> None:
        seconds = distance(at, self._clock())
        if not self._rows(postgres_queries.WAKE, seconds, _known_id(vault)):
            raise UnknownVault(vault)

    def forget(self, vault: str) -> None:
        if not self._rows(postgres_queries.FORGET, _known_id(vault)):
            raise UnknownVault(vault)

    def erase_traces(self) -> list[str]:
        return [TRACES]

    # --- Leases ---

    def claim(self, host: str, address: str, most: int) -> list[Lease]:
        self._note_seen(host, address)
        values = {"host": host, "address": address, "seconds": self._lease_seconds}
        rows = self._connections.rows(postgres_queries.claim(most), values)
        return [postgres_queries.leased(row) for row in rows]

    def take(self, vault: str, host: str, address: str) -> Lease | Holder:
        self._note_seen(host, address)
        values = {
            "vault": _known_id(vault),
            "host": host,
            "address": address,
            "seconds": self._lease_seconds,
        }
        while True:
            leases = self._connections.rows(postgres_queries.TAKE, values)
            if leases:
                return postgres_queries.leased(leases[0])
            holders = self._rows(postgres_queries.HOLDER, vault)
            if not holders:
                raise UnknownVault(vault)
            holder = Holder(*holders[0])
            # Fault: the holder may have given it back between the two statements.
            if holder.seconds > 0:
                return holder

    def renew(self, leases: Sequence[Lease]) -> set[str]:
        if not leases:
            return set()
        ids = [lease.vault for lease in leases]
        epochs = [lease.epoch for lease in leases]
        rows = self._rows(postgres_queries.RENEW, self._lease_seconds, ids, epochs)
        return {vault for (vault,) in rows}

    def give_back(self, lease: Lease, due: datetime, trouble: str = "") -> None:
        values = {
            "vault": lease.vault,
            "epoch": lease.epoch,
            "seconds": distance(due, self._clock()),
            "trouble": trouble_text(trouble),
        }
        if not self._connections.rows(postgres_queries.GIVE_BACK, values):
            raise LeaseLost(lease)

    # --- Acknowledged operations ---

    def keep(self, vault: str, op: bytes, op_id: str, lease: Lease | None = None) -> int:
        epoch = None if lease is None else lease.epoch
        values = {"vault": _known_id(vault), "op": op, "op_id": op_id, "epoch": epoch}
        rows = self._connections.rows(postgres_queries.KEEP, values)
        if not rows:
            # The operation was kept before, or the ledger has no such vault.
            rows = self._rows(postgres_queries.SEQ, vault, op_id)
        if not rows and lease is not None:
            raise LeaseLost(lease)
        if not rows:
            raise UnknownVault(vault)
        return int(rows[0][0])

    def kept(self, lease: Lease) -> list[KeptOp]:
        rows = self._rows(postgres_queries.KEPT, lease.vault, lease.epoch)
        if not rows:
            raise LeaseLost(lease)
        # A vault without operations has one row, of nothing.
        return [KeptOp(*row) for row in rows if row[0] is not None]

    def outcome(self, lease: Lease, seq: int, outcome: bytes) -> None:
        self._write_with(lease, postgres_queries.OUTCOME, seq=seq, outcome=outcome)

    def folded(self, lease: Lease, until: int) -> None:
        self._write_with(
            lease, postgres_queries.FOLDED, seq=until, tombstone=float(TOMBSTONE_SECONDS)
        )

    def _write_with(self, lease: Lease, sql: str, **values: object) -> None:
        """Run a statement that the lease allows. Raises LeaseLost."""
        fence = {"vault": lease.vault, "epoch": lease.epoch}
        if not self._connections.rows(sql, {**fence, **values}):
            raise LeaseLost(lease)

    # --- Tokens ---

    def caller(self, token_hash: bytes) -> LedgerCaller | None:
        for vault, text in self._rows(postgres_queries.CALLER, token_hash):
            return LedgerCaller(vault, caller_of(text))
        return None

    def set_token(self, vault: str, token_hash: bytes, caller: Caller) -> None:
        row = self.vault(_known_id(vault))
        text = caller_text(caller)
        # Fault: a token that moved would open one person's notes to another.
        if not self._rows(postgres_queries.SET_TOKEN, token_hash, row.id, text):
            raise TokenTaken

    def drop_tokens(self, vault: str) -> None:
        if not self._rows(postgres_queries.DROP_TOKENS, _known_id(vault)):
            raise UnknownVault(vault)

    # --- Hosts ---

    def _note_seen(self, host: str, address: str) -> None:
        """Store that the host uses the ledger, once in `SEEN_SECONDS`."""
        self._seen.note(host, lambda: self._rows(postgres_queries.NOTE_HOST, host, address))

    def hosts(self) -> list[LedgerHost]:
        rows = self._rows(postgres_queries.HOSTS, float(HOST_SECONDS))
        return [postgres_queries.listed_host(row) for row in rows]

    def set_draining(self, host: str, draining: bool) -> None:
        self._rows(postgres_queries.SET_DRAINING, host, draining)

    def draining(self, host: str) -> bool:
        return bool(self._rows(postgres_queries.DRAINING, host))

    # --- Scratch ---

    def scratches(self, vault: str) -> list[str]:
        rows = self._rows(postgres_queries.SCRATCHES, _known_id(vault))
        return [host for (host,) in rows]

    def ask_to_erase(self, vault: str) -> None:
        self._rows(postgres_queries.ASK_TO_ERASE, _known_id(vault))

    def to_erase(self, host: str) -> list[str]:
        rows = self._rows(postgres_queries.TO_ERASE, host)
        return [vault for (vault,) in rows]

    def erased(self, vault: str, host: str) -> None:
        self._rows(postgres_queries.ERASED, _known_id(vault), host)


def _known_id(vault: str) -> str:
    """Return the id in its usual form. Raises UnknownVault for a text that is no id."""
    # Fault: PostgreSQL refuses a text that is no UUID with an error of its own.
    normal = vault_id(vault)
    if not normal:
        raise UnknownVault(vault)
    return normal


def _format_of(connection: Connection) -> int:
    """Return the format of the ledger; 0 when the database has none. Raises LedgerTooNew."""
    made = connection.execute(postgres_schema.IS_MADE).fetchone()
    if not made or not made[0]:
        return 0
    identity = connection.execute(postgres_schema.IDENTITY).fetchone()
    version = int(identity[2]) if identity else 0
    newest = len(postgres_schema.STEPS)
    # Fault: an older version would ignore columns that restrict a token.
    if version > newest:
        raise LedgerTooNew(version, newest)
    return version


def _check(connection: Connection) -> None:
    """Check the format of the ledger. Raises LedgerMissing, LedgerTooNew."""
    if _format_of(connection) < len(postgres_schema.STEPS):
        raise LedgerMissing
