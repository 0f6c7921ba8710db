"""Metrics of a vault: sizes, freshness, what runs and what waits.

They are cheap enough for a request every few seconds. Numbers that need a pass through the vault
are counted every five minutes. No metric has the name of a person, a channel or a note.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args

from vault_memory import __version__
from vault_memory.api.status_report import read_or
from vault_memory.contract import SemanticState, SyncState
from vault_memory.index.inspection import row_counts
from vault_memory.learning import checkpoint

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.status_answers import VitalsJson

RECOUNT_SECONDS = 300.0
"""Between two counts of proposals and conflict copies"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number with its labels."""

    value: float
    labels: Mapping[str, str]
    suffix: str = ""
    """after the name of its family, such as ``_count``"""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers with one meaning."""

    name: str
    """without the prefix that all have"""
    kind: Literal["gauge", "counter", "summary"]
    help: str
    samples: tuple[Sample, ...]


def gauge(name: str, help: str, value: float | None, **labels: str) -> Family:
    """Return a metric of one number; it has no sample when the number is unknown."""
    samples = () if value is None else (Sample(float(value), labels),)
    return Family(name, "gauge", help, samples)


def one_of(name: str, help: str, states: Iterable[str], state: str | None) -> Family:
    """Return a metric that is 1 for the current state and 0 for all others.

    It has no samples when the state is unknown.
    """
    if not state:
        return Family(name, "gauge", help, ())
    samples = [Sample(float(label == state), {"state": label}) for label in states]
    return Family(name, "gauge", help, tuple(samples))


class Metrics:
    """The metrics of one vault. `vitals` asks the daemon for its state; None when none runs."""

    def __init__(
        self,
        memory: "VaultMemory",
        vitals: "Callable[[], VitalsJson | None]",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._vitals = vitals
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: tuple[float, float | None, float | None] = (-math.inf, None, None)

    def families(self) -> list[Family]:
        """Return all metrics as they are now. A metric that cannot be read is left out."""
        vitals = read_or(None, self._vitals)
        return [
            gauge("info", "Always 1; the version is in the label", 1, version=__version__),
            *read_or((), lambda: list(self._of_index(vitals))),
            *self._of_daemon(vitals),
            *read_or((), lambda: list(self._of_nights())),
            *self._of_pending(),
        ]

    def _of_index(self, vitals: "VitalsJson | None") -> Iterator[Family]:
        indexing = self._memory.vault.indexing
        # A vault without an index would get one here, for which all notes are read.
        if not indexing.generations.current:
            return
        with self._memory.vault.lock:
            index = indexing.index()
            notes, chunks = index.counts()
            kinds = row_counts.notes_by_kind(index)
            vectors = row_counts.count_vectors(index)
            index_bytes = row_counts.bytes_of_pages(index)
            parked = len(index.parked())
            stale = len(index.stale())
        yield gauge("index_notes", "Notes that search reads", notes)
        by_kind = tuple(Sample(count, {"kind": kind}) for kind, count in kinds.items())
        yield Family(
            "index_kind_notes", "gauge", "Notes that search reads, by what they are", by_kind
        )
        yield gauge("index_chunks", "Pieces of notes that search finds", chunks)
        yield gauge("index_vectors", "Pieces that have a vector", vectors)
        yield gauge("index_parked_notes", "Notes that cannot be read and are left out", parked)
        stale_count = stale if vitals is None else vitals["stale_files"]
        yield gauge(
            "index_stale_notes", "Notes that are newer on disk than in the index", stale_count
        )
        yield gauge("index_bytes", "Size of the index", index_bytes)
        yield gauge(
            "index_generation",
            "Counts up when the index is built again",
            indexing.generations.current,
        )

    def _of_daemon(self, vitals: "VitalsJson | None") -> Iterator[Family]:
        yield gauge("daemon_up", "Whether `vault-memory run` answers", vitals is not None)
        if vitals is None:
            return
        yield gauge(
            "watcher_healthy", "Whether changes of notes are noticed", vitals["watcher"]["healthy"]
        )
        yield one_of(
            "semantic",
            "Whether vectors take part in search",
            get_args(SemanticState),
            vitals["semantic"],
        )
        sync = vitals["sync"]
        if sync is None:
            return
        yield one_of(
            "sync", "The state of the sync with the server", get_args(SyncState), sync["state"]
        )
        yield gauge("sync_queue", "Paths that wait to be synced", sync["queue"])
        yield gauge("sync_errors", "Paths that could not be synced", len(sync["errors"]))
        yield gauge("sync_held", "Deletions that wait for approval", len(sync["held"]))
        good = _moment(sync["last_good"])
        yield gauge(
            "sync_last_good_timestamp_seconds",
            "When both sides were last seen to be the same",
            good,
        )

    def _of_nights(self) -> Iterator[Family]:
        lasts = checkpoint.CheckpointStore(self._memory.vault.state.path).lasts()
        newest = _moment(max((cycle.night for cycle in lasts), default=None))
        failed = sum(cycle.outcome.get("state") == "failed" for cycle in lasts)
        yield gauge(
            "night_last_timestamp_seconds",
            "The date of the last night that was done, as midnight UTC",
            newest,
        )
        yield gauge("night_scopes", "Persons and channels that had a night", len(lasts))
        yield gauge("night_failed_scopes", "Those whose last night failed", failed)
        idle = min((cycle.idle for cycle in lasts), default=None)
        yield gauge(
            "night_idle", "Nights in a row in which nothing was learned about anybody", idle
        )

    def _of_pending(self) -> Iterator[Family]:
        waiting = read_or(None, lambda: len(self._memory.edits.waiting()))
        inbox, conflicts = self._count()
        yield gauge("pending_writes", "Writes that wait until their notes are left alone", waiting)
        yield gauge("inbox_open", "Proposals that wait for a person; looked up now and then", inbox)
        yield gauge(
            "conflict_copies", "Copies left by sync programs; looked up now and then", conflicts
        )

    def _count(self) -> tuple[float | None, float | None]:
        """Return the number of proposals and of conflict copies, at most five minutes old."""
        # Without the lock, requests at the same time would each pass through the vault.
        with self._lock:
            counted_at, inbox, conflicts = self._counts
            if self._clock() - counted_at >= RECOUNT_SECONDS:
                inbox = read_or(None, lambda: float(len(self._memory.inbox())))
                conflicts = read_or(None, lambda: float(self._memory.conflicts.count()))
                self._counts = (self._clock(), inbox, conflicts)
            return inbox, conflicts


def _moment(text: str | None) -> float | None:
    """Convert an ISO 8601 time or date to seconds since 1970; without an offset it is UTC."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
