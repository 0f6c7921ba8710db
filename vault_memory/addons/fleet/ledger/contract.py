"""What a ledger returns.

All moments that a ledger compares or returns are of the database's clock, in UTC. A moment that a
host names (`due`, `at`) is of that host's clock. It reaches the database as a distance from the
present, so that a wrong clock of a host changes nothing.

A lease is a courtesy between hosts. The fence is the precondition of the home: a host that was
paused beyond its lease may write for a moment, and the home refuses it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from vault_memory.rules.paths.scopes import Caller

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
