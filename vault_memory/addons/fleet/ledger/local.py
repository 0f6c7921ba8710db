"""A ledger in one SQLite file, for the processes of one machine."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from vault_memory.addons.fleet.ledger import local_queries
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
    new_vault_id,
    trouble_text,
    utc_now,
    vault_id,
)
from vault_memory.addons.fleet.ledger.local_file import LedgerFile, rows_of
from vault_memory.database.connection import Connection
from vault_memory.rules.paths.caller import Caller

CLOCK_STEP_SECONDS = 0.001
LOG = "the write-ahead log of the ledger"


class LocalLedger:
    """A ledger in SQLite. Implements `contract.Ledger`; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        """Open the file. `clock` is the host's.

        `create` makes the file and the fleet, or migrates an older file. Raises LedgerMissing,
        LedgerRefused, LedgerTooNew, LedgerAway, DatabaseDamaged.
        """
        self._file = LedgerFile(path, create=create)
        self._lease_seconds = lease_seconds
        # Fault: the clock of SQLite cuts off what is less than a millisecond. A lease
        # would end before its holder expects it.
        self._stored_seconds = lease_seconds + CLOCK_STEP_SECONDS
        self._clock = clock
        self._seen = SeenHosts()
        [self._identity] = self._file.read("SELECT fleet, secret FROM ledger")

    def close(self) -> None:
        self._file.close()

    @property
    def fleet(self) -> str:
        return str(self._identity[0])

    @property
    def secret(self) -> str:
        return str(self._identity[1])

    @property
    def lease_seconds(self) -> float:
        return self._lease_seconds

    # --- Vaults ---

    def add(self, vault: str, name: str, home: str) -> None:
        rows = self._file.change(
            "INSERT INTO vault(id, name, home, due)"
            " VALUES (?, ?, ?, unixepoch('subsec'))"
            " ON CONFLICT DO NOTHING RETURNING id",
            (new_vault_id(vault), name, home),
        )
        if not rows:
            raise VaultAddedTwice(name)

    def vaults(self) -> list[LedgerVault]:
        rows = self._file.read(f"{local_queries.VAULTS} ORDER BY vault.name")
        return [local_queries.listed_vault(row) for row in rows]

    def vault(self, name: str) -> LedgerVault:
        rows = self._file.read(
            f"{local_queries.VAULTS} WHERE vault.id = ? OR vault.name = ?", (vault_id(name), name)
        )
        if not rows:
            raise UnknownVault(name)
        return local_queries.listed_vault(rows[0])

    def counts(self) -> LedgerCounts:
        [row] = self._file.read(local_queries.COUNTS)
        return LedgerCounts(*row)

    def wake(self, vault: str, at: datetime) -> None:
        seconds = distance(at, self._clock())
        if not self._file.change(local_queries.WAKE, (seconds, vault), durable=False):
            raise UnknownVault(vault)

    def forget(self, vault: str) -> None:
        with self._file.transaction() as connection:
            _need_vault(connection, vault)
            for table in ("kept", "token"):
                connection.execute(f"DELETE FROM {table} WHERE vault = ?", (vault,))
        self.erase_traces()

    def erase_traces(self) -> list[str]:
        # Fault: removed words are still in the log. The file itself overwrites them.
        return [] if self._file.empty_log() else [LOG]

    # --- Leases ---

    def claim(self, host: str, address: str, most: int) -> list[Lease]:
        self._note_seen(host, address)
        # A poll of an idle host reads one row of the index, and writes nothing.
        # Fault: a negative limit of SQLite is none.
        is_claimable = self._file.read(local_queries.IS_CLAIMABLE, (host,))
        if most <= 0 or not is_claimable:
            return []
        values = (host, address, self._stored_seconds, host, most)
        with self._file.transaction() as connection:
            rows = rows_of(connection, local_queries.CLAIM, values)
            leases = [_lease(row) for row in rows]
            connection.executemany(
                local_queries.ADD_SCRATCH, [(lease.vault, host) for lease in leases]
            )
        return leases

    def take(self, vault: str, host: str, address: str) -> Lease | Holder:
        self._note_seen(host, address)
        # Fault: each request that is passed on to the holder would wait for those that write.
        holders = self._file.read(local_queries.HOLDER, (vault,))
        if not holders:
            raise UnknownVault(vault)
        holder = local_queries.holder_of(*holders[0])
        if holder.seconds > 0:
            return holder
        values = (host, address, self._stored_seconds, vault)
        with self._file.transaction() as connection:
            rows = rows_of(connection, local_queries.TAKE, values)
            if rows:
                connection.execute(local_queries.ADD_SCRATCH, (vault, host))
                return _lease(rows[0])
            holders = rows_of(connection, local_queries.HOLDER, (vault,))
            return local_queries.holder_of(*holders[0])

    def renew(self, leases: Sequence[Lease]) -> set[str]:
        if not leases:
            return set()
        pairs = json.dumps([[lease.vault, lease.epoch] for lease in leases])
        with self._file.transaction(durable=False) as connection:
            rows = rows_of(connection, local_queries.RENEW, (self._stored_seconds, pairs))
            renewed = {vault for vault, _ in rows}
            connection.executemany(
                "UPDATE host SET seen = unixepoch('subsec') WHERE name = ?",
                [(host,) for host in {holder for _, holder in rows}],
            )
        return renewed

    def give_back(self, lease: Lease, due: datetime, trouble: str = "") -> None:
        values = {
            "vault": lease.vault,
            "epoch": lease.epoch,
            "seconds": distance(due, self._clock()),
            "trouble": trouble_text(trouble),
        }
        if not self._file.change(local_queries.GIVE_BACK, values, durable=False):
            raise LeaseLost(lease)

    # --- Acknowledged operations ---

    def keep(self, vault: str, op: bytes, op_id: str, lease: Lease | None = None) -> int:
        with self._file.transaction() as connection:
            stored = rows_of(
                connection, "SELECT seq FROM kept WHERE vault = ? AND op_id = ?", (vault, op_id)
            )
            if stored:
                return int(stored[0][0])
            if lease is not None:
                _need_lease(connection, lease)
            numbers = rows_of(connection, local_queries.NEXT_SEQ, (vault,))
            if not numbers:
                raise UnknownVault(vault)
            [(seq,)] = numbers
            connection.execute(
                "INSERT INTO kept(vault, seq, op_id, op) VALUES (?, ?, ?, ?)",
                (vault, seq, op_id, op),
            )
            return int(seq)

    def kept(self, lease: Lease) -> list[KeptOp]:
        with self._file.transaction(durable=False) as connection:
            _need_lease(connection, lease)
            rows = rows_of(connection, local_queries.KEPT, (lease.vault,))
            return [KeptOp(*row) for row in rows]

    def outcome(self, lease: Lease, seq: int, outcome: bytes) -> None:
        with self._file.transaction() as connection:
            _need_lease(connection, lease)
            connection.execute(
                "UPDATE kept SET outcome = ? WHERE vault = ? AND seq = ? AND folded_at IS NULL",
                (outcome, lease.vault, seq),
            )

    def folded(self, lease: Lease, until: int) -> None:
        with self._file.transaction() as connection:
            _need_lease(connection, lease)
            # Fault: a client repeats a request whose answer was lost. The id of the
            # operation must be known for a while, without its words.
            connection.execute(local_queries.FOLDED, (lease.vault, until))
            connection.execute(local_queries.DROP_TOMBSTONES, (lease.vault, TOMBSTONE_SECONDS))

    # --- Tokens ---

    def caller(self, token_hash: bytes) -> LedgerCaller | None:
        rows = self._file.read("SELECT vault, caller FROM token WHERE hash = ?", (token_hash,))
        for vault, text in rows:
            return LedgerCaller(vault, caller_of(text))
        return None

    def set_token(self, vault: str, token_hash: bytes, caller: Caller) -> None:
        with self._file.transaction() as connection:
            _need_vault(connection, vault)
            values = (token_hash, vault, caller_text(caller))
            # Fault: a token that moved would open one person's notes to another.
            if not rows_of(connection, local_queries.SET_TOKEN, values):
                raise TokenTaken

    def drop_tokens(self, vault: str) -> None:
        with self._file.transaction() as connection:
            _need_vault(connection, vault)
            connection.execute("DELETE FROM token WHERE vault = ?", (vault,))

    # --- Hosts ---

    def _note_seen(self, host: str, address: str) -> None:
        """Store that the host uses the ledger, once in `SEEN_SECONDS`."""
        values = (host, address)
        self._seen.note(
            host, lambda: self._file.change(local_queries.NOTE_HOST, values, durable=False)
        )

    def hosts(self) -> list[LedgerHost]:
        rows = self._file.read(local_queries.HOSTS, (HOST_SECONDS,))
        return [local_queries.listed_host(row) for row in rows]

    def set_draining(self, host: str, draining: bool) -> None:
        self._file.change(local_queries.SET_DRAINING, (host, draining))

    def draining(self, host: str) -> bool:
        rows = self._file.read("SELECT draining FROM host WHERE name = ?", (host,))
        return bool(rows and rows[0][0])

    # --- Scratch ---

    def scratches(self, vault: str) -> list[str]:
        rows = self._file.read("SELECT host FROM scratch WHERE vault = ? ORDER BY host", (vault,))
        return [host for (host,) in rows]

    def ask_to_erase(self, vault: str) -> None:
        self._file.change("UPDATE scratch SET erase = 1 WHERE vault = ?", (vault,))

    def to_erase(self, host: str) -> list[str]:
        rows = self._file.read(
            "SELECT vault FROM scratch WHERE host = ? AND erase ORDER BY vault", (host,)
        )
        return [vault for (vault,) in rows]

    def erased(self, vault: str, host: str) -> None:
        self._file.change("DELETE FROM scratch WHERE vault = ? AND host = ?", (vault, host))


def _lease(row: tuple[Any, ...]) -> Lease:
    vault, name, home, epoch, until, tries = row
    moment = local_queries.moment(until)
    return Lease(vault, home, epoch, moment, name, tries)


def _need_vault(connection: Connection, vault: str) -> None:
    """Raise UnknownVault unless the ledger has the vault."""
    if not rows_of(connection, "SELECT 1 FROM vault WHERE id = ?", (vault,)):
        raise UnknownVault(vault)


def _need_lease(connection: Connection, lease: Lease) -> None:
    """Raise LeaseLost unless the lease is current."""
    values = (lease.vault, lease.epoch)
    if not rows_of(connection, local_queries.CURRENT_LEASE, values):
        raise LeaseLost(lease)
