"""The ledger of a fleet, in either of its databases.

A ledger is one database that all hosts of a fleet share. It says which vaults exist, when each is
due, which host holds each, which tokens open them, and which operations are acknowledged and not
yet in their vault.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vault_memory.addons.fleet.ledger import ledger_statements
from vault_memory.addons.fleet.ledger.contract import (
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
    Run,
    SeenHosts,
    caller_of,
    caller_text,
    distance,
    new_vault_id,
    trouble_text,
    vault_id,
)
from vault_memory.rules.paths.scopes import Caller

if TYPE_CHECKING:
    from vault_memory.addons.fleet.ledger.local_file import LedgerFile
    from vault_memory.addons.fleet.ledger.postgres_connections import Connections

CLOCK_STEP_SECONDS = 0.001


class Ledger:
    """The book of a fleet. Threads and processes may use it at once.

    Each call is one transaction. Each call may raise LedgerAway: the database does not answer, try
    again later. A call that raised it may have taken effect. A call with a lease raises LeaseLost
    when the lease was given back, or another host has got a later one. A lease that ran out and
    that no host took is still current.
    """

    def __init__(
        self,
        database: "LedgerFile | Connections",
        dialect: ledger_statements.Dialect,
        lease_seconds: float,
        clock: Clock,
    ) -> None:
        """`clock` is the host's."""
        self._database = database
        self._dialect = dialect
        self._lease_seconds = lease_seconds
        # Fault: the clock of SQLite cuts off what is less than a millisecond. A lease
        # would end before its holder expects it.
        self._stored_seconds = lease_seconds + CLOCK_STEP_SECONDS
        self._clock = clock
        self._seen = SeenHosts()
        [self._identity] = database.read("SELECT fleet, secret FROM ledger", {})

    @property
    def fleet(self) -> str:
        """The id of the fleet, a UUID made with the ledger."""
        return str(self._identity[0])

    @property
    def secret(self) -> str:
        """A random text that only the hosts of the fleet know, for requests between them."""
        return str(self._identity[1])

    @property
    def lease_seconds(self) -> float:
        """The length of each lease that this object takes or renews."""
        return self._lease_seconds

    def close(self) -> None:
        """Close all connections. Leases stay until they run out."""
        self._database.close()

    def _text(self, statement: str) -> str:
        return _text(self._dialect, statement)

    def _read(self, statement: str, **values: object) -> list[Any]:
        return self._database.read(self._text(statement), values)

    def _change(self, statement: str, *, durable: bool = True, **values: object) -> list[Any]:
        return self._database.change(self._text(statement), values, durable=durable)

    # --- Vaults ---

    def add(self, vault: str, name: str, home: str) -> None:
        """Add a vault, due at once. `home` is a URL.

        Raises VaultAddedTwice when the ledger has its id, name or home, UsageError when `vault`
        is not a UUID.
        """
        if not self._change(ledger_statements.ADD, vault=new_vault_id(vault), name=name, home=home):
            raise VaultAddedTwice(name)

    def vaults(self) -> list[LedgerVault]:
        """Return all vaults by name."""
        return [_listed_vault(row) for row in self._read(ledger_statements.ALL_VAULTS)]

    def vault(self, name: str) -> LedgerVault:
        """Return the vault of that name or id. Raises UnknownVault."""
        rows = self._read(ledger_statements.VAULT, vault=vault_id(name), name=name)
        if not rows:
            raise UnknownVault(name)
        return _listed_vault(rows[0])

    def counts(self) -> LedgerCounts:
        """Return totals."""
        [row] = self._read(ledger_statements.COUNTS)
        return LedgerCounts(*row)

    def wake(self, vault: str, at: datetime) -> None:
        """Make the vault due at `at` if that is sooner, also when its holder gives it back.

        Raises UnknownVault.
        """
        seconds = distance(at, self._clock())
        if not self._change(ledger_statements.WAKE, durable=False, vault=vault, seconds=seconds):
            raise UnknownVault(vault)

    def forget(self, vault: str) -> None:
        """Remove the kept operations and the tokens of a vault.

        Its row stays, with its epoch, so that a paused holder cannot come back.
        Raises UnknownVault.
        """
        with self._database.transaction() as run:
            self._lock(run, vault)
            for statement in (ledger_statements.DROP_KEPT, ledger_statements.DROP_TOKENS):
                run(self._text(statement), {"vault": vault})
        self.erase_traces()

    def erase_traces(self) -> list[str]:
        """Remove what removed rows left in files; return the places that may still have it."""
        return self._database.erase_traces()

    def _lock(self, run: Run, vault: str, lease: Lease | None = None) -> None:
        """Keep the row of a vault until the end of a transaction. Raises UnknownVault, LeaseLost."""
        _check_vault(run(self._text(ledger_statements.LOCK_VAULT), {"vault": vault}), vault, lease)

    # --- Leases ---

    def claim(self, host: str, address: str, most: int) -> list[Lease]:
        """Lease up to `most` vaults that are due and free, those longest due first.

        Returns none to a draining host.
        """
        self._note_seen(host, address)
        # A poll of an idle host reads one row of the index, and writes nothing.
        # Fault: a negative limit of SQLite is none.
        if most <= 0 or not self._read(ledger_statements.IS_CLAIMABLE, host=host):
            return []
        sql = self._text(ledger_statements.CLAIM).replace("$MOST", str(most))
        values = {"host": host, "address": address, "seconds": self._stored_seconds}
        with self._database.transaction() as run:
            leases = [_lease(row) for row in run(sql, values)]
            self._add_scratches(run, leases, host)
        return leases

    def take(self, vault: str, host: str, address: str) -> Lease | Holder:
        """Lease one vault for a request, or return its holder.

        The holder may be `host` itself: an earlier process of that name, whose lease has to run
        out, or another thread. Raises UnknownVault.
        """
        self._note_seen(host, address)
        values = {"vault": vault, "host": host, "address": address, "seconds": self._stored_seconds}
        while True:
            # Fault: each request that is passed on to the holder would wait for those that write.
            holders = self._read(ledger_statements.HOLDER, vault=vault)
            if not holders:
                raise UnknownVault(vault)
            holder = _holder(*holders[0])
            if holder.seconds > 0:
                return holder
            with self._database.transaction() as run:
                # Fault: another host may take it between the two statements.
                for row in run(self._text(ledger_statements.TAKE), values):
                    lease = _lease(row)
                    self._add_scratches(run, [lease], host)
                    return lease

    def _add_scratches(self, run: Run, leases: Sequence[Lease], host: str) -> None:
        """Note that the host may have a local copy of these vaults."""
        values = {"leases": _pairs(leases), "host": host}
        run(self._text(ledger_statements.ADD_SCRATCHES), values)

    def renew(self, leases: Sequence[Lease]) -> set[str]:
        """Prolong leases. Return the ids of the vaults still held.

        The others are lost: their holder stops without a write.
        """
        if not leases:
            return set()
        values = {"leases": _pairs(leases), "seconds": self._stored_seconds}
        with self._database.transaction(durable=False) as run:
            rows = run(self._text(ledger_statements.RENEW), values)
            for host in sorted({holder for _, holder in rows}):
                run(self._text(ledger_statements.SEE_HOST), {"host": host})
        return {vault for vault, _ in rows}

    def give_back(self, lease: Lease, due: datetime, trouble: str = "") -> None:
        """End a lease; the vault is next due at `due`, by this host's clock.

        An operation that waits, or a `wake` during the lease, makes it due sooner. `trouble` says
        why the visit failed: then `tries` grows, and `due` holds even if operations wait. Without
        it `tries` is 0 again. Raises LeaseLost.
        """
        values = {
            "vault": lease.vault,
            "epoch": lease.epoch,
            "seconds": distance(due, self._clock()),
            "trouble": trouble_text(trouble),
        }
        if not self._change(ledger_statements.GIVE_BACK, durable=False, **values):
            raise LeaseLost(lease)

    # --- Acknowledged operations ---

    def keep(self, vault: str, op: bytes, op_id: str, lease: Lease | None = None) -> int:
        """Store an operation and return its `seq`. It is durable when this returns.

        The vault becomes due at once if no host holds it. The same `op_id` again, within a day
        after it was folded, stores nothing and returns the first `seq`. A host names its `lease`:
        what it stores, the next holder finds at once. Raises UnknownVault, LeaseLost.
        """
        values: dict[str, object] = {"vault": vault, "op": op, "op_id": op_id}
        # Fault: two hosts may keep one operation at once. The second one waits for the row of the
        # vault, and then finds the operation.
        with self._database.transaction() as run:
            rows = run(self._text(ledger_statements.LOCK_VAULT), values)
            if stored := run(self._text(ledger_statements.SEQ), values):
                return int(stored[0][0])
            _check_vault(rows, vault, lease)
            [(seq,)] = run(self._text(ledger_statements.NEXT_SEQ), values)
            run(self._text(ledger_statements.KEEP), values | {"seq": seq})
            return int(seq)

    def kept(self, lease: Lease) -> list[KeptOp]:
        """Return the operations that wait, by `seq`. A later `keep` gets a higher one.

        Raises LeaseLost.
        """
        with self._database.transaction(durable=False) as run:
            self._lock(run, lease.vault, lease)
            return [
                KeptOp(*row)
                for row in run(self._text(ledger_statements.KEPT), {"vault": lease.vault})
            ]

    def outcome(self, lease: Lease, seq: int, outcome: bytes) -> None:
        """Note what the execution of an operation wrote, durably. Raises LeaseLost."""
        self._write_with(lease, ledger_statements.OUTCOME, seq=seq, outcome=outcome)

    def folded(self, lease: Lease, until: int) -> None:
        """Remove the operations up to and including the seq `until`: the home has their effect.

        Their ids are remembered for a day. Raises LeaseLost.
        """
        tombstones = {"seq": until, "seconds": float(TOMBSTONE_SECONDS)}
        self._write_with(
            lease, ledger_statements.FOLDED, ledger_statements.DROP_TOMBSTONES, **tombstones
        )

    def _write_with(self, lease: Lease, *changes: str, **values: object) -> None:
        """Run statements that the lease allows. Raises LeaseLost."""
        with self._database.transaction() as run:
            self._lock(run, lease.vault, lease)
            for statement in changes:
                run(self._text(statement), {"vault": lease.vault, **values})

    # --- Tokens ---

    def caller(self, token_hash: bytes) -> LedgerCaller | None:
        """Return what the token with this SHA-256 digest opens; None for an unknown one."""
        for vault, text in self._read(ledger_statements.CALLER, hash=token_hash):
            return LedgerCaller(vault, caller_of(text))
        return None

    def set_token(self, vault: str, token_hash: bytes, caller: Caller) -> None:
        """Let a token open a vault as `caller`, in place of an earlier caller.

        Raises UnknownVault, TokenTaken when it opens another vault.
        """
        values = {"vault": vault, "hash": token_hash, "caller": caller_text(caller)}
        with self._database.transaction() as run:
            self._lock(run, vault)
            # Fault: a token that moved would open one person's notes to another.
            if not run(self._text(ledger_statements.SET_TOKEN), values):
                raise TokenTaken

    def drop_tokens(self, vault: str) -> None:
        """Remove all tokens of a vault. Raises UnknownVault."""
        with self._database.transaction() as run:
            self._lock(run, vault)
            run(self._text(ledger_statements.DROP_TOKENS), {"vault": vault})

    # --- Hosts ---

    def _note_seen(self, host: str, address: str) -> None:
        """Store that the host uses the ledger, once in `SEEN_SECONDS`."""

        def note() -> None:
            self._change(ledger_statements.NOTE_HOST, durable=False, host=host, address=address)

        self._seen.note(host, note)

    def hosts(self) -> list[LedgerHost]:
        """Return the hosts of the last week, by name."""
        rows = self._read(ledger_statements.HOSTS, seconds=float(HOST_SECONDS))
        return [
            LedgerHost(name, address, _moment(seen), silent_seconds, bool(draining), leases)
            for name, address, seen, silent_seconds, draining, leases in rows
        ]

    def set_draining(self, host: str, draining: bool) -> None:
        """Ask a host to give back its vaults and to claim no others, or to claim again."""
        self._change(ledger_statements.SET_DRAINING, host=host, draining=int(draining))

    def draining(self, host: str) -> bool:
        """Return whether the host was asked to give back its vaults."""
        return bool(self._read(ledger_statements.DRAINING, host=host))

    # --- Scratch ---

    def scratches(self, vault: str) -> list[str]:
        """Return the hosts that may have a local copy of the vault: each that leased it."""
        return [host for (host,) in self._read(ledger_statements.SCRATCHES, vault=vault)]

    def ask_to_erase(self, vault: str) -> None:
        """Ask each host that may have a local copy of the vault to erase it."""
        self._change(ledger_statements.ASK_TO_ERASE, vault=vault)

    def to_erase(self, host: str) -> list[str]:
        """Return the ids of the vaults whose local copy the host was asked to erase."""
        return [vault for (vault,) in self._read(ledger_statements.TO_ERASE, host=host)]

    def erased(self, vault: str, host: str) -> None:
        """Note that the host has no local copy of the vault."""
        self._change(ledger_statements.ERASED, vault=vault, host=host)


@lru_cache
def _text(dialect: ledger_statements.Dialect, statement: str) -> str:
    return dialect.say(statement)


def _check_vault(rows: list[Any], vault: str, lease: Lease | None) -> None:
    """Check the row of `LOCK_VAULT`. Raises UnknownVault, LeaseLost."""
    if lease is not None and rows != [(lease.epoch,)]:
        raise LeaseLost(lease)
    if not rows:
        raise UnknownVault(vault)


def _pairs(leases: Sequence[Lease]) -> str:
    """Return the ids and epochs of leases as JSON."""
    return json.dumps([[lease.vault, lease.epoch] for lease in leases])


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _holder(host: str, address: str, until: float, seconds: float) -> Holder:
    return Holder(host, address, _moment(until), seconds)


def _lease(row: Sequence[Any]) -> Lease:
    vault, home, epoch, until, name, tries = row
    return Lease(vault, home, epoch, _moment(until), name, tries)


def _listed_vault(row: Sequence[Any]) -> LedgerVault:
    vault, name, home, epoch, due, host, address, until, seconds, *state = row
    is_held = host is not None and seconds > 0
    holder = _holder(host, address, until, seconds) if is_held else None
    return LedgerVault(vault, name, home, epoch, _moment(due), holder, *state)
