"""Plans the next pass of sync: polling, debounce of local edits, back-off after failures.

Pure: the caller brings the clock.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vault_memory.remote.remote_errors import RemoteBusy, Unauthorised
from vault_memory.sync.observe.local_scan import BEING_SAVED
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.sync_errors import AnotherClient, NotTwoWay

SETTLE_SECONDS = 0.6
"""From the last hint of a local edit to its pass: an editor has finished its save by then"""
LATEST_SECONDS = 2.0
"""From the first hint of a local edit to its pass, although more hints follow"""
IDLE_AFTER = 3600.0
IDLE_POLL = 60.0
LONGEST = 300.0
"""Longest pause between two tries of a server that does not answer"""
LONGEST_REQUESTED = 3600.0
"""Longest pause that a server may ask for"""
FIRST = 5.0
EARLY_SECONDS = 300.0
"""Age of a failure up to which it is expected to end soon"""
LONGEST_EARLY = 12.0
"""Longest pause between two tries meanwhile; 15 s with the greatest jitter"""
STOPPED = {Unauthorised: 3600.0, AnotherClient: 60.0, NotTwoWay: 3600.0}
"""Errors that only a person can correct, and the pause until the next try"""
NEVER = float("inf")


class SyncBackoff:
    """Plans the passes of one vault. Times are seconds of a clock that is never set back."""

    def __init__(
        self, poll_seconds: float, now: float, draw: Callable[[], float] = random.random
    ) -> None:
        self._poll = poll_seconds
        self._draw = draw
        self._next_listing = now
        self._next_push = NEVER
        self._first_hint = NEVER
        self._paused_until = now
        self._last_change = now
        self._failures = 0
        self._failing_since = now
        self._waiting_passes = 0
        self._has_listed = False

    def note_local_edit(self, now: float) -> None:
        """Notes that something in the vault may have changed."""
        self._first_hint = min(self._first_hint, now)
        latest = self._first_hint + LATEST_SECONDS
        self._next_push = min(now + SETTLE_SECONDS, latest)

    def list_by(self, at: float) -> None:
        """Plans a listing of the server at this time or before."""
        self._next_listing = min(self._next_listing, at)

    def next(self) -> tuple[float, bool]:
        """Returns when the next pass is due, and whether it lists the server."""
        if self._next_push < self._next_listing and self._has_listed:
            return max(self._next_push, self._paused_until), False
        return max(self._next_listing, self._paused_until), True

    def begin(self) -> None:
        """Notes that a pass begins: it includes all that was heard so far."""
        self._next_push = NEVER
        self._first_hint = NEVER

    def succeeded(self, report: PassReport, now: float, *, listed: bool) -> None:
        """Plans the next pass after one that ended."""
        self._failures = 0
        self._paused_until = now
        if report.acted:
            self._last_change = now
        if listed:
            self._has_listed = True
            self._next_listing = now + self._poll_pause(now)
        if report.acted or not report.waiting:
            self._waiting_passes = 0
        if report.waiting:
            self._plan_waiting(report, now)

    def failed(self, error: Exception, now: float) -> None:
        """Plans the next pass after an error that concerns the whole server."""
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._paused_until = now + self._pause(error, now - self._failing_since)

    def _poll_pause(self, now: float) -> float:
        is_idle = now - self._last_change >= IDLE_AFTER
        pause = max(self._poll, IDLE_POLL) if is_idle else self._poll
        # Fault: without jitter, all clients of a server would ask at the same moment.
        return pause * (0.95 + 0.1 * self._draw())

    def _plan_waiting(self, report: PassReport, now: float) -> None:
        """Plans a pass for paths that could not be synced yet."""
        doublings = min(self._waiting_passes, 8)
        soon = now + min(self._poll, SETTLE_SECONDS * 2**doublings)
        self._waiting_passes += 1
        if all(reason == BEING_SAVED for _, reason in report.waiting):
            self._next_push = min(self._next_push, soon)
        else:
            self.list_by(soon)

    def _pause(self, error: Exception, age: float) -> float:
        # Fault (E84): a wrong password that is tried again and again makes the server
        # lock the address out.
        for kind, seconds in STOPPED.items():
            if isinstance(error, kind):
                return seconds
        if isinstance(error, RemoteBusy) and error.retry_after is not None:
            # Fault (E97): a wrong clock of the server may ask for a pause of years, or
            # for none.
            requested = min(max(error.retry_after, 1.0), LONGEST_REQUESTED)
            return requested * (1.0 + 0.1 * self._draw())
        doublings = min(self._failures - 1, 10)
        pause = min(FIRST, self._poll) * 2.0**doublings
        pause = min(pause, _longest_pause(age, LONGEST))
        return _with_jitter(pause, self._draw)


def _longest_pause(age: float, limit: float) -> float:
    """Returns the longest pause for a failure of this age."""
    if age < EARLY_SECONDS:
        return LONGEST_EARLY
    return min(age / 2, limit)


def _with_jitter(pause: float, draw: Callable[[], float]) -> float:
    return pause * (0.75 + 0.5 * draw())


@dataclass(frozen=True, slots=True)
class _Failure:
    """A path that failed, and when its pause ends."""

    reason: str
    since: float
    until: float


class PathBackoff:
    """Paths that failed: each pauses for seconds, after some minutes for longer, at last for an hour.

    A change on the server ends the pauses, because the cause may be gone.
    """

    def __init__(self, draw: Callable[[], float] = random.random) -> None:
        self._draw = draw
        self._failures: dict[str, _Failure] = {}

    def paused(self, now: float) -> Mapping[str, str]:
        """Returns the paths that pause, with the reasons of their failures."""
        return {
            path: failure.reason for path, failure in self._failures.items() if now < failure.until
        }

    def start_again(self, now: float) -> None:
        """Ends all pauses after a change on the server; new pauses begin with seconds."""
        self._failures = {
            path: _Failure(failure.reason, now, now) for path, failure in self._failures.items()
        }

    def note(self, failed: Mapping[str, str], now: float) -> None:
        """Notes the paths on which a pass failed, and forgets the others that it tried."""
        paused = self.paused(now)
        failures = {path: self._failures[path] for path in paused}
        for path, reason in failed.items():
            if path not in paused:
                failures[path] = self._after(self._failures.get(path), reason, now)
        self._failures = failures

    def next(self) -> float:
        """Returns when the first path is tried again."""
        ends = (failure.until for failure in self._failures.values())
        return min(ends, default=NEVER)

    def _after(self, previous: _Failure | None, reason: str, now: float) -> _Failure:
        if previous is None:
            since, pause = now, FIRST
        else:
            since = previous.since
            pause = _longest_pause(now - since, LONGEST_REQUESTED)
        return _Failure(reason, since, now + _with_jitter(pause, self._draw))
