"""Numbers for whoever looks after the machine: how much is known, how fresh it is, what runs and what waits.

Cheap enough to be asked every few seconds: what would need a look through the vault is looked up now and then. No
number carries the name of a person, a channel or a note.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.learning import checkpoint
    from vault_memory.sync import status
else:
    checkpoint = lazy_module("vault_memory.learning.checkpoint")
    status = lazy_module("vault_memory.sync.status")

LOOK_SECONDS = 300.0
"""Between two looks through the vault for proposals and conflict copies"""
SEMANTIC = ("ready", "warming", "off")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, and of what."""

    value: float
    labels: Mapping[str, str]
    suffix: str = ""
    """after the name of its family, such as ``_count``"""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one meaning."""

    name: str
    """without the prefix that all have"""
    kind: Literal["gauge", "counter", "summary"]
    help: str
    samples: tuple[Sample, ...]


def gauge(name: str, help: str, value: float | None, **labels: str) -> Family:
    """One number; none when it is not known."""
    return Family(
        name, "gauge", help, () if value is None else (Sample(float(value), labels),)
    )


def one_of(name: str, help: str, states: Iterable[str], state: str | None) -> Family:
    """1 for the state that holds, 0 for the others; none when it is not known."""
    samples = (
        tuple(Sample(float(one == state), {"state": one}) for one in states)
        if state
        else ()
    )
    return Family(name, "gauge", help, samples)


class Metrics:
    """Of one vault. `vitals` asks the daemon how it is, and gives None when none runs."""

    def __init__(
        self,
        memory: "VaultMemory",
        vitals: Callable[[], Mapping[str, Any] | None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory, self._vitals, self._clock = memory, vitals, clock
        self._lock = threading.Lock()
        self._looked: tuple[float, float | None, float | None] = (-math.inf, None, None)

    def families(self) -> list[Family]:
        """All numbers as they are now. What cannot be had is left out, and the rest is told all the same."""
        vitals = _had(self._vitals)
        return [
            gauge(
                "info",
                "Always 1; the version is in the label",
                1,
                version=version("vault-memory"),
            ),
            *(_had(lambda: list(self._of_index(vitals))) or []),
            *self._of_daemon(vitals),
            *(_had(lambda: list(self._of_nights())) or []),
            *self._of_what_waits(),
        ]

    def _of_index(self, vitals: Mapping[str, Any] | None) -> Iterator[Family]:
        indexing = self._memory.vault.indexing
        if not indexing.generations.current:
            return
        with self._memory.vault.lock:
            index = indexing.index()
            notes, chunks = index.counts()
            ask = index.connection.execute
            kinds: list[Any] = ask(
                "SELECT kind, count(*) FROM note GROUP BY kind ORDER BY kind"
            ).fetchall()
            vectors: list[Any] = ask("SELECT count(*) FROM vector").fetchall()
            size: Any = index.connection.pragma("page_count") * index.connection.pragma(
                "page_size"
            )
            parked, stale = len(index.parked()), len(index.stale())
        yield gauge("index_notes", "Notes that search reads", notes)
        by_kind = tuple(Sample(count, {"kind": kind}) for kind, count in kinds)
        yield Family(
            "index_kind_notes",
            "gauge",
            "Notes that search reads, by what they are",
            by_kind,
        )
        yield gauge("index_chunks", "Pieces of notes that search finds", chunks)
        yield gauge("index_vectors", "Pieces that have a vector", vectors[0][0])
        yield gauge(
            "index_parked_notes", "Notes that cannot be read and are left out", parked
        )
        fresh = stale if vitals is None else vitals["stale_files"]
        yield gauge(
            "index_stale_notes", "Notes that are newer on disk than in the index", fresh
        )
        yield gauge("index_bytes", "Size of the index", size)
        yield gauge(
            "index_generation",
            "Counts up when the index is built anew",
            indexing.generations.current,
        )

    def _of_daemon(self, vitals: Mapping[str, Any] | None) -> Iterator[Family]:
        yield gauge(
            "daemon_up", "Whether `vault-memory run` answers", vitals is not None
        )
        if vitals is None:
            return
        yield gauge(
            "watcher_healthy",
            "Whether changes of notes are noticed",
            vitals["watcher"]["healthy"],
        )
        yield one_of(
            "semantic",
            "Whether vectors take part in search",
            SEMANTIC,
            vitals["semantic"],
        )
        sync = vitals["sync"]
        if sync is None:
            return
        yield one_of(
            "sync",
            "How the sync with the server stands",
            get_args(status.State),
            sync["state"],
        )
        yield gauge("sync_queue", "Paths that wait to be synced", sync["queue"])
        yield gauge(
            "sync_errors", "Paths that could not be synced", len(sync["errors"])
        )
        yield gauge(
            "sync_held", "Deletions that wait for a person's yes", len(sync["held"])
        )
        good = _moment(sync["last_good"])
        yield gauge(
            "sync_last_good_timestamp_seconds",
            "When both sides were last seen to be the same",
            good,
        )

    def _of_nights(self) -> Iterator[Family]:
        lasts = checkpoint.CheckpointStore(self._memory.vault.state.path).lasts()
        newest = _moment(max((one.night for one in lasts), default=None))
        failed = sum(one.outcome.get("state") == "failed" for one in lasts)
        yield gauge(
            "night_last_timestamp_seconds",
            "The date of the last night that was done, as midnight UTC",
            newest,
        )
        yield gauge("night_scopes", "Persons and channels that had a night", len(lasts))
        yield gauge("night_failed_scopes", "Those whose last night failed", failed)
        idle = min((one.idle for one in lasts), default=None)
        yield gauge(
            "night_idle",
            "Nights in a row in which nothing was learned about anybody",
            idle,
        )

    def _of_what_waits(self) -> Iterator[Family]:
        waiting = _had(lambda: len(self._memory.edits.waiting()))
        inbox, conflicts = self._look()
        yield gauge(
            "pending_writes",
            "Writes that wait until their notes are left alone",
            waiting,
        )
        yield gauge(
            "inbox_open",
            "Proposals that wait for a person; looked up now and then",
            inbox,
        )
        yield gauge(
            "conflict_copies",
            "Copies left by sync programs; looked up now and then",
            conflicts,
        )

    def _look(self) -> tuple[float | None, float | None]:
        """What needs a look through the vault, as it was some minutes ago at most."""
        with self._lock:
            at, inbox, conflicts = self._looked
            if self._clock() - at >= LOOK_SECONDS:
                inbox = _had(lambda: float(len(self._memory.inbox())))
                conflicts = _had(lambda: float(self._memory.conflicts.count()))
                self._looked = (self._clock(), inbox, conflicts)
            return inbox, conflicts


def _had(get: Callable[[], Found]) -> Found | None:
    """None when it is not to be had now: a vault may be away, an index in the making."""
    try:
        return get()
    except (VaultMemoryError, DatabaseError, OSError):
        return None


def _moment(text: str | None) -> float | None:
    """Of an ISO 8601 time or date, in seconds since 1970."""
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).timestamp()
