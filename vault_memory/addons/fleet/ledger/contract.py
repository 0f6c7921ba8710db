"""The contract of a ledger. Each ledger passes the same suite of tests.

A ledger is one database that all hosts of a fleet share. It says which vaults exist, when each is
due, which host holds each, which tokens open them, and which operations are acknowledged and not
yet in their vault.

All moments that a ledger compares or returns are of the database's clock, in UTC. A moment that a
host names (`due`, `at`) is of that host's clock. It reaches the database as a distance from the
present, so that a wrong clock of a host changes nothing.

A lease is a courtesy between hosts. The fence is the precondition of the home: a host that was
paused beyond its lease may write for a moment, and the home refuses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from vault_memory.rules.paths.caller import Caller

LEASE_SECONDS = 30.0
"""The length of a lease. A holder renews it after a third of that time"""


@dataclass(frozen=True, slots=True)
class Lease:
    """The exclusive right of one host to serve and write one vault, until it runs out."""

    vault: str
    """the id of the vault, a UUID in lower case"""
    home: str
    """the URL of the vault's home, as it was added"""
    epoch: int
    """1 for the first lease of a vault; each later lease has a higher number"""
    until: datetime
    """the end by the database's clock, for people; a holder counts from before its call instead:
    `time.monotonic()` before the call, plus `Ledger.lease_seconds`"""
    name: str = ""
    """the name of the vault"""
    tries: int = 0
    """the number of leases in a row that ended with trouble, for a back-off"""


@dataclass(frozen=True, slots=True)
class Holder:
    """The host that has the lease of a vault."""

    host: str
    address: str
    """where other hosts reach it, e.g. ``http://10.0.0.5:7777``"""
    until: datetime
    """the end of the lease by the database's clock"""
    seconds: float
    """from the answer of the database until that end"""


@dataclass(frozen=True, slots=True)
class LedgerVault:
    """One vault as the ledger lists it."""

    id: str
    name: str
    home: str
    epoch: int
    due: datetime
    """when a host should visit it; in the past: now"""
    holder: Holder | None
    """None: no host holds it, or its lease ran out"""
    tries: int
    trouble: str
    """why the last lease ended with trouble; "" when it did not"""
    waiting: int
    """the number of acknowledged operations that are not yet in the home"""


@dataclass(frozen=True, slots=True)
class LedgerHost:
    """A host that used the ledger."""

    name: str
    address: str
    seen: datetime
    """when it last claimed, took or renewed, give or take a few seconds"""
    silent_seconds: float
    """how long ago that was, by the database's clock"""
    draining: bool
    leases: int
    """the number of vaults that it holds"""


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """Totals for metrics. They name no vault and no person."""

    vaults: int
    leased: int
    due: int
    """vaults that a claim would return now"""
    troubled: int
    waiting: int
    """acknowledged operations that are not yet in their homes"""


@dataclass(frozen=True, slots=True)
class LedgerCaller:
    """What a token opens: one vault, as one caller."""

    vault: str
    """the id of the vault"""
    caller: Caller


class KeptOp(NamedTuple):
    """An acknowledged operation that is not yet in the home."""

    seq: int
    """its place among the operations of its vault; the numbers may have gaps"""
    op: bytes
    outcome: bytes | None
    """what a holder noted about its execution; None: nothing"""

    def __repr__(self) -> str:
        # Fault: an operation has words of a person. They must not reach a log.
        return f"KeptOp(seq={self.seq}, {len(self.op)} bytes)"


class Ledger(Protocol):
    """The book of a fleet. Threads and processes may use it at once.

    Each call is one transaction. Each call may raise LedgerAway: the database does not answer, try
    again later. A call that raised it may have taken effect. A call with a lease raises LeaseLost
    when the lease was given back, or another host has got a later one. A lease that ran out and
    that no host took is still current.
    """

    @property
    def fleet(self) -> str:
        """The id of the fleet, a UUID made with the ledger."""
        ...

    @property
    def secret(self) -> str:
        """A random text that only the hosts of the fleet know, for requests between them."""
        ...

    @property
    def lease_seconds(self) -> float:
        """The length of each lease that this object takes or renews."""
        ...

    def close(self) -> None:
        """Close all connections. Leases stay until they run out."""
        ...

    # --- Vaults ---

    def add(self, vault: str, name: str, home: str) -> None:
        """Add a vault, due at once. `home` is a URL.

        Raises VaultAddedTwice when the ledger has its id, name or home, UsageError when `vault`
        is not a UUID.
        """
        ...

    def vaults(self) -> list[LedgerVault]:
        """Return all vaults by name."""
        ...

    def vault(self, name: str) -> LedgerVault:
        """Return the vault of that name or id. Raises UnknownVault."""
        ...

    def counts(self) -> LedgerCounts:
        """Return totals."""

    def wake(self, vault: str, at: datetime) -> None:
        """Make the vault due at `at` if that is sooner, also when its holder gives it back.

        Raises UnknownVault.
        """
        ...

    def forget(self, vault: str) -> None:
        """Remove the kept operations and the tokens of a vault.

        Its row stays, with its epoch, so that a paused holder cannot come back.
        Raises UnknownVault.
        """
        ...

    def erase_traces(self) -> list[str]:
        """Remove what removed rows left in files; return the places that may still have it."""
        ...

    # --- Leases ---

    def claim(self, host: str, address: str, most: int) -> list[Lease]:
        """Lease up to `most` vaults that are due and free, those longest due first.

        Returns none to a draining host.
        """
        ...

    def take(self, vault: str, host: str, address: str) -> Lease | Holder:
        """Lease one vault for a request, or return its holder.

        The holder may be `host` itself: an earlier process of that name, whose lease has to run
        out, or another thread. Raises UnknownVault.
        """
        ...

    def renew(self, leases: Sequence[Lease]) -> set[str]:
        """Prolong leases, with one statement. Return the ids of the vaults still held.

        The others are lost: their holder stops without a write.
        """
        ...

    def give_back(self, lease: Lease, due: datetime, trouble: str = "") -> None:
        """End a lease; the vault is next due at `due`, by this host's clock.

        An operation that waits, or a `wake` during the lease, makes it due sooner. `trouble` says
        why the visit failed: then `tries` grows, and `due` holds even if operations wait. Without
        it `tries` is 0 again. Raises LeaseLost.
        """
        ...

    # --- Acknowledged operations ---

    def keep(self, vault: str, op: bytes, op_id: str, lease: Lease | None = None) -> int:
        """Store an operation and return its `seq`. It is durable when this returns.

        The vault becomes due at once if no host holds it. The same `op_id` again, within a day
        after it was folded, stores nothing and returns the first `seq`. A host names its `lease`:
        what it stores, the next holder finds at once. Raises UnknownVault, LeaseLost.
        """
        ...

    def kept(self, lease: Lease) -> list[KeptOp]:
        """Return the operations that wait, by `seq`. A later `keep` gets a higher one.

        Raises LeaseLost.
        """
        ...

    def outcome(self, lease: Lease, seq: int, outcome: bytes) -> None:
        """Note what the execution of an operation wrote, durably. Raises LeaseLost."""
        ...

    def folded(self, lease: Lease, until: int) -> None:
        """Remove the operations up to and including the seq `until`: the home has their effect.

        Their ids are remembered for a day. Raises LeaseLost.
        """
        ...

    # --- Tokens ---

    def caller(self, token_hash: bytes) -> LedgerCaller | None:
        """Return what the token with this SHA-256 digest opens; None for an unknown one."""
        ...

    def set_token(self, vault: str, token_hash: bytes, caller: Caller) -> None:
        """Let a token open a vault as `caller`, in place of an earlier caller.

        Raises UnknownVault, TokenTaken when it opens another vault.
        """
        ...

    def drop_tokens(self, vault: str) -> None:
        """Remove all tokens of a vault. Raises UnknownVault."""
        ...

    # --- Hosts ---

    def hosts(self) -> list[LedgerHost]:
        """Return the hosts of the last week, by name."""
        ...

    def set_draining(self, host: str, draining: bool) -> None:
        """Ask a host to give back its vaults and to claim no others, or to claim again."""
        ...

    def draining(self, host: str) -> bool:
        """Return whether the host was asked to give back its vaults."""
        ...

    # --- Scratch ---

    def scratches(self, vault: str) -> list[str]:
        """Return the hosts that may have a local copy of the vault: each that leased it."""
        ...

    def ask_to_erase(self, vault: str) -> None:
        """Ask each host that may have a local copy of the vault to erase it."""
        ...

    def to_erase(self, host: str) -> list[str]:
        """Return the ids of the vaults whose local copy the host was asked to erase."""
        ...

    def erased(self, vault: str, host: str) -> None:
        """Note that the host has no local copy of the vault."""
        ...
