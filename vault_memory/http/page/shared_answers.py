"""Answers that the requests of one page share: what waits, and the last examination."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.http.page.first_run.setup_offer import SetupOffer
from vault_memory.http.page.vault_state import Counts

if TYPE_CHECKING:
    from vault_memory.edits.reports import Check

NO_SETUP = SetupOffer()
COUNT_SECONDS = 2.0
"""How long counts are shown without counting again, while the daemon reports no change"""
MOST_MERGES = 50
"""Notices that can show what was merged"""


class Examination(NamedTuple):
    """What `doctor` found."""

    ts: str
    """ISO 8601"""
    checks: "Sequence[Check]"


class SharedAnswers:
    """What costs too much for each request. Any thread may use it."""

    def __init__(
        self,
        last_change: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.monotonic,
        setup: SetupOffer = NO_SETUP,
    ) -> None:
        """`last_change` returns the id of the newest change that the daemon reported."""
        self._last_change = last_change
        self._clock = clock
        self.setup = setup
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, ...], tuple[float, str, Counts]] = {}
        self._examination: Examination | None = None
        self._from_disk: dict[str, str] = {}

    @property
    def examination(self) -> Examination | None:
        """The last examination of this process"""
        return self._examination

    def keep_setup(self) -> None:
        """Offers the setup until this page ends, although a layout is set by now."""
        self.setup = self.setup._replace(always=True)

    def keep_examination(self, checks: "Sequence[Check]") -> None:
        """Keeps what `doctor` found just now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._examination = Examination(now, checks)

    def keep_from_disk(
        self,
        record_id: str,
        diff: str,
    ) -> None:
        """Keeps what others had saved meanwhile, for the notice of a record."""
        with self._lock:
            self._from_disk[record_id] = diff
            # Fault: a page that runs for months would keep the diff of each merge.
            if len(self._from_disk) > MOST_MERGES:
                del self._from_disk[next(iter(self._from_disk))]

    def from_disk(self, record_id: str) -> str:
        """Returns the diff that was kept for a record; empty without one."""
        return self._from_disk.get(record_id, "")

    def counts(
        self,
        scopes: tuple[str, ...],
        count: Callable[[], Counts],
    ) -> Counts:
        """Returns the counts for these scopes. `count` counts, when they may be others by now."""
        # Fault: to count conflicts, the folder is listed, and a person types a letter each
        # tenth of a second.
        change = self._last_change()
        now = self._clock()
        with self._lock:
            counted_at, counted_change, counts = self._counts.get(scopes, _NEVER)
        if change == counted_change and now - counted_at < COUNT_SECONDS:
            return counts
        counts = count()
        with self._lock:
            self._counts[scopes] = (now, change, counts)
        return counts

    def forget_counts(self) -> None:
        """Counts again at the next request: this page has changed something."""
        with self._lock:
            self._counts.clear()


_NEVER = (float("-inf"), "", Counts(0, 0))
