"""What a host of a fleet counts about itself, and its numbers for `/metrics`.

The numbers are totals: they name no vault and no person.
"""

import threading
from collections import Counter
from typing import TYPE_CHECKING, Literal

from vault_memory.addons.fleet.ledger.contract import LedgerCounts
from vault_memory.api.metrics import Family, Sample
from vault_memory.errors import VaultMemoryError
from vault_memory.service.host_server import memory_in_use

if TYPE_CHECKING:
    from vault_memory.addons.fleet.serving.fleet_host import FleetHost

Event = Literal[
    "claimed", "opened", "open_failed", "flushed", "flush_failed", "night", "forwarded", "came_home"
]
_TOTALS: tuple[tuple[Event, str, str], ...] = (
    ("claimed", "claims_total", "Due vaults that this host claimed"),
    ("opened", "openings_total", "How often this host opened a vault"),
    ("open_failed", "openings_failed_total", "How often a vault could not be opened"),
    ("flushed", "flushes_total", "How often a vault was brought home"),
    ("flush_failed", "flushes_failed_total", "How often that failed"),
    ("night", "nights_total", "Visits with a night that this host ended"),
    ("forwarded", "requests_forwarded_total", "Requests that another host answered"),
    (
        "came_home",
        "homes_returned_total",
        "How often a vault got its home back that had been opened without it",
    ),
)


class HostCounts:
    """Counters of one process. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counter[Event]()

    def add(self, event: Event) -> None:
        """Count an event."""
        with self._lock:
            self._counts[event] += 1

    def families(self) -> list[Family]:
        """Return the counters."""
        with self._lock:
            counts = dict(self._counts)
        return [
            _family(name, "counter", words, counts.get(event, 0)) for event, name, words in _TOTALS
        ]


def fleet_families(host: "FleetHost") -> list[Family]:
    """Return the numbers of a host, and those of the fleet where the ledger answers."""
    entries = host.entries()
    away = sum(entry.visit.away is not None for entry in entries)
    families = [
        _family("held", "gauge", "Vaults that this host holds", len(entries)),
        _family(
            "held_away",
            "gauge",
            "Held vaults that were opened while their home did not answer",
            away,
        ),
        _family(
            "held_unflushed",
            "gauge",
            "Held vaults with operations that their homes lack",
            sum(entry.needs_flush(0.0) for entry in entries),
        ),
        _family(
            "nights",
            "gauge",
            "Nights of this host that run, or wait for others to end",
            host.nights.nights,
        ),
        *host.counts.families(),
        memory_in_use(),
    ]
    try:
        totals = host.ledger.counts()
    except VaultMemoryError:
        # Fault: without the database, an operator needs the other numbers most.
        is_there = _family("ledger_up", "gauge", LEDGER_UP, 0)
        return [*families, is_there]
    return [*families, *_of_ledger(totals)]


LEDGER_UP = "Whether the ledger answers; 1 if so"


def _of_ledger(totals: LedgerCounts) -> list[Family]:
    return [
        _family("ledger_up", "gauge", LEDGER_UP, 1),
        _family("vaults", "gauge", "Vaults of the fleet", totals.vaults),
        _family("vaults_leased", "gauge", "Vaults that a host holds", totals.leased),
        _family("vaults_due", "gauge", "Vaults that are due, and that no host holds", totals.due),
        _family(
            "vaults_troubled",
            "gauge",
            "Vaults whose last visit ended with trouble",
            totals.troubled,
        ),
        _family(
            "ops_waiting",
            "gauge",
            "Acknowledged operations that are not in their homes yet",
            totals.waiting,
        ),
    ]


def _family(name: str, kind: Literal["counter", "gauge"], words: str, number: int) -> Family:
    return Family(f"fleet_{name}", kind, words, (Sample(number, {}),))
